# SPDX-License-Identifier: Apache-2.0
"""A race that listens to a ledger: fewer launches to the same answer, and none lost where the ledger is wrong."""

import pytest

from corescale import native
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.explain.changes import chances
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.race.race import Race
from corescale.declare import command_line
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.request import TuneRequest
from corescale.records import Configuration
from support.play import MACHINE, play

PROGRAM = [str(native.find("ant_colony"))]
ALONE = {"allocator", "OMP_WAIT_POLICY", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "bind"}
FEW = ("threads", "allocator", "OMP_WAIT_POLICY")
"""factors enough for a race"""


def tuning(shares: dict[str, float] | None, budget: str = "none") -> Experiment:
    """The experiment of this ledger; None for none."""
    request = TuneRequest(budget=budget)
    whole = command_line.tune(request, PROGRAM, MACHINE)
    if shares is None:
        return whole
    found = chances(space.USUAL, dict.fromkeys(LedgerRow, 0.0) | shares, compared=True)
    return command_line.tune(request, PROGRAM, MACHINE, unlikely={c.factor: c.why for c in found if not c.likely})


def changes(experiment: Experiment, chosen: Configuration) -> set[str]:
    now = dict(baseline(experiment).levels)
    return {name for name, level in chosen.levels if level != now[name]}


def test_what_can_hardly_matter_has_each_level_alone() -> None:
    experiment = tuning({"computing": 0.985, "allocating": 0.015})
    changed = [changes(experiment, c) for c in configurations(experiment)[1:]]
    for factor in experiment.factors:
        if factor.name in ALONE:
            assert [one for one in changed if factor.name in one] == [{factor.name}] * (len(factor.levels) - 1)
    assert sum("threads" in one for one in changed) == 2
    assert len(configurations(experiment)) < len(configurations(tuning(None))) / 4


def test_what_may_matter_is_raced_beside_all_that_may() -> None:
    experiment = tuning({"allocating": 0.2})
    changed = [changes(experiment, c) for c in configurations(experiment)]
    levels = {c["allocator"] for c in configurations(experiment)}
    assert levels == {c["allocator"] for c in configurations(tuning(None))}
    assert {"threads", "allocator"} in changed
    assert not any({"OMP_WAIT_POLICY", "allocator"} <= one for one in changed)


def test_a_change_may_give_back_all_of_its_rows_and_an_allocator_a_part() -> None:
    """A race decides differences of 2%."""
    shares = dict.fromkeys(LedgerRow, 0.0) | {"allocating": 0.04, "inflated computing": 0.03, "spinning": 0.01}
    names = ("allocator", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "bind", "OMP_WAIT_POLICY")
    assert [c.likely for c in chances(names, shares, compared=True)] == [False, False, True, True, False]


def test_what_other_programs_took_hides_nothing() -> None:
    """Half of the time waits for a core: what allocates is then twice its share of the rest."""
    shares = dict.fromkeys(LedgerRow, 0.0) | {"allocating": 0.03}
    found = [chances(("allocator",), shares | {"waiting for a core": part}, compared=True) for part in (0.0, 0.5, 1.0)]
    assert [each[0].likely for each in found] == [False, True, True]


def test_what_only_later_threads_read_cannot_matter_to_one_thread() -> None:
    names = ("allocator", "MALLOC_ARENA_MAX", "OMP_WAIT_POLICY")
    found = [chances(names, dict.fromkeys(LedgerRow, 0.1), compared=True, one_thread=one) for one in (False, True)]
    assert [[c.likely for c in each] for each in found] == [[True, True, True], [True, False, False]]


def test_what_the_ledger_does_not_know_may_matter() -> None:
    names = ("threads", "allocator", "bind", "MALLOC_CONF")
    found = chances(names, dict.fromkeys(LedgerRow, 0.0), compared=False)
    assert [c.likely for c in found] == [True, False, True, False]


@pytest.mark.parametrize(("row", "gaining"), [
    ("allocating", "allocator"), ("barrier and join wait", "OMP_WAIT_POLICY"), ("computing", ""),
    ("computing", "allocator"),
])  # fmt: skip
def test_the_answer_is_as_fast_by_fewer_launches(row: str, gaining: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """15% by each other level of a factor: as the ledger has it, by nothing, and where it has none of it."""
    monkeypatch.setattr(space, "USUAL", FEW)

    def truth(c: Configuration) -> float:
        now = dict(baseline(whole).levels)
        gain = 0.15 if gaining and c.get(gaining) != now[gaining] else 0.0
        return {1: 2.5, 2: 1.5, 4: 1.0}[c.layout.p] * (1 - gain)

    whole, some = tuning(None), tuning({row: 0.5})
    made = [play(e, truth, Race(e), noise=0.01) for e in (whole, some)]
    times = [truth(recommend(records, e).chosen) for e, records in zip((whole, some), made, strict=True)]
    assert times[1] == pytest.approx(times[0])
    assert len(made[1]) < 0.7 * len(made[0])


@pytest.mark.parametrize("together", [False, True])
def test_a_gain_that_no_row_shows_is_found_unless_only_two_changes_together_give_it(
    together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of it: a ledger that misleads, and a gain that needs two changes."""
    monkeypatch.setattr(space, "USUAL", FEW)
    whole, some = tuning(None), tuning({"computing": 1.0})
    wanted = {"OMP_WAIT_POLICY": "passive"} | ({"allocator": "jemalloc"} if together else {})

    def truth(c: Configuration) -> float:
        gaining = all(c.get(name) == level for name, level in wanted.items())
        return {1: 2.5, 2: 1.5, 4: 1.0}[c.layout.p] * (0.85 if gaining else 1.0)

    times = [truth(recommend(play(e, truth, Race(e), noise=0.01), e).chosen) for e in (whole, some)]
    assert times == pytest.approx([0.85, 1.0 if together else 0.85])


def test_rows_that_promise_what_nothing_gives_back_cost_launches_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "USUAL", FEW)

    def truth(c: Configuration) -> float:
        return {1: 2.5, 2: 1.5, 4: 1.0}[c.layout.p]

    misled, right = tuning({"allocating": 0.3, "barrier and join wait": 0.3}), tuning({"computing": 1.0})
    made = [play(e, truth, Race(e), noise=0.01) for e in (misled, right)]
    times = [truth(recommend(records, e).chosen) for e, records in zip((misled, right), made, strict=True)]
    assert times == [1.0, 1.0]
    assert len(made[0]) > len(made[1])
