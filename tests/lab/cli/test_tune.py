# SPDX-License-Identifier: Apache-2.0
"""`tune` from the command line to its answer: on landscapes with a known truth, and on programs that misbehave."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.conclude.answers.candidates import cheaper
from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.race.race import Race
from corescale.conclude.stats import ratio_interval
from corescale.declare import command_line
from corescale.declare.grid import configurations
from corescale.declare.request import TuneRequest
from corescale.errors import ExitCode, UsageError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.run import run
from corescale.records import Record
from corescale.show.headline import rehearsal
from support.commands import ROOT, answered, corescale, refused
from support.play import MACHINE, record

GRID = ["-t", "1,2", "-f", "MODE=a,b,c", "-f", "SIZE=1,2,3,4", "--baseline", "MODE=a,SIZE=1"]
TRUTH = """
noise = {kind = "lognormal", size = 0.01}
[times]
threads = {1 = 1.5, 2 = 1.0}
MODE = {a = 1.0, b = 0.9, c = 1.3}
SIZE = {1 = 1.0, 2 = 1.1, 3 = 0.95, 4 = 1.4}
"""
"""Fastest by 5%: threads=2 MODE=b SIZE=3."""


def tuned(tmp_path: Path, landscape: str, *words: str) -> dict[str, Any]:
    """The result of `tune` on a landscape, as JSON."""
    (tmp_path / "l.toml").write_text(landscape)
    done = corescale("tune", "--on", "fake", "--landscape", "l.toml", "-q", "--json", *words, "--", "x", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def raced(landscape: Landscape, **options: Any) -> tuple[list[Record], Recommendation]:
    """The same inside this process, threads 1 and 2 and a grid of 4 x 3 x 2."""
    asked = {"threads": "1,2", "factor": ["MODE=a,b,c", "SIZE=1,2,3,4"], "budget": "none"} | options
    first = [text.partition(",")[0] for text in asked["factor"]]
    named = ",".join([f"threads={max(asked['threads'].split(','))}", *first])
    request = TuneRequest(**asked, baseline=named)
    experiment = command_line.tune(request, ["x"], Machine.here())
    records = run(experiment, store.Memory(), Fake(experiment, landscape), Race(experiment))
    return list(records), recommend(records, experiment)


def land(**changes: Any) -> Landscape:
    times = {
        "threads": {"1": 1.5, "2": 1.0},
        "MODE": {"a": 1.0, "b": 0.9, "c": 1.3},
        "SIZE": {"1": 1.0, "2": 1.1, "3": 0.95, "4": 1.4},
    }
    return Landscape.model_validate({"times": times, "noise": {"size": 0.01}} | changes)


def test_the_answer_comes_with_its_bound_a_gain_from_confirmation_pairs_and_the_word_fake(tmp_path: Path) -> None:
    found = tuned(tmp_path, TRUTH, *GRID)
    assert re.fullmatch(
        r"1\.\d+x faster than MODE=a SIZE=1 "
        r"\[.*\]( by a t interval)?, (within .* of the best|the best of all .*),"
        r" each at 95% \(fake\)",
        found["headline"],
    )
    assert found["conclusion"]["chosen"]["levels"] == {"threads": 2, "MODE": "b", "SIZE": "3"}
    assert found["confirmation_pairs"] == 7, "six, and one that turns the order round"
    assert found["launches"] < 8 * 24


def test_a_budget_in_launches_is_kept(tmp_path: Path) -> None:
    found = tuned(tmp_path, TRUTH.replace("0.01", "0.05"), *GRID, "--budget", "60x")
    folder = next((tmp_path / "corescale-runs").glob("tune-*/1"))
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert 40 <= sum("configuration" in line for line in lines) <= 60  # a block that would not fit is not begun
    assert found["stop"]["reason"] == "budget"
    assert found["conclusion"]["within"] is None or found["conclusion"]["within"] > 0.02


def test_the_first_answer_takes_ten_launches() -> None:
    records, _ = raced(land())
    first = [r for r in records if r.block <= 1]
    assert [r.phase for r in first][:2] == ["warmup", "measure"]
    assert len(first) <= 10


def test_what_is_lost_by_a_cheaper_one_is_estimated_as_in_the_table() -> None:
    """Of these ratios the median is 1."""
    experiment = command_line.tune(TuneRequest(threads="1", factor=["MODE=a,b"]), ["x", "{MODE}"], MACHINE)
    first, second = configurations(experiment)
    walls = [1.0, 1.0, 1.0, 1.08, 1.09]
    records = [record(first, 1.0, block=k) for k in range(5)]
    records += [record(second, wall, block=k, user=0.7) for k, wall in enumerate(walls)]
    found = recommend(records, experiment)
    trade = cheaper(records, experiment, found.candidates, first)
    assert trade is not None and trade.slower == pytest.approx(ratio_interval(walls, [1.0] * 5).estimate - 1) != 0


def test_one_that_costs_far_fewer_core_seconds_is_named() -> None:
    times = {"threads": {"1": 1.06, "2": 1.0}, "MODE": {"a": 1.0, "b": 0.9}}
    landscape = land(times=times)
    records, answer = raced(landscape, factor=["MODE=a,b"])
    assert answer.chosen.layout.p == 2
    assert answer.cheaper is not None
    assert dict(answer.cheaper.configuration.levels) == {"threads": 1, "MODE": "b"}
    assert answer.cheaper.slower == pytest.approx(0.06, abs=0.03)
    assert answer.cheaper.fewer == pytest.approx(1 - 1.06 / 2, abs=0.03)
    twice = land(times=times | {"threads": {"1": 1.9, "2": 1.0}})
    assert raced(twice, factor=["MODE=a,b"])[1].cheaper is None
    assert len(records) < 200


def test_each_candidate_has_its_declared_metrics(tmp_path: Path) -> None:
    metric = "[metrics.bytes]\nbase = 100\ntimes = {MODE = {a = 1.0, b = 3.0, c = 2.0}}\n"
    found = tuned(tmp_path, TRUTH + metric, *GRID, "--metric", "bytes=stdout-size")
    candidates = found["conclusion"]["candidates"]
    medians = {(c["levels"]["MODE"], c["metrics"]["bytes"]) for c in candidates if c["metrics"]["bytes"]}
    assert medians == {("a", 100), ("b", 300), ("c", 200)}
    without = tuned(tmp_path, TRUTH + metric, *GRID)
    assert not any(candidate["metrics"] for candidate in without["conclusion"]["candidates"])


def test_ties_are_named_with_how_much_faster_they_may_be() -> None:
    _, answer = raced(land(times={"MODE": {"a": 1.0, "b": 0.9, "c": 0.9}}), threads="1", factor=["MODE=a,b,c"])
    assert answer.chosen["MODE"] in ("b", "c")
    (tie,) = answer.tied_with
    assert tie[0]["MODE"] in ("b", "c")
    assert tie[0] != answer.chosen
    assert tie[1] is not None
    assert 0 < tie[1] <= 0.02 + 1e-9


@pytest.mark.parametrize("status", ["failed", "signal", "timeout", "check", "output-differs"])
def test_a_configuration_that_would_win_but_fails_is_told_and_never_wins(status: str) -> None:
    failure = {"levels": {"MODE": "b", "SIZE": "3"}, "status": status, "tail": "no such mode"}
    records, answer = raced(land(failures=[failure]), timeout="100s")
    bad = [r for r in records if (r.configuration["MODE"], r.configuration["SIZE"]) == ("b", "3")]
    assert bad, "it was never launched, so nothing was told of it"
    capped = {"capped"} if status == "timeout" else set()  # where a cap comes before the time-out
    assert {r.status for r in bad} <= {status, *capped}
    assert len(bad) <= (4 if capped else 2)
    assert (answer.chosen["MODE"], answer.chosen["SIZE"]) != ("b", "3")
    told = {c.configuration: str(c.excluded) for c in answer.candidates}
    said = {"signal": "was killed by", "timeout": "did not end", "output-differs": "wrote another output"}
    words = ("too slow to win", said.get(status, status))
    assert all(any(word in told[r.configuration] for word in words) for r in bad)
    assert answer.within is not None
    assert answer.within <= 0.02 + 1e-9


def test_a_rehearsal_that_agrees_spares_full_launches_of_what_is_far_behind() -> None:
    plain, _ = raced(land())
    records, answer = raced(land(), rehearse="small")
    full = [r for r in records if r.phase == "measure"]
    assert answer.rehearsal is not None
    assert len({r.configuration for r in full}) < 24
    assert land().truth(answer.chosen) <= 1.02 * min(land().truth(r.configuration) for r in records)
    assert sum(r.wall for r in records) < sum(r.wall for r in plain)
    assert f"the {len(answer.rehearsal.kept)} of 24" in rehearsal(answer.rehearsal)


def test_a_rehearsal_that_misleads_is_not_trusted() -> None:
    misleading = {"times": {"MODE": {"a": 1.0, "b": 3.0, "c": 0.3}, "SIZE": {"1": 1.0, "2": 0.6, "3": 2.0, "4": 0.4}}}
    records, answer = raced(land(rehearsal=misleading), rehearse="small")
    assert answer.rehearsal is not None
    assert len(answer.rehearsal.kept) == answer.rehearsal.of
    assert len({r.configuration for r in records if r.phase == "measure"}) == 24
    assert land().truth(answer.chosen) == min(land().truth(r.configuration) for r in records)


def test_a_rehearsal_launches_the_same_program_with_other_arguments(tmp_path: Path) -> None:
    full, small = "echo full {mode} >> log; sleep 0.0{mode}", """-c 'echo small {mode} >> log; sleep 0.0{mode}'"""
    words = ["-t", "1", "-L", "mode", "3,1,6", "--budget", "40x", "--rehearse", small]
    done = corescale("tune", "-q", "--json", *words, "--", "sh", "-c", full, cwd=tmp_path)
    answered(done)
    assert json.loads(done.stdout)["conclusion"]["rehearsal"]["of"] == 3
    log = (tmp_path / "log").read_text().splitlines()
    assert log[0] == "full 3"
    assert sorted(log[1:10]) == ["small 1"] * 3 + ["small 3"] * 3 + ["small 6"] * 3
    assert not any(line.startswith("small") for line in log[10:])


def test_a_rehearsal_of_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(UsageError, match="level"):
        command_line.tune(TuneRequest(threads="1,2", rehearse="{level}"), ["true", "{threads}"], Machine.here())


PROGRAM = """
import sys, time
mode = sys.argv[1]
if mode == "hang":
    time.sleep(600)
