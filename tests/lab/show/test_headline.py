# SPDX-License-Identifier: Apache-2.0
"""The first line of an answer is short."""

import dataclasses
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console

from corescale.api.results import concluded
from corescale.cli.output import exit_code
from corescale.conclude import policy
from corescale.conclude.answers.candidates import Flaky
from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.answers.scaling import scan
from corescale.conclude.conclusion import conclude
from corescale.conclude.race.race import Race
from corescale.declare import command_line
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.grid import baseline, configurations, reference
from corescale.declare.request import CompareRequest, ScanRequest, TuneRequest
from corescale.declare.stop import Stop
from corescale.errors import ExitCode
from corescale.records import Configuration, Record
from corescale.show import columns, terminal, text
from corescale.show.exchange import markdown
from corescale.show.headline import beside, headline, recommendation, stop, undisturbed
from corescale.show.naming import label
from corescale.show.result import Result
from support import samples
from support.play import MACHINE, play
from support.play import record as play_record


@pytest.mark.parametrize("made", [samples.scan_result, samples.weak_result, samples.tune_result, samples.failing_tune])
def test_a_first_line_has_at_most_25_words(made: Callable[[], Result]) -> None:
    assert 4 < len(headline(made()).split()) <= 25


def failing(experiment: Experiment, fails: Callable[[Record], bool], **how: Any) -> Sequence[Record]:
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment))
    return [dataclasses.replace(record, **(how if fails(record) else {}), origin="measured") for record in made]


def now_and_then(record: Record) -> bool:
    """Two launches of eight, of the last level."""
    return record.block in (3, 5) and record.configuration.levels[0][1] != 1


def test_a_program_that_fails_now_and_then_says_so_in_the_first_line() -> None:
    alone = command_line.compare(CompareRequest(runs=8), ["flaky"], MACHINE)
    two = command_line.scan(ScanRequest(threads="1,2", runs=8), ["flaky"], MACHINE)
    one = command_line.scan(ScanRequest(threads="2", runs=8), ["flaky"], MACHINE)
    for experiment, said in (
        (alone, "; 2 launches failed"),
        (one, "; 2 launches failed"),
        (two, "; 2 of 8 launches of 2 threads failed"),
    ):
        made = failing(experiment, now_and_then, status="failed")
        assert headline(concluded(made, experiment, {}, {})).endswith(said)


def test_failures_that_count_stand_in_the_first_line_and_are_the_first_warning() -> None:
    experiment = command_line.compare(CompareRequest(runs=8, ignore_failure=True), ["a", "b"], MACHINE)
    how = {"status": "failed", "exit_code": 1, "let_fail": True, "wall": 0.001}
    made = failing(experiment, lambda r: r.configuration["command"] == "b", **how)
    found = concluded(made, experiment, {}, {})
    assert "faster than a" in headline(found)
    assert headline(found).endswith("(8 launches of b failed)")
    assert len(headline(found).split()) <= 25
    assert conclude(made, experiment).warnings[0] == "b failed with exit code 1, and counts: -i (in 8 of 16 launches)"


def test_one_level_is_compared_with_the_serial_program() -> None:
    experiment = command_line.scan(ScanRequest(threads="1", serial="y", runs=8), ["x"], MACHINE)
    made = play(experiment, lambda c: 1.0 if experiment.is_serial(c) else 2.0, policy.Uniform(experiment))
    assert "x slower than the serial program [1.99" in headline(concluded(made, experiment, {}, {}))


def test_a_command_may_be_called_serial() -> None:
    request = CompareRequest(runs=8, name=["serial", "parallel"], threads="1,2")
    experiment = command_line.compare(request, ["x", "y"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment))
    assert len({record.configuration for record in made}) == 4
    assert "parallel threads=1" in headline(concluded(made, experiment, {}, {}))


@pytest.mark.parametrize(
    ("budget", "said"), [("4x", "not decided: nothing tried so far"), ("none", "keep your current launch: it is")]
)
def test_a_tune_of_few_launches_decides_nothing(budget: str, said: str) -> None:
    experiment = command_line.tune(TuneRequest(threads="1,2", budget=budget), ["x"], MACHINE)
    made = play(experiment, lambda c: 1.0 / c.layout.p, Race(experiment))
    found = concluded(made, experiment, {}, {})
    assert headline(found).startswith(said)
    assert exit_code(found.conclusion) is (ExitCode.INCONCLUSIVE if budget == "4x" else ExitCode.OK)


