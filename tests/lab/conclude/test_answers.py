# SPDX-License-Identifier: Apache-2.0
"""From records with a known truth to scan, verdict, recommendation, and which block comes next."""

import dataclasses
import math
import re
from typing import Any

import pytest

from corescale.conclude import policy
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.answers.scaling import scan
from corescale.conclude.answers.verdict import compare
from corescale.conclude.conclusion import conclude
from corescale.conclude.policy import too_few
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.conclude.stats import Interval
from corescale.conclude.warnings import warnings
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.request import CompareRequest, ScanRequest, TuneRequest
from corescale.records import Configuration, Noise, Region
from corescale.show import headline
from support.play import MACHINE, Truth, blocks, play, record


def scanning(**options: Any) -> Experiment:
    return command_line.scan(ScanRequest(threads="1,2,4", **options), ["x {threads}"], MACHINE)


def tuning(**options: Any) -> Experiment:
    return command_line.tune(TuneRequest(threads="1,2,4", **options), ["x {threads}"], MACHINE)


def amdahl(serial: float) -> Truth:
    return lambda c: serial + (1 - serial) / c.layout.p


def test_scan_gives_back_the_model_that_made_the_times() -> None:
    experiment = scanning()
    found = scan(play(experiment, amdahl(0.2), policy.Uniform(experiment)), experiment)
    assert [row.p for row in found.rows] == [1, 2, 4]
    last = found.rows[2]
    assert last.speedup.estimate == pytest.approx(2.5, rel=0.02)
    assert last.efficiency.estimate == pytest.approx(last.speedup.estimate / 4)
    assert last.overhead.estimate == pytest.approx(1 / last.efficiency.estimate - 1)
    assert last.efficiency.high is not None
    assert last.overhead.low == pytest.approx(1 / last.efficiency.high - 1)
    assert found.rows[0].speedup.estimate == 1
    choice = found.curves[0].choice
    assert choice is not None
    assert choice.fits["amdahl"].parameters["s"].covers(0.2)


def test_a_scan_stops_at_the_declared_width_and_not_before() -> None:
    experiment = scanning(width="1%")
    records = play(experiment, amdahl(0.2), policy.Uniform(experiment), noise=0.02)
    made = blocks(records, "measure")
    assert made > experiment.stop.min_blocks
    assert policy.decision(records, experiment).reason == "width"
    earlier = [r for r in records if r.block < made - 1]
    assert policy.decision(earlier, experiment).reason is None


def test_a_spent_budget_is_never_called_width() -> None:
    experiment = scanning(width="0.1%", budget="30s")
    records = play(experiment, amdahl(0.2), policy.Uniform(experiment), noise=0.05)
    assert policy.decision(records, experiment).reason == "budget"
    assert sum(r.wall for r in records) <= 30


def test_each_allocator_is_a_curve_of_its_own() -> None:
    experiment = command_line.scan(ScanRequest(threads="1,2", factor=["mode=a,b"]), ["x {threads} {mode}"], MACHINE)
    times = {"a": 1.0, "b": 3.0}
    found = scan(play(experiment, lambda c: times[str(c["mode"])] / c.layout.p, policy.Uniform(experiment)), experiment)
    assert [(curve.label, len(curve.rows)) for curve in found.curves] == [("mode=a", 2), ("mode=b", 2)]
    assert [curve.rows[1].speedup.covers(2) for curve in found.curves] == [True, True]


def test_a_serial_program_is_the_baseline() -> None:
    experiment = scanning(serial="fast")
    truth: Truth = lambda c: 0.5 if c.get("command") == "serial" else 1 / c.layout.p  # noqa: E731
    found = scan(play(experiment, truth, policy.Uniform(experiment)), experiment)
    assert found.baseline == "serial: fast"
    assert [row.speedup.covers(x) for row, x in zip(found.rows, (0.5, 1, 2), strict=True)] == [True] * 3


def test_cores_offered_and_not_used_are_noticed() -> None:
    experiment = scanning()
    found = scan(play(experiment, lambda c: 1.0, policy.Uniform(experiment)), experiment)
    assert [row.idle for row in found.rows] == [False, True, True]


def test_below_six_blocks_there_is_no_interval() -> None:
    experiment = scanning(runs=5)
    found = scan(play(experiment, amdahl(0.1), policy.Uniform(experiment)), experiment)
    assert (found.rows[1].speedup.n, found.rows[1].speedup.low) == (5, None)


