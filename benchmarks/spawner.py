# SPDX-License-Identifier: Apache-2.0
"""The spawner beside hyperfine: scripts/bench spawner [--short 300] [--long 30], on a quiet machine.

Every pair is one launch by each, one after the other in random order, so that both meet the same noise. Prints a
Markdown table of the differences and ratios with their 95% signed-rank intervals, and what the spawner itself costs.

Of the programs above a second, one sleeps, one uses a fixed CPU time, whatever the speed of its core, and one does
fixed work: its interval is as wide as the speed of the cores varies.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from corescale import native
from corescale.conclude.stats import Interval, hodges_lehmann, ratio_interval
from corescale.observe.spawn import Spawner, SpawnRequest

SEED = 1
SHORT = ("true",)
LONG = {
    "`sleep 1.1`": ("sleep", "1.1"),
    "1.1 s of CPU time": (str(native.find("spawner_fixture")), "burn", "1.1"),
    "an awk loop": ("awk", "BEGIN { while (i++ < 100000000); }"),
}

Launch = Callable[[], float]
Row = tuple[str, str]
"""what was compared, and what came out"""


def hyperfine(argv: Sequence[str], scratch: Path) -> Launch:
    """Seconds of one launch by hyperfine without a shell."""
    target = scratch / "hyperfine.json"
    quoted = " ".join(f"'{word}'" for word in argv)
    words = ["hyperfine", "-N", "--runs", "1", "--style", "none", "--export-json", str(target), quoted]

    def launch() -> float:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return float(json.loads(target.read_text())["results"][0]["times"][0])

    return launch


def spawner(argv: Sequence[str], **environment: str) -> Launch:
    """Seconds of one launch by the spawner as the lab uses it."""
    starter, request = Spawner(), SpawnRequest(tuple(argv), environment=environment)

    def launch() -> float:
        report = starter.spawn(request)
        if report.status != "ok":
            raise SystemExit(f"{argv[0]}: {report.status} {report.trouble}")
        return report.wall

    return launch


def pairs(first: Launch, second: Launch, count: int) -> tuple[list[float], list[float]]:
    """`count` launches of each, interleaved, after one of each that does not count."""
    order, times = random.Random(SEED), ([], [])  # type: tuple[random.Random, tuple[list[float], list[float]]]
    first(), second()
    for _ in range(count):
        for which in order.sample((0, 1), 2):
            times[which].append((first, second)[which]())
    return times


def difference(times: tuple[list[float], list[float]]) -> Interval:
    """First minus second, in seconds."""
    return hodges_lehmann([a - b for a, b in zip(*times, strict=True)])


def written(interval: Interval, scale: float, digits: int) -> str:
    """The estimate and its interval; where there are too few pairs for one, that."""
    middle = f"{scale * interval.estimate:.{digits}f}"
    if interval.low is None or interval.high is None:
        return f"{middle}, too few pairs for an interval"
    return f"{middle} [{scale * interval.low:.{digits}f}, {scale * interval.high:.{digits}f}]"


def cpu_beyond(threads: int, sample_ms: int) -> tuple[float, float]:
    """CPU time of the spawner beyond its program's, and how long the program ran."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = (str(native.find("spawner_fixture")), "burn-threads", str(threads))
    report = Spawner().spawn(SpawnRequest(argv, sample_ms=sample_ms))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return total - report.user - report.system, report.wall


def watching(threads: int) -> float:
    """What looking at `threads` threads every 100 ms takes of a core."""
    watched, wall = cpu_beyond(threads, 100)
    return (watched - cpu_beyond(threads, 0)[0]) / wall


def launch_cost(memory_group: bool, count: int = 50) -> float:
    """Seconds from the request to the report of `true`, the lab's own part included."""
    starter, request = Spawner(), SpawnRequest(SHORT, memory_group=memory_group)
    begun = time.perf_counter()
    for _ in range(count):
        starter.spawn(request)
    return (time.perf_counter() - begun) / count


def short_rows(count: int, scratch: Path) -> Iterator[Row]:
    """The bias on the shortest program, and what the witness adds to it."""
    bias = difference(pairs(spawner(SHORT), hyperfine(SHORT, scratch), count))
    yield f"`true`, {count} pairs: spawner - hyperfine", f"{written(bias, 1e3, 3)} ms"
    (scratch / "witness.log").touch()
    witness = {"LD_PRELOAD": str(native.library("libcorescale_witness.so"))}
    silent, detected = spawner(SHORT, **witness), spawner(SHORT, CORESCALE_WITNESS=str(scratch), **witness)
    loading, testifying = pairs(silent, spawner(SHORT), count), pairs(detected, silent, count)
    yield "preloading the witness library, without a log", f"{written(difference(loading), 1e6, 0)} us"
    yield "what writing its log then adds", f"{written(difference(testifying), 1e6, 0)} us"


def long_rows(count: int, scratch: Path) -> Iterator[Row]:
    """Programs above a second."""
    for name, argv in LONG.items():
        ours, theirs = pairs(spawner(argv), hyperfine(argv, scratch), count)
        ratio = written(ratio_interval(ours, theirs), 1, 5)
        yield f"{name}, {statistics.median(ours):.2f} s, {count} pairs: spawner / hyperfine", ratio


def cost_rows() -> Iterator[Row]:
    """What the spawner costs beside its program."""
    for threads in (8, 40):
        yield f"watching {threads} threads every 100 ms, share of a core", f"{watching(threads):.2%}"
    yield "from request to report for `true`, with a memory cgroup", f"{launch_cost(True) * 1e3:.1f} ms"
    yield "from request to report for `true`, without one", f"{launch_cost(False) * 1e3:.1f} ms"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", type=int, default=300)
    parser.add_argument("--long", type=int, default=30)
    asked = parser.parse_args()
    version = subprocess.run(["hyperfine", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version}, {len(os.sched_getaffinity(0))} cores\n\n| measured | result |\n|---|---|")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for what, result in chain(short_rows(asked.short, scratch), long_rows(asked.long, scratch), cost_rows()):
            print(f"| {what} | {result} |", flush=True)


if __name__ == "__main__":
    main()
