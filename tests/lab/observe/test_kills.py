# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the lab at random instants loses at most the launch in flight, and leaves nothing of the program running.

CORESCALE_KILLS sets how many (10; 200 for the long run).
"""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from corescale.observe import store

KILLS = int(os.environ.get("CORESCALE_KILLS", "10"))
LAB = Path(__file__).parents[1]

LONG = f"31.{os.getpid():07}"
"""seconds, and a mark by which this run's processes are known"""

# Leaves a process of another session behind, and says when it ran to its end.
PROGRAM = f"""#!/bin/sh
setsid sleep {LONG} &
sleep 0.0$1
echo "$1" >> "$0.ends"
"""


def start(program: Path, root: Path, blocks: int, output: int, **more: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, str(LAB / "support" / "kill_driver.py"), str(program), str(root), str(blocks)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(LAB.parents[1] / "src"), str(LAB)])} | more
    return subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, env=environment)


def running(program: Path) -> list[str]:
    """Command lines of living processes that belong to the program."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if (str(program) in line and "kill_driver" not in line) or f"sleep {LONG}" in line:
                found.append(line)
    return found


def wait_until_gone(program: Path) -> None:
    end = time.monotonic() + 30
    while left := running(program):
        assert time.monotonic() < end, f"still running 30 s after the kill: {left}"
        time.sleep(0.01)


def acknowledged(text: str, word: str = "kept") -> list[tuple[int, ...]]:
    """A kill can cut the last line short."""
    whole = [line.split() for line in text.split("\n")[:-1]]
    return [tuple(map(int, line[1:])) for line in whole if line[:1] == [word]]


def check_kept(folder: Path, said: str, ends: int, before: tuple[int, int]) -> tuple[int, int]:
    """How many records are kept and how many launches ran to their end, from `before` the kill to after it."""
    kept = [(r.block, r.attempt, r.order) for r in store.load(folder).all_records]
    told = acknowledged(said)
    assert len(set(kept)) == len(kept)
    assert not set(told) - set(kept), "an acknowledged record is lost"
    assert len(kept) - before[0] - len(told) <= 1, "a kill falls between keeping and telling once at most"
    assert ends - before[1] <= len(kept) - before[0] + 1, "more than the launch in flight was lost"
    return len(kept), ends


def test_kills_at_random_instants_lose_at_most_the_launch_in_flight(tmp_path: Path) -> None:
    program, root, log, ends = (tmp_path / name for name in ("program", "runs", "said", "program.ends"))
    program.write_text(PROGRAM)
    program.chmod(0o755)
    ends.touch()
    rng = random.Random(20240)
    so_far = (0, 0)
    for _ in range(KILLS):
        kill_one(program, root, log, rng)
        wait_until_gone(program)
        for folder in root.glob("*/1"):
            so_far = check_kept(folder, log.read_text(), ends.read_text().count("\n"), so_far)
    assert so_far[0] > KILLS // 2, "the kills came too early to say anything"
    finish(program, root, next(iter(root.glob("*/1"))))


def kill_one(program: Path, root: Path, log: Path, rng: random.Random) -> None:
    with log.open("wb") as output:
        driver = start(program, root, 10**6, output.fileno())
        if rng.random() < 0.8:  # else anywhere from the start of the interpreter on
            while log.stat().st_size == 0 and driver.poll() is None:
                time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.5))
        assert driver.poll() is None, log.read_text()[-2000:]
        driver.kill()
        driver.wait()


def test_ctrl_c_abandons_the_block_and_leaves_nothing_running(tmp_path: Path) -> None:
    program, root, log = tmp_path / "program", tmp_path / "runs", tmp_path / "said"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    with log.open("wb") as output:
        driver = start(program, root, 10**6, output.fileno())
        while log.read_text().count("kept") < 4:
            time.sleep(0.005)
        driver.send_signal(signal.SIGINT)
        assert driver.wait(timeout=10) != 0
    assert not running(program), "nothing may be left when the command has returned"
    (folder,) = root.glob("*/1")
    run = store.load(folder)
    assert len(run.records) % 3 == 0
    assert '"event":"block-abandoned"' in (folder / "records.jsonl").read_text().splitlines()[-1]
    assert {(r.block, r.attempt, r.order) for r in run.all_records} >= set(acknowledged(log.read_text()))
    finish(program, root, folder)


def finish(program: Path, root: Path, folder: Path) -> None:
    """The same command goes on to the end."""
    complete = len({r.block for r in store.load(folder).records})
    driver = start(program, root, complete + 2, subprocess.PIPE)
    said = driver.communicate(timeout=60)[0].decode()
    assert driver.returncode == 0, said
    run = store.load(folder)
    assert run.finished
    by_block = {block: list(group) for block, group in itertools.groupby(run.records, lambda r: r.block)}
    assert list(by_block) == list(range(complete + 2))
    for made in by_block.values():
        assert sorted(int(r.configuration["threads"]) for r in made) == [1, 2, 3]
        assert len({r.attempt for r in made}) == 1
        assert all(r.ok and r.leftovers == 1 for r in made)
    assert not list(root.glob("*/2"))
    wait_until_gone(program)
