# SPDX-License-Identifier: Apache-2.0
"""What a budget in time counts: launches, what comes between them, and no pause."""

import pytest

from corescale.conclude import budget as of
from corescale.conclude.budget import Budget
from corescale.declare.grid import configurations
from corescale.declare.plan import Block
from corescale.records import Record
from support.play import race_tuning, record

EXPERIMENT = race_tuning(budget="9s")


def budget(records: list[Record], seconds: float = 9.0) -> Budget:
    """After these records."""
    made = Budget(EXPERIMENT.stop.model_copy(update={"budget": seconds}), configurations(EXPERIMENT)[0])
    for one in records:
        made.add(one)
    return made


LAUNCHES, WALL, BETWEEN = 20, 0.2, 0.05


def made(count: int = LAUNCHES, pause: float = 0.0, start: float = 1e9) -> list[Record]:
    """Launches one after the other, a pause in their middle."""
    now = configurations(race_tuning(budget="9s"))[0]
    starts = [start + k * (WALL + BETWEEN) + (pause if k >= count // 2 else 0) for k in range(count)]
    return [record(now, WALL, started=at, block=k) for k, at in enumerate(starts)]


def test_time_between_launches_is_spent() -> None:
    assert budget([]).spent == 0
    assert budget(made(1)).spent == pytest.approx(WALL)
    assert budget(made()).spent == pytest.approx(LAUNCHES * WALL + (LAUNCHES - 1) * BETWEEN)


@pytest.mark.parametrize("pause", [60.0, 1e6])
def test_a_pause_of_the_run_does_not_count(pause: float) -> None:
    assert budget(made(pause=pause)).spent == pytest.approx(budget(made()).spent - BETWEEN)


def test_slow_hooks_are_no_pause() -> None:
    now = configurations(race_tuning(budget="9s"))[0]
    assert budget([record(now, 1.0, started=31.0 * k) for k in range(5)]).spent == pytest.approx(5 + 4 * 30)


def proved(proof: float, blocks: int = 3) -> list[Record]:
    """Blocks of two configurations of 0.2 s; before each new one of the first block goes a proof."""
    chosen, at = configurations(race_tuning(budget="9s")), 1e9
    records: list[Record] = []
    for number in range(blocks):
        new = [*chosen[:2], *chosen[2 * number + 2 : 2 * number + 4]] if number < 2 else list(chosen[:2])
        at += proof * len({*new} - {one.configuration for one in records})
        for one in new:
            records.append(record(one, WALL, started=at, block=number))
            at += WALL + BETWEEN
    return records


def test_a_proof_is_counted_for_what_is_new_and_for_nothing_else() -> None:
    """Two new ones in the second block, none in the third; confirmation pairs of known ones need no proof."""
    records = proved(1.5)
    assert budget(records).between == pytest.approx(BETWEEN)
    assert budget(records).proving == pytest.approx(1.5)
    assert budget(proved(0.0)).proving == pytest.approx(0.0)
    used = budget(records).spent
    for left, first, too_long in ((0.6, 0, False), (0.6, 20, True), (4.0, 20, False)):
        block = Block("measure", configurations(EXPERIMENT)[first : first + 2])
        assert budget(records, used + left).has_time(block.configurations) != too_long


def test_long_proofs_before_a_block_are_no_pause() -> None:
    """Twenty seconds for two new configurations of a program of 6 s; before a block of known ones they are a pause."""
    chosen = configurations(race_tuning(budget="9s"))
    first = [record(chosen[0], 6.0, started=0.0), record(chosen[1], 6.0, started=6.0)]
    for new, counted in ((chosen[2:4], 20.0), (chosen[:2], 0.0)):
        later = [record(c, 6.0, started=32.0 + 6 * k, block=1) for k, c in enumerate(new)]
        assert budget([*first, *later]).spent == pytest.approx(24.0 + counted)


def test_the_next_block_takes_its_gaps_as_well() -> None:
    """Two launches of 0.2 s and what comes between, where 0.45 s are left, and 0.6 s."""
    used = budget(made()).spent
    for left, too_long in ((0.45, True), (0.6, False)):
        assert budget(made(), used + left).has_time(configurations(EXPERIMENT)[:2]) != too_long


def test_a_clock_counts_what_records_do_not_see() -> None:
    """Start-up, and proofs that the launcher knows of."""
    known = budget(made(), 60.0)
    assert known.seconds == pytest.approx(60 - known.spent)
    known.begin(lambda: 40.0, lambda some: 2 * len(some))
    assert known.seconds == pytest.approx(60 - LAUNCHES * WALL - 40 - of.ENDING)
    new = configurations(EXPERIMENT)[1:3]
    assert known.takes(new) == pytest.approx(2 * (WALL + BETWEEN) + 4 * WALL)


def test_launches_that_are_left_keep_room_for_pairs() -> None:
    stop = EXPERIMENT.stop.model_copy(update={"budget": None, "launches": 50})
    known = Budget(stop, configurations(EXPERIMENT)[0])
    assert known.launches() == known.launches(10) == 50, "without a measuring block there is nothing to confirm"
    for one in made(10):
        known.add(one)
    assert (known.launches(), known.launches(10), known.launches(40)) == (40, 20, 15)


def test_what_launches_paid_is_what_counts_whenever_they_started() -> None:
    """Each of these waited a quarter of an hour for nodes, and that is the usual time between them."""
    now = configurations(EXPERIMENT)[0]
    records = [record(now, 1.0, started=901.0 * k, block=k, paid=1.5) for k in range(8)]
    known = budget(records, 600)
    assert known.spent == pytest.approx(8 * 1.5)
    assert known.between == pytest.approx(0.5)
    assert known.takes([now]) == pytest.approx(1.5)


def test_launches_at_once_pay_together() -> None:
    """Four at a time for 10 s: the first of them has to be waited for, and the others have ended by then."""
    now = configurations(EXPERIMENT)[0]
    records = [record(now, 10.0, started=10.0 * (k // 4), block=k // 4, paid=0.0 if k % 4 else 10.0) for k in range(20)]
    known = budget(records, 600)
    assert known.spent == pytest.approx(50)
    assert known.takes([now]) == pytest.approx(2.5)


def test_a_simulated_time_is_not_paid() -> None:
    now = configurations(EXPERIMENT)[0]
    slow, fast = 32.0, 0.001
    records = [record(now, wall, block=k, paid=4.0, origin="simulated") for k, wall in enumerate((slow, fast))]
    assert budget(records[:1], 600).takes([now]) == pytest.approx(4)
    known = budget(records, 600)
    assert known.spent == pytest.approx(8)
    assert known.takes([now]) == pytest.approx(4)