def test_the_winner_is_confirmed_in_confirmation_pairs_alone() -> None:
    experiment = tuning(confirm="10")
    truth: Truth = lambda c: {1: 1.0, 2: 0.5, 4: 0.8}[c.layout.p]  # noqa: E731
    records = play(experiment, truth, Race(experiment))
    answer = recommend(records, experiment)
    assert answer.winner.layout.p == 2
    assert blocks(records, "confirm") == 11, "ten that count, and the one that turns the order round"
    assert answer.gain is not None
    assert answer.gain.n == 10
    assert answer.gain.covers(1.6)
    assert not answer.keep_baseline
    assert recommend([r for r in records if r.phase == "measure"], experiment).gain is None


def test_baseline_is_kept_where_nothing_is_gained() -> None:
    experiment = tuning()
    answer = recommend(play(experiment, amdahl(0.1), Race(experiment)), experiment)
    assert answer.keep_baseline
    assert answer.chosen == answer.baseline
    assert answer.within is not None
    assert answer.within < 0.02


def test_a_failing_configuration_never_wins_and_says_why() -> None:
    experiment = tuning()
    records = play(experiment, amdahl(0.1), policy.Uniform(experiment))
    broken = [
        dataclasses.replace(r, wall=0.01, status="failed", exit_code=3, tail="first\nno memory")
        if r.configuration.layout.p == 2
        else r
        for r in records
    ]
    answer = recommend(broken, experiment)
    assert answer.winner.layout.p == 4
    assert answer.candidates[-1].excluded == "failed with exit code 3: no memory"


def test_a_failing_configuration_is_left_out_of_later_blocks() -> None:
    experiment = tuning()
    bad = configurations(experiment)[1]
    failed = [record(bad, 0.1, status="failed", block=k) for k in range(2)]
    assert bad in policy.still_running(failed[:1], experiment)
    assert bad not in policy.still_running(failed, experiment)
    assert bad not in policy.still_running([record(bad, 9, status="timeout")], experiment)


def test_a_constraint_excludes_the_faster_one() -> None:
    experiment = tuning(metric=["bytes=stdout-size"], subject_to=["bytes<=1.02*baseline"])
    records = play(experiment, lambda c: float(c.layout.p), policy.Uniform(experiment))
    sized = [
        dataclasses.replace(r, metrics={"bytes": {1: 103.0, 2: 102.0, 4: 100.0}[r.configuration.layout.p]})
        for r in records
    ]
    answer = recommend(sized, experiment)
    assert answer.winner.layout.p == 2
    assert answer.candidates[-1].excluded == "bytes = 1.03x, not <= 1.02x baseline"


@pytest.mark.parametrize(
    ("slower", "decision", "gate"),
    [(1.2, "slower", "failed"), (0.8, "faster", "passed"), (1.0, "no difference shown", "passed")],
)
def test_compare_and_its_gate(slower: float, decision: str, gate: str) -> None:
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    records = play(experiment, lambda c: slower if c["command"] == "b" else 1.0, policy.Uniform(experiment))
    (found,) = compare(records, experiment, gate={"time": 0.05})
    assert (found.decision, found.gate) == (decision, gate)
    assert found.ratio.covers(slower)


def test_times_in_tenths_of_a_second_pass_no_gate_that_they_cannot_see() -> None:
    """0.97 and 1.03 s are both reported as 1.0 s."""
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    finer = play(experiment, lambda c: 0.97 if c["command"] == "a" else 1.03, policy.Uniform(experiment), noise=0.0)
    made = [dataclasses.replace(r, wall=round(r.wall, 1)) for r in finer]
    (found,) = compare(made, experiment, gate={"time": 0.02})
    assert found.gate == "inconclusive" and found.ratio.covers(1.03 / 0.97)
    assert "quantised" in warnings(made, experiment).lines[0]


@pytest.mark.parametrize(
    ("runs", "commands", "said"),
    [(6, "abcd", "-r 6 can decide nothing: 3 comparisons together at 95% need -r 7"), (7, "abcd", ""), (6, "ab", "")],
)
def test_blocks_that_can_decide_nothing_are_said_beforehand(runs: int, commands: str, said: str) -> None:
    assert too_few(command_line.compare(CompareRequest(runs=runs), [*commands], MACHINE)) == said


def test_gates_on_cpu_time_and_memory_are_judged_by_their_own_ratios() -> None:
    experiment = command_line.compare(CompareRequest(runs=12), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment), noise=0.01)
    more = [
        dataclasses.replace(r, user=2.0 * r.wall if r.configuration["command"] == "b" else r.wall, system=0.0,
                            peak_memory=1_000_000)
        for r in made
    ]  # fmt: skip
    (found,) = compare(more, experiment, gate={"time": 0.1, "cpu": 0.5, "memory": 0.0})
    assert {one.of: one.verdict for one in found.gates} == {"time": "passed", "cpu": "failed", "memory": "passed"}


def test_a_gate_without_an_interval_is_inconclusive() -> None:
    experiment = command_line.compare(CompareRequest(runs=3), ["a", "b"], MACHINE)
    (found,) = compare(play(experiment, lambda c: 1.0, policy.Uniform(experiment)), experiment, gate={"time": 0.05})
    assert (found.decision, found.gate) == ("too few blocks", "inconclusive")


