# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one made-up experiment, of which every kind of finding is
# asked)
"""Findings, weak scaling and several machines together: known truths come back, and nothing is claimed without them."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corescale.conclude.answers.claim_verdicts import deciding, judge
from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.answers.scaling import scan
from corescale.conclude.answers.several_machines import Part, together
from corescale.conclude.answers.study import study
from corescale.conclude.answers.weak_scaling import weak
from corescale.conclude.frame import frame
from corescale.conclude.stats import Interval
from corescale.conclude.warnings import agreements
from corescale.declare.experiment import Command, Experiment, Factor, Scaling, Weak
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Normalise
from corescale.declare.work import must_be_even
from corescale.errors import UsageError
from corescale.records import Configuration, Record
from corescale.show import headline, statements
from support.samples import records, shown_by

EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("grid", "{threads}", "{work}")),),
    factors=(
        Factor(name="threads", kind="threads", levels=(1, 4)),
        Factor(name="load", kind="parameter", levels=(1, 4, 16)),
        Factor(name="allocator", kind="allocator", levels=("system", "mimalloc")),
    ),
    derived={"work": "threads * load"},
    scaling=Scaling(weak=Weak()),
)
FLAT, EACH = 0.5, 0.1
"""seconds: overhead, and for each unit of load"""


def seconds(c: Configuration) -> float:
    """mimalloc is 1.2x faster at one thread and 1.5x at four; four threads take 1.3x as long."""
    load, gain = float(c["load"]), 1.0
    if c["allocator"] == "mimalloc":
        gain = 1.2 if c["threads"] == 1 else 1.5
    return (FLAT + EACH * load) * (1.0 if c["threads"] == 1 else 1.3) / gain


def asked(**changes: object) -> Finding:
    values = {
        "name": "x",
        "statement": "y",
        "a": {"allocator": "system"},
        "b": {"allocator": "mimalloc"},
        "claim": "> 1",
    }
    return Finding.model_validate(values | changes)


def found(finding: Finding, blocks: int = 8, noise: float = 0.01) -> Mapping[tuple[object, ...], Answer]:
    made = answers(frame(records(EXPERIMENT, seconds, blocks, noise=noise), EXPERIMENT), EXPERIMENT, finding)
    return {tuple(answer.at.values()): answer for answer in made}


def test_a_ratio_comes_back_at_each_level() -> None:
    said = found(asked(each=("threads",), claim=">= 1.1"))
    assert sorted(said) == [(1,), (4,)]
    for threads, truth in ((1, 1.2), (4, 1.5)):
        answer = said[(threads,)]
        assert answer.ratio.covers(truth) and answer.ratio.n == 8 and answer.verdict == "holds"
        assert answer.ratio.estimate == pytest.approx(truth, rel=0.02)


def test_a_mean_that_holds_hides_no_level_that_does_not() -> None:
    """mimalloc is 1.2x faster at one thread and 1.5x at four: on average by 1.34."""
    (answer,) = found(asked(claim="1.3 to 1.4")).values()
    assert judge(answer.ratio, answer.finding) == "holds" and answer.verdict == "does not hold"
    (unsure,) = found(asked(claim="1.3 to 1.4"), blocks=6).values()
    assert unsure.verdict == "open", "at six blocks the confidence cannot be shared among six levels"
    (open_,) = found(asked(claim=">= 1.2"), noise=0.02).values()
    assert open_.verdict == "open" and open_.against is not None and "threads=1" in open_.against[0]
    assert ". The claim is not shown at threads=1" in statements.answer(open_)
    assert open_.extremes[0] == (open_.against[0], open_.against[1].estimate), "one value of each level"


def test_the_level_outside_decides_and_not_a_farther_one_that_may_be_within() -> None:
    near, far = Interval(0.95, 0.94, 0.96, 0.95, 8), Interval(0.8, 0.5, 1.2, 0.95, 8)
    cells = {"near": near, "far": far, "good": Interval(2.0, 1.9, 2.1, 0.95, 8)}
    assert deciding(asked(), cells, list(cells.values())) == ("near", near)
    assert deciding(asked(claim="> 0.9"), cells, list(cells.values())) == ("far", far)
    assert deciding(asked(claim="> 0.4"), cells, list(cells.values())) is None
    assert deciding(asked(general=True), cells, list(cells.values())) is None


def test_a_general_finding_is_about_the_mean_alone() -> None:
    (answer,) = found(asked(claim="1.3 to 1.4", general=True)).values()
    assert answer.verdict == "holds" and answer.against is None
    assert "threads=1" in answer.extremes[0][0], "where it is least and most is said all the same"
    (other,) = found(asked(claim="> 1.4", general=True)).values()
    assert other.verdict == "does not hold"


def test_what_was_oversubscribed_is_said_with_the_answer() -> None:
    rows = frame(records(EXPERIMENT, seconds, 8, noise=0.01), EXPERIMENT)
    rows["oversubscribed"] = rows["p"] == 4
    (answer,) = answers(rows, EXPERIMENT, asked())
    assert answer.oversubscribed == (4,) and statements.answer(answer).endswith("; oversubscribed at p=4")


def test_launches_that_ended_in_another_state_are_named() -> None:
    declared = shown_by(
        EXPERIMENT.model_copy(update={"metrics": {"state": "output:state"}}), agree={"state": ("work",)}
    )

    def state(c: Configuration, block: int) -> dict[str, object]:
        wrong = c["allocator"] == "mimalloc" and c.layout.p == 4 and c["load"] == 1 and block == 2
        return {"metrics": {"state": 99.0 if wrong else float(c.layout.p * int(c["load"]))}}

    good = [replace(r, metrics={"state": float(r.configuration.layout.p)}) for r in records(declared, seconds, 3)]
    (split,) = agreements(good, declared)
    assert [said[:27] for said in split.broken] == ["state differs at work=16 in", "state differs at work=4 in "]
    (one,) = agreements(records(declared, seconds, 3, change=state), declared)
    assert one.broken == ("state differs at work=4 in 1 of 12 launches: threads=4 load=1 allocator=mimalloc",)
    (same,) = agreements(records(declared, seconds, 2, change=state), declared)
    assert str(same) == "state is the same in all launches with equal work (24 launches, 4 values)"


def test_without_noise_the_ratio_is_exact_and_extremes_are_named() -> None:
    (answer,) = found(asked(), noise=0).values()
    assert answer.ratio.estimate == pytest.approx(math.sqrt(1.2 * 1.5))
    (least, low), (most, high) = answer.extremes
    assert "threads=1" in least and "threads=4" in most and (low, high) == pytest.approx((1.2, 1.5))
    assert "threads=4" in statements.answer(answer) and "where > 1 is claimed" in statements.answer(answer)
    assert "It ranges from 1.2 at" in statements.answer(answer)
    same = replace(answer, extremes=((least, 2.0), (most, 2.0 + 1e-15)))
    assert "ranges" not in statements.answer(same), "all levels have one ratio"


def test_normalising_compares_how_they_scale() -> None:
    normalise: dict[str, Any] = {"to": {"threads": 1}, "within": ("allocator", "load")}
    finding = asked(where={"threads": "max"}, normalise=normalise, claim="> 1")
    (answer,) = found(finding, noise=0).values()
    assert answer.ratio.estimate == pytest.approx(1.5 / 1.2)
    (speed,) = found(finding.model_copy(update={"normalise": Normalise(**normalise, inverse=True)}), noise=0).values()
    assert speed.ratio.estimate == pytest.approx(1.2 / 1.5)


def test_a_straight_line_below_0_gives_no_answer() -> None:
    """From load 1 to 4 the time falls to a third, so that a straight line is below 0 at load 16, in most blocks."""
    to = asked(a={"load": 16}, b=None, normalise={"to": {"load": (1, 4)}, "within": ("threads", "allocator")})

    def falling(c: Configuration) -> float:
        return {1: 1.0, 4: 0.79, 16: 0.5}[int(c["load"])]

    made = records(EXPERIMENT, falling, 8, noise=0.05)
    (answer,) = answers(frame(made, EXPERIMENT), EXPERIMENT, to)
    assert (answer.verdict, answer.why[:32]) == ("not on this machine", "its straight line is not above 0")
    (less,) = answers(frame(made, EXPERIMENT), EXPERIMENT, to.model_copy(update={"a": {"load": 4}}))
    assert less.ratio.estimate == pytest.approx(1)


def test_a_difference_of_overheads_is_in_their_unit() -> None:
    """1 + f is 1.3 x 4 / 1.2 x 1.2 / 1.5 for mimalloc and 1.3 x 4 for the system: threads share nothing here."""
    normalise = {"to": {"threads": 1}, "within": ("allocator", "load")}
    values: dict[str, Any] = {"where": {"threads": "max", "load": 4}, "difference": True, "claim": "> 0"}
    finding = asked(**values, normalise=normalise)
    (answer,) = found(finding, noise=0).values()
    ratios = {name: seconds(at(name, 4)) / seconds(at(name, 1)) for name in ("system", "mimalloc")}
    assert answer.ratio.estimate == pytest.approx(ratios["system"] - ratios["mimalloc"]) and answer.verdict == "holds"
    assert "holds, difference 0.26" in statements.answer(answer)
    (other,) = found(finding.model_copy(update={"claim": "< 0"})).values()
    assert other.verdict == "does not hold"
    beyond = {name: seconds(at(name, 4)) - seconds(at(name, 1)) for name in ("system", "mimalloc")}
    (left,) = found(asked(**(values | {"normalise": normalise | {"subtract": True}})), noise=0).values()
    assert left.ratio.estimate == pytest.approx(beyond["system"] - beyond["mimalloc"])


def at(allocator: str, threads: int) -> Configuration:
    return Configuration((("threads", threads), ("load", 4), ("allocator", allocator)))


def test_without_a_second_side_it_is_about_the_value() -> None:
    finding = asked(b=None, where={"threads": 1, "load": 4}, claim="0.88 to 0.92")
    (answer,) = found(finding).values()
    assert answer.verdict == "holds" and answer.ratio.covers(FLAT + 4 * EACH)
    assert statements.answer(answer).startswith("holds, time 0.")
    (other,) = found(finding.model_copy(update={"claim": "> 1"})).values()
    assert other.verdict == "does not hold"
    with pytest.raises(ValueError, match="a `difference` is from a `b`"):
        asked(b=None, difference=True)


def test_the_calibrated_bandwidth_is_that_of_each_machine() -> None:
    fast = shown_by(EXPERIMENT, bandwidth={"": 2e10}, columns={"share": "1e10 / (time * bandwidth)"})
    slow = shown_by(fast, bandwidth={"": 1e10})
    made = records(EXPERIMENT, seconds, 6, noise=0)
    assert set(frame(made, fast)["bandwidth"]) == {2e10} and fast.hash == slow.hash
    experiment, both = together([Part("fast", fast, made), Part("slow", slow, made), Part("unknown", EXPERIMENT, made)])
    rows = frame(both, experiment).groupby("machine")["share"]
    assert rows.mean()["slow"] == pytest.approx(2 * rows.mean()["fast"]) and math.isnan(rows.mean()["unknown"])
    (answer,) = answers(frame(made, shown_by(EXPERIMENT, columns=fast.study.columns)), EXPERIMENT, asked(y="share"))
    assert answer.verdict == "not on this machine" and "corescale calibrate" in answer.why


def test_sets_of_levels_and_extremes_of_a_factor() -> None:
    finding = asked(a={"load": "max"}, b={"load": ("min", 4)}, claim="> 1", where={"allocator": "system"})
    (answer,) = found(finding, noise=0).values()
    truth = (FLAT + 16 * EACH) / math.sqrt((FLAT + EACH) * (FLAT + 4 * EACH))
    assert answer.ratio.estimate == pytest.approx(truth)


@pytest.mark.parametrize(
    ("low", "high", "claim", "verdict"),
    [
        (1.05, 1.2, "> 1", "holds"), (0.9, 1.2, "> 1", "open"), (0.8, 0.9, "> 1", "does not hold"),
        (0.8, 0.9, "< 1", "holds"), (1.1, 1.2, "1.1 to 1.2", "holds"), (1.3, 1.4, "1.1 to 1.2", "does not hold"),
        (1.15, 1.4, "1.1 to 1.2", "open"), (None, None, "> 1", "open"),
        (0.96, 1.04, "> 1", "equal"), (0.94, 1.04, "> 1", "open"), (0.96, 1.04, "<= 1", "equal"),
        (0.96, 1.04, "1 to 1.25", "equal"), (1.2, 1.3, ">= 1.25", "open"), (0.97, 1.03, ">= 1.25", "does not hold"),
        (1.0, 1.0, "> 1", "does not hold"), (1.0, 1.0, "< 1", "does not hold"), (1.0, 1.0, ">= 1", "holds"),
    ],
)  # fmt: skip
def test_a_verdict_is_about_the_whole_interval(low: float, high: float, claim: str, verdict: str) -> None:
    assert judge(Interval(1.0, low, high, 0.95, 8), asked(claim=claim)) == verdict


def test_the_margin_is_the_findings_and_that_of_a_difference_is_in_its_unit() -> None:
    near = Interval(0.0, -0.04, 0.02, 0.95, 8)
    assert judge(near, asked(difference=True, claim="> 0")) == "equal"
    assert judge(near, asked(difference=True, claim="> 0", margin=0.03)) == "open"
    wide = asked(claim=">= 1.2", margin=0.3)
    ratio = Interval(1.2, 1.1, 1.29, 0.95, 8)
    assert judge(ratio, wide) == "equal" and judge(ratio, asked(claim=">= 1.2")) == "open"
    assert statements.answer(Answer(wide, {}, ratio, "equal")).startswith("equal within 30%, ratio 1.20 [1.10, 1.29]")


def test_a_claim_of_several_levels_is_equal_where_one_is_and_none_is_against_it() -> None:
    """mimalloc is 1.2x faster at one thread and 1.5x at four, and 20% would not matter."""
    (answer,) = found(asked(claim=">= 1.2", margin=0.3), blocks=12).values()
    assert answer.verdict == "equal" and "not shown at threads=1" in statements.answer(answer)


def test_few_blocks_and_missing_levels_claim_nothing() -> None:
    (answer,) = found(asked(), blocks=5).values()
    assert answer.verdict == "open" and answer.ratio.low is None and "too few" in statements.answer(answer)
    (answer,) = found(asked(a={"allocator": "hoard"})).values()
    assert answer.verdict == "not on this machine" and "allocator=hoard" in statements.answer(answer)
    made = answers(frame([], EXPERIMENT), EXPERIMENT, asked())
    assert [(answer.verdict, answer.why) for answer in made] == [("not on this machine", "no launch was made")]
    with pytest.raises(UsageError, match="machine cannot be compared"):
        found(asked(a={"machine": "x"}))


def test_a_level_that_mostly_failed_is_left_out_and_a_block_that_lost_one_is_too() -> None:
    def change(c: Configuration, block: int) -> dict[str, object]:
        dead = c["load"] == 16 and c["allocator"] == "mimalloc"
        once = block == 2 and c["load"] == 1 and c["threads"] == 1
        return {"status": "failed", "exit_code": 1} if dead or once else {}

    made = records(EXPERIMENT, seconds, 8, noise=0, change=change)
    (answer,) = answers(frame(made, EXPERIMENT), EXPERIMENT, asked())
    assert answer.ratio.n == 7 and answer.ratio.estimate == pytest.approx(math.sqrt(1.2 * 1.5))
    assert answer.extremes and all("load=16" not in at for at, _ in answer.extremes)
    assert answer.verdict == "open", "at the level that was left out it may well not hold"
    assert answer.failed == ("threads=1 load=16", "threads=4 load=16")
    assert "because launches failed: threads=1 load=16" in statements.answer(answer)
    by_threads = answers(frame(dead_at_four(), EXPERIMENT), EXPERIMENT, asked(each=("threads",)))
    assert [(each.at["threads"], each.verdict) for each in by_threads] == [(1, "holds"), (4, "not on this machine")]
    (answer,) = answers(frame(dead_at_four(), EXPERIMENT), EXPERIMENT, asked(where={"threads": "max"}))
    assert answer.verdict == "not on this machine" and "threads=max" in answer.why


def dead_at_four() -> list[Record]:
    """Every launch on four threads fails."""

    def change(c: Configuration, block: int) -> dict[str, object]:
        return {"status": "failed", "exit_code": 1} if c["threads"] == 4 else {}

    return records(EXPERIMENT, seconds, 8, noise=0, change=change)


def test_flat_overhead_comes_back_with_an_interval() -> None:
    made = weak(records(EXPERIMENT, seconds, 12), EXPERIMENT, Weak())
    assert made.refusal == "" and len(made.lines) == 4
    for line in made.lines:
        scale = seconds(Configuration((("threads", line.p), ("load", 1), *line.levels))) / (FLAT + EACH)
        a, b = line.fit.parameters["a"], line.fit.parameters["b"]
        assert a.estimate == pytest.approx(FLAT * scale, rel=0.1) and a.low is not None
        assert b.estimate == pytest.approx(EACH * scale / line.p, rel=0.1)
        assert "x work" in statements.flat(line)


def test_the_intervals_of_flat_overhead_cover_it() -> None:
    one = EXPERIMENT.model_copy(update={"factors": EXPERIMENT.factors[:2]})

    def plain(c: Configuration) -> float:
        return FLAT + EACH * float(c["load"])

    hits = [
        line.fit.parameters["a"].covers(FLAT)
        for seed in range(25)
        for line in weak(records(one, plain, 10, seed=seed), one, Weak()).lines
    ]
    assert np.mean(hits) >= 0.8, "50 intervals at 95%: fewer than 40 would be one chance in a million"


def test_weak_efficiency_is_of_equal_times() -> None:
    found = scan(records(EXPERIMENT, seconds, 8, noise=0), EXPERIMENT)
    row = next(row for row in found.rows if row.p == 4 and row.configuration["allocator"] == "system")
    assert row.efficiency.estimate == pytest.approx(1 / 1.3) and row.speedup.estimate == pytest.approx(4 / 1.3)
    assert {curve.choice for curve in found.curves} == {None}, "the models are about the same work at every p"
    said = headline.scan(found, 0.95)
    most = sum(row.p == max(row.p for row in found.rows) for row in found.rows)
    assert "weak scaling: efficiency" in said and f", the least of {most}" in said


def test_uneven_work_is_not_called_weak_scaling() -> None:
    uneven = EXPERIMENT.model_copy(update={"derived": {"work": "load"}})
    with pytest.raises(UsageError, match=r"not constant .*1 at p = 1 and 0\.25 at p = 4"):
        must_be_even(uneven, "--weak")
    reported = [replace(r, work=100.0) for r in records(EXPERIMENT, seconds, 8)]
    found = scan(reported, EXPERIMENT)
    assert found.weak and "the program reports, 100 at p = 1 and 25 at p = 4" in found.weak.refusal
    assert headline.scan(found, 0.95).startswith("this is not weak scaling")


def test_rounding_to_whole_cells_is_still_even() -> None:
    derived = {"side": "isqrt(10007 * threads * load)", "work": "side * side"}
    rounded = EXPERIMENT.model_copy(update={"derived": derived})
    must_be_even(rounded, "--weak")


def test_several_machines_become_a_factor_and_are_never_paired() -> None:
    here = records(EXPERIMENT, seconds, 6, noise=0)
    there = records(EXPERIMENT, lambda c: 3 * seconds(c), 7, noise=0)
    parts = [Part("here", EXPERIMENT, here), Part("there", EXPERIMENT, there), Part("here", EXPERIMENT, here)]
    experiment, made = together(parts)
    finding = asked(each=("threads",))
    experiment = shown_by(experiment, outputs=(finding,))
    rows = frame(made, experiment)
    assert set(rows["machine"]) == {"here", "there"}
    assert rows.groupby("machine")["replicate"].max().to_dict() == {"here": 12, "there": 7}
    said = study(made, experiment)
    assert {(a.at["machine"], a.ratio.n) for a in said.answers if isinstance(a, Answer)} == {("here", 12), ("there", 7)}
    assert {a.verdict for a in said.answers} == {"holds"}
    assert {dict(curve.levels)["machine"] for curve in said.found.curves} == {"here", "there"}
    assert len(said.found.rows) == 2 * len(configurations(EXPERIMENT))


def test_comparisons_on_one_machine_are_one_with_more_blocks() -> None:
    once = records(EXPERIMENT, seconds, 6, noise=0)
    for verb, kept in (("compare", "compare"), ("scan", "scan"), ("tune", "study")):
        parts = [Part("here", EXPERIMENT.model_copy(update={"verb": verb}), once)] * 2
        joined, made = together(parts)
        assert (joined.verb, len({r.block for r in made})) == (kept, 12)
        assert ("machine" in {factor.name for factor in joined.factors}) == (kept == "study")


def test_runs_of_different_factors_are_not_seen_together() -> None:
    other = EXPERIMENT.model_copy(update={"factors": EXPERIMENT.factors[:1]})
    with pytest.raises(UsageError, match="cannot be seen together"):
        together([Part("a", EXPERIMENT, []), Part("b", other, [])])


def test_a_program_may_lie_elsewhere_on_another_machine_but_not_on_the_same() -> None:
    command = EXPERIMENT.commands[0]
    moved = command.model_copy(update={"argv": (f"/opt/{command.argv[0]}", *command.argv[1:])})
    elsewhere = EXPERIMENT.model_copy(update={"commands": (moved, *EXPERIMENT.commands[1:])})
    together([Part("a", EXPERIMENT, []), Part("b", elsewhere, [])])
    with pytest.raises(UsageError, match=r"cannot be seen together: .* and .*/opt/"):
        together([Part("a", EXPERIMENT, []), Part("a", elsewhere, [])])


def test_extremes_are_those_of_all_levels_where_an_answer_is_about_one() -> None:
    normalise = {"to": {"threads": "min"}, "within": ("allocator", "load")}
    finding = asked(
        a={"load": "min"}, b={"load": "above min"}, where={"threads": "above min"}, each=("threads",),
        normalise=normalise, claim="0.95 to 1.05",
    )  # fmt: skip
    said = found(finding, noise=0)
    assert said[(4,)].ratio.estimate == pytest.approx(1.0) and said[(4,)].verdict == "holds"
    assert (1,) not in said, "the finding asks for more than one thread"