@pytest.mark.parametrize(
    ("faster", "said"),
    [(1.001, "not decided: nothing tried so far looks faster than"), (1.3, "not decided: threads=1 looks faster, but")],
)
def test_a_tune_without_pairs_says_that_something_looks_faster_if_the_table_shows_it(faster: float, said: str) -> None:
    experiment = command_line.tune(TuneRequest(threads="1,4", budget="2x"), ["x"], MACHINE)
    made = play(experiment, lambda c: 1.0 if c.layout.p == 4 else 1 / faster, Race(experiment), noise=0)
    assert headline(concluded(made, experiment, {}, {})).startswith(said)


def test_a_level_that_never_succeeds_says_how_it_ended_in_the_first_line() -> None:
    experiment = command_line.scan(ScanRequest(threads="1,2", runs=3), ["x"], MACHINE)
    made = failing(experiment, lambda r: r.configuration.layout.p == 2, status="output-differs")
    assert headline(concluded(made, experiment, {}, {})).startswith(
        "2 threads: each of 3 launches wrote another output than the first launch of all (--same-output); 1 th"
    )
    mixed = [dataclasses.replace(r, status="failed", exit_code=r.block) if not r.ok else r for r in made]
    assert headline(concluded(mixed, experiment, {}, {})).startswith(
        "2 threads: each of 3 launches failed; 1 thread took"
    )
    both = failing(experiment, lambda _: True, status="failed", exit_code=1)
    assert headline(concluded(both, experiment, {}, {})).endswith("failed with exit code 1, as at 1 thread")


def _with_one_pair(*seconds: float) -> tuple[Experiment, tuple[Configuration, ...], list[Record]]:
    """Six blocks in which two configurations take as long, and a confirmation pair of these times."""
    experiment = command_line.tune(TuneRequest(threads="2,4", budget="none"), ["x"], MACHINE)
    both = configurations(experiment)[:2]
    made = [play_record(c, 1.0 + 0.01 * ((k + o) % 3), block=k, order=o) for k in range(6) for o, c in enumerate(both)]
    pair = [play_record(c, t, block=9, phase="confirm") for c, t in zip(both, seconds, strict=True)]
    return experiment, both, made + pair


@pytest.mark.parametrize("seconds", [(4.9, 1.0), (1.0, 1.6)])
def test_a_pair_without_an_interval_is_neither_in_the_first_line_nor_in_the_table(seconds: tuple[float, float]) -> None:
    """Six blocks find both equal: so do the bound, the first line and the row, whatever one pair shows."""
    experiment, (_, other), made = _with_one_pair(*seconds)
    found = recommend(made, experiment, picked=other)
    assert not found.decided and found.gain is not None and abs(found.gain.estimate - 1) > 0.3
    (row,) = (one for one in found.candidates if one.configuration == other)
    assert row.ratio.estimate == pytest.approx(1, abs=0.02)
    said = recommendation(found)
    assert said.endswith("threads=2 looks as fast as your current launch, but there is no 95% interval")


def test_a_launch_that_failed_too_often_is_not_to_be_used() -> None:
    experiment = command_line.tune(TuneRequest(threads="1,2", budget="none"), ["x"], MACHINE)
    now, other = configurations(experiment)[:2]
    made = [play_record(c, 1.0, block=k, order=o) for k in range(6) for o, c in enumerate((now, other))]
    made += [play_record(now, 1.0, block=6, status="failed", exit_code=1)]
    found = concluded(made, experiment, {}, {})
    assert isinstance(found.conclusion, Recommendation) and found.conclusion.chosen == now
    assert columns.of(found).roles(now) == ["baseline"]
    fine = concluded(made[:-1], experiment, {}, {})
    assert columns.of(fine).roles(now) == ["use this", "baseline"]


@pytest.mark.parametrize(
    ("noise", "said"), [(0.0, "2 threads are 1.048x slower than 1"), (0.6, "no difference shown: 2 threads are ")]
)
def test_what_may_be_faster_is_not_called_never_faster(noise: float, said: str) -> None:
    experiment = command_line.scan(ScanRequest(threads="1,2", runs=8), ["x"], MACHINE)
    made = play(experiment, lambda c: 1.0 + 0.05 * c.layout.p, policy.Uniform(experiment), noise=noise, seed=4)
    busy = [dataclasses.replace(record, user=2 * record.wall) for record in made]
    assert said in headline(concluded(busy, experiment, {}, {}))


