# SPDX-License-Identifier: Apache-2.0
"""Timelines and serial stretches: each moment of a thread has one row, and what was gathered stands before its end."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.conclude.explain.explanation import Line, Stretch, lines, rows_over_time, stretches, worked
from corescale.conclude.explain.rows import ROW_OF
from corescale.profile import SHARES, STATES, Event, Place, Profile


def profile(*events: Event, **other: object) -> Profile:
    usual = Profile(
        1, "/p", 2, 1.0, finished=True, shares=dict.fromkeys(SHARES, 0.0), threads=(), lost_threads=0, stacks=(),
        events=events,
    )  # fmt: skip
    return replace(usual, **other)  # type: ignore[arg-type]


def of_threads(profiles: Sequence[Profile], parts: int) -> tuple[Line, ...]:
    """Of a second."""
    return lines(worked(profiles, 1.0, parts), 1.0, parts)


def drawn(*events: Event, parts: int = 10) -> str:
    (line,) = of_threads([profile(*events)], parts)
    return "".join((row or " ")[0] for row in line.rows)


def test_what_used_the_cpu_is_laid_around_a_wait() -> None:
    """0.4 s of computing until 0.8, in the midst of which a lock was waited for from 0.4 to 0.6."""
    assert drawn(Event(7, "computing", 0.8, 0.4), Event(7, "locking", 0.6, 0.2)) == "  ccllcc  "


def test_a_thread_off_the_cpu_is_blank() -> None:
    assert drawn(Event(7, "computing", 0.2, 0.2), Event(7, "allocating", 1.0, 0.1)) == "cc       a"


def test_ranks_share_one_clock() -> None:
    early = profile(Event(1, "computing", 0.5, 0.5), started=10.0)
    late = profile(Event(2, "computing", 0.5, 0.5), started=10.5, process=2)
    first, second = of_threads([early, late], 4)
    assert (first.rows, second.rows) == (("computing", "computing", None, None), (None, None, "computing", "computing"))


def test_rows_over_time_count_also_what_has_no_part_of_a_line() -> None:
    """A thread that waits for MPI for 40% of each tenth of a second is drawn as computing, and counted as both."""
    waits = [event for k in range(1, 11) for event in (
        Event(1, "message", k / 10, 0.04), Event(1, "computing", k / 10, 0.06), Event(2, "computing", k / 10, 0.1)
    )]  # fmt: skip
    seen = worked([profile(*waits)], 1.0, 60)
    found = rows_over_time(seen, 1.0, 60)
    means = {row: sum(threads) / len(threads) for row, threads in found.items()}
    assert means == {"computing": pytest.approx(1.6), "MPI": pytest.approx(0.4)}
    assert {row for line in lines(worked([profile(*waits)], 1.0, 10), 1.0, 10) for row in line.rows} == {"computing"}


moments = st.builds(Event, st.integers(1, 3), st.sampled_from(STATES[:-2]), st.floats(0, 1.5), st.floats(0, 2))


@given(st.lists(moments, max_size=40), st.integers(1, 50))
def test_whatever_was_seen_each_part_has_one_row(events: list[Event], parts: int) -> None:
    for line in of_threads([profile(*events)], parts):
        assert len(line.rows) == parts
        assert {*line.rows} <= {*ROW_OF.values(), None}


PLACES = {1: Place("merge", "m.cpp", 15, "/bin/app"), 2: Place("parse", "p.cpp", 9, "/bin/app")}


def test_a_serial_stretch_is_named_by_the_place_that_computed() -> None:
    events = (Event(1, "computing", 0.05, 0.05, (1,)), Event(1, "computing", 0.1, 0.05, (2,)))
    busy = (2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 2.0)
    found = stretches([(profile(*events), PLACES.__getitem__)], busy, 0.01, wall=0.1)
    assert found == (Stretch(found[0].start, found[0].length, "m.cpp:15 merge"),)
    assert (found[0].start, found[0].length) == pytest.approx((0.02, 0.03))


def test_a_serial_stretch_ends_with_the_launch() -> None:
    (found,) = stretches([(profile(), PLACES.__getitem__)], (0.0,) * 5, 0.01, wall=0.046)
    assert found.length == pytest.approx(0.046)