def test_a_launch_that_failed_passes_no_gate() -> None:
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    records = play(experiment, lambda c: 0.8 if c["command"] == "b" else 1.0, policy.Uniform(experiment))
    failed = [dataclasses.replace(r, status="failed") if r.block == 3 and r.configuration["command"] == "b" else r
              for r in records]  # fmt: skip
    (found,) = compare(failed, experiment, gate={"time": 0.05})
    assert (found.decision, found.gate) == ("failed", "crashed")


@pytest.mark.parametrize(("confidence", "enough"), [(0.95, True), (0.99, False)])
def test_what_is_left_without_noisy_blocks_must_allow_an_interval(confidence: float, enough: bool) -> None:
    """Of nine blocks two are flagged; seven are enough at 95%, and at 99% eight are needed."""
    experiment = command_line.compare(CompareRequest(runs=9), ["a", "b"], MACHINE)
    stop = experiment.stop.model_copy(update={"confidence": confidence})
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment))
    noisy = [dataclasses.replace(r, noise=Noise(steal=1.0)) if r.block < 2 else r for r in made]
    found = conclude(noisy, experiment.model_copy(update={"stop": stop}))
    assert len(found.noisy) == 4
    assert (found.undisturbed is not None) == enough
    assert any("too few are left for a second answer" in line for line in found.warnings) == (not enough)


def test_what_a_configuration_may_cause_itself_is_counted_beside_the_others_and_never_set_aside() -> None:
    experiment = command_line.compare(CompareRequest(runs=9), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment))
    waits = Noise(runqueue_wait=1.0, on_cpu=1.0)
    busy = [dataclasses.replace(r, noise=waits) if r.configuration["command"] == "b" else r for r in made]
    found = conclude(busy, experiment)
    assert len(found.noisy) == 9
    assert found.undisturbed is None
    (said,) = [line for line in found.warnings if line.startswith("noise: waiting")]
    assert said.endswith("; in 9 of 9 launches of b, 0 of 9 of the others")


@pytest.mark.parametrize("noise", [Noise(steal=1.0), Noise(foreign=1.0, cpus=2)])
def test_what_comes_from_outside_is_not_set_aside_where_it_goes_with_a_configuration(noise: Noise) -> None:
    """An idle CPU cannot be robbed: what uses more of them is robbed more, and its slow blocks must not go for it."""
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment))
    robbed = [
        dataclasses.replace(r, noise=noise) if r.configuration["command"] == "b" and r.block < 9 else r for r in made
    ]
    found = conclude(robbed, experiment)
    assert len(found.noisy) == 9 and found.undisturbed is None
    (said,) = [line for line in found.warnings if line.startswith("noise: ")]
    assert said.endswith("; in 9 of 20 launches of b, 0 of 20 of the others")
    alike = conclude([dataclasses.replace(r, noise=noise) if r.block < 9 else r for r in made], experiment)
    assert alike.undisturbed is not None
    (said,) = [line for line in alike.warnings if line.startswith("noise: ")]
    assert re.search(r"; in 9 of 20 launches of [ab], 9 of 20 of the others$", said)


def test_responses() -> None:
    one = record(
        Configuration(), 2.0, regions=(Region("solve", 0, 0, 1, 0.5), Region("solve", 0, 1, 1, 0.7)), metrics={"m": 3.0}
    )
    assert [one.response(name) for name in ("wall", "region:solve", "metric:m")] == [2.0, 0.7, 3.0]
    assert math.isnan(one.response("region:other"))
    assert math.isnan(dataclasses.replace(one, status="failed").response("wall"))


def test_launches_of_baseline_in_one_block_are_averaged_by_logarithm() -> None:
    records = [record(Configuration(), wall, block=0, order=k) for k, wall in enumerate((1.0, 4.0))]
    assert table(records, "wall").values.tolist() == [[2.0]]


def test_a_mean_ratio_that_shows_something_else_than_the_first_line_says_what_it_is() -> None:
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    (found,) = compare(play(experiment, lambda c: 1.0, policy.Uniform(experiment)), experiment)
    equal = dataclasses.replace(found, decision="no difference shown")
    beyond = dataclasses.replace(equal, mean_ratio=Interval(1.42, 1.06, 1.91, 0.95, 20))
    within = dataclasses.replace(equal, mean_ratio=Interval(1.42, 0.96, 1.91, 0.95, 20))
    assert headline.means([within, beyond], "wall").startswith("mean ratio: ")
    assert (
        headline.means([within], "wall")
        == headline.means([dataclasses.replace(beyond, decision="failed")], "wall")
        == ""
    )