def test_without_a_difference_the_first_line_has_the_ratio_of_the_table() -> None:
    scan = command_line.scan(ScanRequest(threads="1,2", runs=8), ["x"], MACHINE)
    compare = command_line.compare(CompareRequest(runs=8), ["x", "y"], MACHINE)
    for experiment in (scan, compare):
        made = play(experiment, lambda _: 1.0, policy.Uniform(experiment), noise=0.6, seed=4)
        found = concluded(made, experiment, {}, {})
        shown, first = columns.of(found), headline(found)
        cells = [cell for configuration in shown.rows for cell in shown.cells(configuration)]
        ratios = {text.join(cell) for column, cell in cells if column.format is columns.TIMES}
        assert "no difference shown: " in first and any(ratio in first for ratio in ratios - {"1.00x"}), first


@pytest.mark.parametrize("verb", ["scan", "compare"])
def test_few_pairs_that_contradict_the_times_beside_them_show_no_order(verb: str) -> None:
    if verb == "scan":
        experiment = command_line.scan(ScanRequest(threads="1,2", runs=2), ["x", "{threads}"], MACHINE)
    else:
        experiment = command_line.compare(CompareRequest(runs=2), ["a", "b"], MACHINE)
    first = reference(experiment)
    for second, said in (((8.0, 24.0), "as fast as"), ((8.0, 19.0), "1.15x faster than")):
        seconds = {True: (10.0, 20.0), False: second}
        made = [
            dataclasses.replace(record, wall=seconds[record.configuration == first][record.block], origin="measured")
            for record in play(experiment, lambda c: 1.0, policy.Uniform(experiment))
        ]
        assert f" {said} " in headline(concluded(made, experiment, {}, {}))


def test_several_layouts_of_two_p_print_no_model() -> None:
    request = ScanRequest(runs=8, factor=["layout=1x1x1,2x1x1,1x2x1"])
    experiment = command_line.scan(request, ["x {ranks}"], MACHINE)
    made = play(experiment, lambda c: 1.0 / c.layout.p, policy.Uniform(experiment))
    shown = io.StringIO()
    Console(file=shown, width=160).print(terminal.render(concluded(made, experiment, {}, {})))
    assert "1x2x1" in shown.getvalue()
    assert not re.search("model:|forecast|speedup 1 is", shown.getvalue())


def test_a_spent_budget_says_what_launches_took_if_that_is_less_than_half() -> None:
    for budget, rest in (("100s", " (launches took 12.0 s of 100 s, checks and start-up the rest)"), ("20s", "")):
        experiment = command_line.scan(ScanRequest(threads="1,2", budget=budget), ["x"], MACHINE)
        each = enumerate(configurations(experiment))
        made = [play_record(c, 1.0, block=k, order=o) for o, c in each for k in range(6)]
        found = dataclasses.replace(concluded(made, experiment, {}, {}), stop=policy.Decision(None, "budget"))
        assert stop(found) == f"6 blocks, 12 launches; budget spent{rest}"


@pytest.mark.parametrize(
    ("blocks", "reason", "code"),
    [
        (1, "budget", ExitCode.INCONCLUSIVE),
        (5, "budget", ExitCode.INCONCLUSIVE),
        (6, "budget", ExitCode.OK),
        (1, "blocks", ExitCode.OK),
    ],
)
@pytest.mark.parametrize("verb", ["scan", "compare"])
def test_a_budget_that_ends_before_one_time_has_an_interval_is_no_answer(
    verb: str, blocks: int, reason: policy.Reason, code: ExitCode
) -> None:
    scan = command_line.scan(ScanRequest(threads="2", budget="2s"), ["x"], MACHINE)
    experiment = scan if verb == "scan" else command_line.compare(CompareRequest(budget="2s"), ["x"], MACHINE)
    (only,) = configurations(experiment)
    made = [play_record(only, 0.1 + 0.01 * k, block=k) for k in range(blocks)]
    found = concluded(made, experiment, {}, {})
    assert exit_code(found.conclusion, found.timed, policy.Decision(None, reason)) is code


