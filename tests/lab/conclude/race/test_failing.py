# SPDX-License-Identifier: Apache-2.0
"""What failed: what is named instead, what is said of it, and when that is no more than chance."""

from dataclasses import replace

import pytest

from corescale.cli.output import exit_code
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.race.lost import lost, may_be_chance
from corescale.conclude.race.race import race
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.errors import ExitCode
from corescale.records import Record
from corescale.show.headline import recommendation
from support.fresh import fresh, measured, scattered, tuning
from support.play import record


def test_what_fails_while_it_is_confirmed_is_not_recommended_and_the_first_line_says_so() -> None:
    experiment = tuning()
    now, b, c = configurations(experiment)
    records = measured(experiment, {"a": 1.0, "b": 0.8, "c": 0.9})
    failing = [record(now, 1.0, phase="confirm", block=900),
               record(b, 0.1, phase="confirm", block=900, status="failed", exit_code=1, tail="no")]  # fmt: skip
    block = race(experiment)([*records, *failing])
    assert block is not None and block.configurations == (now, c)
    answer = recommend([*records, *failing, *fresh((now, c), scattered(1.1, 0.003, 6))], experiment)
    assert answer.chosen == c
    assert recommendation(answer).endswith("; threads=1 MODE=b failed with exit code 1: no while it was confirmed")


def flaky_today(bad: int, count: int, other: float = 1.0) -> tuple[Experiment, list[Record]]:
    """Today's launch failed in so many of 60, b and c never, launched so often, b at this multiple of today's time."""
    experiment = tuning()
    now, b, c = configurations(experiment)
    ended = [{"status": "failed", "exit_code": 1} if k < bad else {} for k in range(60)]
    records = [record(now, 1.0, block=k, **how) for k, how in enumerate(ended)]
    records += [record(one, other * (1.0 if one == b else 1.1), block=k) for k in range(count) for one in (b, c)]
    return experiment, [*records, *fresh((now, b), scattered(1 / other, 0.003, 6), 2000)]


def test_todays_launch_is_replaced_where_it_is_shown_to_fail_more_often() -> None:
    """12 of 66 and none of 26: 1.4% by Fisher's exact test."""
    experiment, records = flaky_today(12, 20, 1.03)
    answer = recommend(records, experiment)
    assert answer.chosen == configurations(experiment)[1] and exit_code(answer) == ExitCode.OK
    assert answer.flaky is None, "today's launch is no other one that looked faster"
    assert recommendation(answer).startswith(
        "threads=1 MODE=b is the fastest that did not fail, and today's launch failed in 12 of 66 launches, "
        "and this one in none of 26; it takes 1.030x"
    )


@pytest.mark.parametrize(("bad", "count"), [(2, 8), (2, 60), (2, 100), (1, 800)])
def test_failures_that_may_be_chance_replace_nothing(bad: int, count: int) -> None:
    """Also where the other one was launched as often or more; both counts are said."""
    experiment, records = flaky_today(bad, count)
    answer = recommend(records, experiment)
    assert answer.chosen == configurations(experiment)[0] and not answer.decided
    assert exit_code(answer) == ExitCode.INCONCLUSIVE
    assert recommendation(answer).startswith(
        "not decided: threads=1 MODE=b is the fastest that did not fail, "
        f"and today's launch failed in {bad} of 66 launches, and this one in none of {count + 6}, which may be chance"
    )


def test_what_failed_and_was_passed_over_counts_in_the_test_of_todays_failures() -> None:
    """The one that never failed is chosen among all: 12 of 66 and none of 26 are 1.4%, of four 5.5%."""
    experiment, records = flaky_today(12, 20, 1.03)
    _, b, c = configurations(experiment)
    assert not may_be_chance(records, experiment, b)
    failed = [record(replace(c, levels=(("MODE", k),)), 1.0, block=k, status="failed", exit_code=1) for k in range(3)]
    assert may_be_chance([*records, *failed], experiment, b)


def test_where_todays_launch_breaks_a_constraint_its_failures_leave_nothing_undecided() -> None:
    """It is no answer, however often it fails."""
    experiment = tuning(metric=["bytes=stdout-size"], subject_to=["bytes<=10"])
    now = configurations(experiment)[0]
    _, records = flaky_today(2, 60)
    records = [replace(r, metrics={"bytes": 20.0 if r.configuration == now else 1.0} if r.ok else {}) for r in records]
    answer = recommend(records, experiment)
    assert answer.broken is not None and answer.failing is not None
    assert answer.chosen == answer.winner != now and answer.decided and not answer.by_chance


def test_one_failure_is_enough_where_the_other_one_is_shown_to_be_faster() -> None:
    experiment, records = flaky_today(1, 8, 0.9)
    answer = recommend(records, experiment)
    assert answer.chosen == configurations(experiment)[1] and answer.decided and not answer.by_chance
    said = recommendation(answer)
    assert said.startswith("1.1") and " faster than today's [" in said
    assert said.endswith("; today's launch failed in 1 of 66 launches, and this one in none of 14")


def test_what_looked_faster_and_failed_in_the_race_is_named_in_the_first_line() -> None:
    """It would have been the answer, and a person may want it nevertheless."""
    experiment = tuning()
    now, b, c = configurations(experiment)
    records = measured(experiment, {"a": 1.0, "b": 0.95, "c": 0.9})
    number = records[-1].block + 1
    records += [record(one, 0.9 if one == c else 1.0, block=number + k) for k in range(10) for one in (now, c)]
    records += [record(c, 0.1, block=number + 10, status="failed", exit_code=1, tail="no")]
    answer = recommend([*records, *fresh((now, b), scattered(1.05, 0.003, 6), 2000)], experiment)
    launches = sum(r.configuration == c for r in records)
    assert answer.chosen == b
    assert recommendation(answer).endswith(
        f"; threads=1 MODE=c looked 1.11x faster and failed in 1 of {launches} launches"
    )
    slower = [replace(r, wall=1.2) if r.configuration == c else r for r in records]
    assert recommend([*slower, *fresh((now, b), scattered(1.05, 0.003, 6), 2000)], experiment).flaky is None


@pytest.mark.parametrize(("killed", "launches", "out"), [(1, 1, False), (2, 2, True), (2, 3, True), (2, 4, False),
                                                          (5, 10, False), (6, 10, True)])  # fmt: skip
def test_what_was_killed_has_lost_where_it_was_more_than_once_and_in_more_than_half(
    killed: int, launches: int, out: bool
) -> None:
    """The best of all has bursts too."""
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    ended = ["capped" if k < killed else "ok" for k in range(launches)]
    records = [record(b, 3.0 if how == "capped" else 1.0, block=k, status=how) for k, how in enumerate(ended)]
    assert lost([record(now, 1.0), *records], experiment) == ({b} if out else set())
