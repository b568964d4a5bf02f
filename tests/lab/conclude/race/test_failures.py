# SPDX-License-Identifier: Apache-2.0
"""Launches that fail in a race: what is eliminated, what stays, and what the answer says of it."""

import dataclasses

import pytest

from corescale.conclude.answers.candidates import baseline_failures
from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.race.race import Race
from corescale.conclude.stats import Interval
from corescale.declare.grid import configurations
from corescale.show.headline import recommendation
from corescale.show.naming import label
from support import samples
from support.fresh import fresh, measured, scattered, tuning
from support.play import after, record

TIMES = {"a": 1.0, "b": 0.9, "c": 0.93}


def test_what_fails_is_launched_no_more_and_the_next_best_is_confirmed() -> None:
    experiment = tuning()
    now, b, c = configurations(experiment)
    failing = [
        record(now, 1.0, phase="confirm", block=900),
        record(b, 0.1, phase="confirm", block=900, order=1, status="failed", exit_code=1),
    ]
    records = [*measured(experiment, TIMES), *failing]
    block = after(Race(experiment), records)
    assert block is not None and set(block.configurations) == {now, c}
    assert Race.of(records, experiment).answer().eliminated == {b: "failed"}


def test_where_launches_may_fail_those_that_do_give_no_time_and_most_of_them_must_fail_to_exclude_one() -> None:
    strict = tuning()
    experiment = strict.model_copy(update={"ignore_failure": True})
    now, b, c = configurations(experiment)
    failed = {(now, 1), (b, 0), *((c, block) for block in range(3))}
    records = [
        record(one, 0.001 if (one, block) in failed else TIMES[name], block=block, order=order,
               **({"status": "failed", "exit_code": 1} if (one, block) in failed else {}))
        for block in range(6) for order, (name, one) in enumerate(zip(TIMES, (now, b, c), strict=True))
        if one != c or block < 3
    ]  # fmt: skip
    assert Race.of(records, strict).answer().eliminated == dict.fromkeys((now, b, c), "failed")
    assert Race.of(records, experiment).answer().eliminated == {c: "failed"}
    answer = recommend(records, experiment)
    assert answer.failing is None
    assert {one.configuration: one.excluded is None for one in answer.candidates} == {now: True, b: True, c: False}
    assert {one.configuration: one.failed for one in answer.candidates} == {now: (1, 6), b: (1, 6), c: (3, 3)}
    assert [round(one.time.estimate, 3) for one in answer.candidates[:2]] == [0.9, 1.0], "failed launches give no time"


def test_where_launches_may_fail_the_baseline_stays_and_the_first_line_counts_its_failures() -> None:
    experiment = tuning("a,b", ignore_failure=True)
    now, b = configurations(experiment)
    ended = [{"status": "failed", "exit_code": 1} if k % 3 else {} for k in range(6)]
    records = [record(c, 1.0 if c == now else 0.7 + k / 1000, block=k, **(ended[k] if c == now else {}))
               for k in range(6) for c in (now, b)]  # fmt: skip
    assert not Race.of(records, experiment).answer().eliminated
    for ratio, line in ((1.4, "1.400x faster than "), (0.7, "keep ")):
        answer = recommend([*records, *fresh((now, b), scattered(ratio, 0.003, 10))], experiment)
        assert recommendation(answer).startswith(line)
        assert f"; {label(now)} failed in 4 of 16 launches" in recommendation(answer)
        assert not any(one.excluded for one in answer.candidates)
    never = [r for r in records if r.configuration == b or not r.ok]
    assert Race.of(never, experiment).answer().eliminated == {now: "failed"}
    known = recommend([*never, *fresh((now, b), scattered(1.4, 0.003, 10))], experiment)
    assert not any(one.excluded for one in known.candidates), "it succeeded in pairs"


@pytest.mark.parametrize("pairs", [None, 10])
def test_a_baseline_that_never_works_has_no_pairs(pairs: int | None) -> None:
    experiment = tuning(ignore_failure=True)
    stop = experiment.stop.model_copy(update={"confirm_pairs": pairs})
    experiment = experiment.model_copy(update={"stop": stop})
    now, *_ = configurations(experiment)
    race, phases = Race(experiment), list[str]()
    while (block := race.next_block()) is not None:
        for order, c in enumerate(block.configurations):
            how = {"status": "signal", "exit_code": 9} if c == now else {}
            time = TIMES[str(c["MODE"])] * (1 + (len(phases) % 3) / 1000)
            race.add(record(c, time, phase=block.phase, block=len(phases), order=order, **how))
        phases.append(block.phase)
    assert "confirm" not in phases and race.answer().proved
    assert race.answer().leader["MODE"] == "b" and race.answer().eliminated == {now: "failed"}


def flaky(bad: int, count: int) -> Race:
    """The baseline failed in so many of 66, b and c never, launched so often."""
    experiment = tuning()
    now, b, c = configurations(experiment)
    ended = [{"status": "failed", "exit_code": 1} if k < bad else {} for k in range(60)]
    records = [record(now, 1.0, block=k, **how) for k, how in enumerate(ended)]
    records += [record(one, 1.03 if one == b else 1.1, block=k) for k in range(count) for one in (b, c)]
    return Race.of([*records, *fresh((now, b), scattered(1 / 1.03, 0.003, 6), 2000)], experiment)


@pytest.mark.parametrize(("bad", "count", "chance"), [(12, 20, False), (2, 8, True), (2, 100, True), (1, 400, True)])
def test_failures_of_the_baseline_are_judged_by_fishers_test(bad: int, count: int, chance: bool) -> None:
    race = flaky(bad, count)
    b = configurations(race.experiment)[1]
    said = f"failed in {bad} of 66 launches"
    assert baseline_failures(race.records, race.experiment, b) == (said, chance)
    answer = recommend(race.records, race.experiment)
    assert (answer.chosen == race.now) == chance and answer.decided != chance
    headline = recommendation(answer)
    assert (headline.startswith("not decided")) == chance
    assert f"{bad} of 66" in headline and "this one" not in headline
    assert not chance or f"{label(b)} in 0 of {count + 6}" in headline, headline


def test_what_replaces_a_failing_baseline_and_its_cost_have_one_name() -> None:
    found = samples.tune_result().conclusion
    assert isinstance(found, Recommendation)
    cost = dataclasses.replace(found, failing="failed in 5 of 16 launches", gain=Interval(0.664, 0.66, 0.67, 0.95, 10))
    said = recommendation(cost)
    name = label(found.winner)
    assert said.startswith(f"{name} is the fastest that never failed; ") and " failed in 5 of 16 launches; " in said
    assert f"; {name} is 0.664x [0.660, 0.670] as fast" in said