def test_the_level_of_a_parameter_comes_before_the_sentence_about_threads() -> None:
    request = ScanRequest(threads="1,2", parameter_list=["n=1,3"], runs=8)
    experiment = command_line.scan(request, ["x", "{threads}", "{n}"], MACHINE)
    made = play(experiment, lambda c: 1.0 if c["n"] == 1 else 1.0 / c.layout.p, policy.Uniform(experiment))
    made = [dataclasses.replace(record, user=record.wall * record.configuration.layout.p) for record in made]
    said = headline(concluded(made, experiment, {}, {}))
    assert re.match(r"at n=3 \(the largest speedup of 2 curves\), 2 threads are \d\.\d+x faster than 1 \[", said)


def test_what_was_never_launched_is_not_tied_with_the_answer() -> None:
    experiment = command_line.tune(TuneRequest(threads="1", factor=["MODE=a,b,c,d"]), ["x"], MACHINE)
    now, every = baseline(experiment), configurations(experiment)
    other = next(c for c in every if c != now)
    made = [play_record(c, 1.0 + 0.1 * k, block=k, order=o) for k in range(2) for o, c in enumerate((now, other))]
    found = concluded(made, experiment, {}, {})
    assert isinstance(found.conclusion, Recommendation)
    assert {c for c, _ in found.conclusion.tied_with} <= {now, other}
    assert f"not measured: {len(every) - 2} of {len(every)} configurations" in beside(found.conclusion)


def test_a_capped_launch_is_not_called_a_failure() -> None:
    experiment = command_line.tune(TuneRequest(threads="1", factor=["MODE=a,b"]), ["x"], MACHINE)
    now = baseline(experiment)
    other = next(c for c in configurations(experiment) if c != now)
    made = [play_record(c, 1.0, block=k, order=o) for k in range(4) for o, c in enumerate((now, other))]
    made[1] = dataclasses.replace(made[1], wall=3.0, status="capped")
    out = io.StringIO()
    Console(file=out, width=200).print(terminal.render(concluded(made, experiment, {}, {})))
    assert f"capped: {label(other)}: 1 time, was stopped after 3 s" in out.getvalue()
    assert "failed" not in out.getvalue()


def test_what_failed_at_times_and_looked_faster_contradicts_nothing() -> None:
    found = samples.tune_result(2).conclusion
    assert isinstance(found, Recommendation)
    kept = dataclasses.replace(found, winner=found.baseline, gain=None, proved=False, confirmation=None)
    other = next(c.configuration for c in found.candidates if c.configuration != found.baseline)
    flaky = dataclasses.replace(kept, flaky=Flaky(other, 1.08, 1, 2))
    assert "nothing tried so far looks faster than" in recommendation(kept)
    assert "nothing that never failed so far looks faster than" in recommendation(flaky)
    assert "looked 1.08x faster and failed in 1 of 2 launches" in recommendation(flaky)


def test_a_second_answer_of_the_same_words_is_said_once() -> None:
    found = samples.scan_result()
    assert undisturbed(dataclasses.replace(found, undisturbed=found.conclusion)) == "without the noisy blocks: the same"


@pytest.mark.parametrize(("levels", "said"), [((1, 2), "from .* at n=1 to .* at n=2$"), ((), "the program: ")])
def test_a_study_without_threads_knows_no_number_of_threads(levels: tuple[int, ...], said: str) -> None:
    factors = (Factor(name="n", kind="parameter", levels=levels),) if levels else ()
    command = Command(name="main", argv=("x", *["{n}"] * len(factors)))
    experiment = Experiment(verb="study", commands=(command,), factors=factors, stop=Stop(min_blocks=8, max_blocks=8))
    made = play(experiment, lambda c: float(c.get("n") or 1), policy.Uniform(experiment))
    busy = [dataclasses.replace(record, user=2 * record.wall, origin="measured") for record in made]
    found, shown = concluded(busy, experiment, {}, {}), io.StringIO()
    assert re.match(said, headline(found)), headline(found)
    Console(file=shown, width=200).print(terminal.render(found, model=True))
    for everything in (shown.getvalue(), markdown.export(found)):
        assert not re.search(r"1 thread|asked for|speedup|efficiency|\bp\b", everything), everything
    (row, *_) = scan(busy, experiment).rows
    assert math.isnan(row.efficiency.estimate)