if mode == "crash":
    sys.exit("mode crash is not built in")
print("another" if mode == "wrong" else "result")
time.sleep(0.06 if mode == "good" else 0.03)
time.sleep(0.06 if mode == "baseline" else 0.0)
"""


def test_real_programs_that_crash_hang_or_differ_cost_little_and_never_win(
    tmp_path: Path, python: Callable[[str], str]
) -> None:
    words = ["-t", "1", "-L", "mode", "baseline,hang,crash,wrong,good", "--same-output", "--budget", "100s"]
    done = corescale("tune", "-q", "--json", *words, "--", python(PROGRAM), "{mode}", cwd=tmp_path)
    answered(done)
    found = json.loads(done.stdout)
    assert found["conclusion"]["chosen"]["levels"]["mode"] in ("good", "baseline")
    excluded = {c["levels"]["mode"]: c["excluded"] for c in found["conclusion"]["candidates"] if c["excluded"]}
    assert set(excluded) == {"hang", "crash", "wrong"}
    assert "mode crash is not built in" in excluded["crash"]
    assert excluded["wrong"].startswith("wrote another output")
    assert excluded["hang"].startswith("was stopped after")


def test_a_launch_of_baseline_that_fails_is_refused_before_anything_else_runs(
    tmp_path: Path, python: Callable[[str], str]
) -> None:
    words = ["-t", "1", "-L", "mode", "crash,good", "--", python(PROGRAM), "{mode}"]
    refused(corescale("tune", "-q", *words, cwd=tmp_path), ExitCode.PROGRAM, "not built in", "-i")
    folder = next((tmp_path / "corescale-runs").glob("tune-*/1"))
    assert (folder / "records.jsonl").read_text().count('"configuration"') == 1


def test_a_launch_of_baseline_that_hangs_is_given_up_with_the_budget(tmp_path: Path) -> None:
    words = ["-t", "1", "-L", "s", "600,0.01", "--budget", "1s", "--", "sleep", "{s}"]
    done = corescale("tune", "-q", *words, cwd=tmp_path)
    refused(done, ExitCode.INCONCLUSIVE, "the budget ended during a launch (sleep 600)")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGTERM, ExitCode.TERMINATED),
        (signal.SIGHUP, ExitCode.HANGUP),
    ],
)
def test_a_signal_that_ends_it_says_what_is_known_and_leaves_the_run_to_go_on(
    number: signal.Signals, code: ExitCode, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "corescale", "tune", "-q", "-t", "1", "-L", "s", "30,31,32", "--within", "0.1%"]
    words += ["--", "env", "S={s}", "sleep", "0.03"]  # all alike, so that no block can end the race first
    tuning = subprocess.Popen(
        ["env", "--default-signal", *words],  # nohup around the tests would be heeded
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    try:
        deadline = time.monotonic() + 60
        while complete(tmp_path) < 4 and tuning.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        tuning.send_signal(number)
        _, said = tuning.communicate(timeout=60)
    finally:
        tuning.kill()
    assert tuning.returncode == code, said
    leads = r"so far s=\d+ leads( \(the baseline\)|, about [\d.]+x \w+ than .*, not confirmed)?"
    assert re.search(leads + r", (within [\d.]+% of the best at 95%|\d of 3 tried; nothing is proved yet)", said)
    assert "the same command continues" in said


def complete(folder: Path) -> int:
    """Blocks in the records so far."""
    return sum(path.read_text().count('"block-complete"') for path in folder.glob("corescale-runs/*/1/records.jsonl"))


def test_the_plain_program_is_launched_beside_a_level_that_nobody_asked_to_compare_it_with(tmp_path: Path) -> None:
    """The launches of the baseline have nothing set; the one that was asked for is slower, and is not recommended."""
    (tmp_path / "p").write_text('#!/bin/sh\necho "${MODE-plain} ${OMP_NUM_THREADS-none}" >> log\nsleep 0.0${MODE-1}\n')
    (tmp_path / "p").chmod(0o755)
    words = ["-q", "--json", "-t", "1,2", "-f", "MODE=5", "--budget", "30x", "--", "./p"]
    done = corescale("tune", *words, cwd=tmp_path, also={"OMP_NUM_THREADS": "2"})
    answered(done)
    found = json.loads(done.stdout)
    assert (tmp_path / "log").read_text().splitlines()[0] == "plain 2"
    assert found["conclusion"]["baseline"]["levels"] == {"threads": 2, "MODE": "unset"}
    assert found["conclusion"]["chosen"]["levels"] == {"threads": 2, "MODE": "unset"}
    assert "your current launch" in found["headline"]
