# SPDX-License-Identifier: Apache-2.0
"""Seconds in the malloc family and in first touches of pages, from two sources: timed calls and ticks."""

import math
from collections.abc import Sequence

from corescale.conclude.explain.efficiency import useful
from corescale.conclude.stats import Interval, share
from corescale.profile import Profile

TICK = 0.01
"""seconds of a thread's own CPU time from one stack to the next; as `period` in probe/profiler/stacks.cpp"""


def allocating(profile: Profile) -> Interval:
    """The seconds of one program, with the interval from its ticks.

    There are many timed calls, but one that is shorter than a reading of the clock appears too long or too short. There
    are few ticks, but they are unbiased. So the sum of the timed calls is limited to the ticks' 95% interval (Wilson
    1927).
    """
    timed = sum(thread.allocating for thread in profile.threads)
    seen, others = (
        sum(stack.seconds.get(state, 0.0) for stack in profile.stacks) for state in ("allocating", "computing")
    )
    ticks = round((seen + others) / TICK)
    if not ticks:
        return Interval(timed, None, None, None, 0)
    cpu = sum(map(useful, profile.threads))
    found = share(min(ticks, round(seen / TICK)), ticks).map(lambda of_cpu: of_cpu * cpu)
    low, high = found.low or 0.0, found.high or 0.0
    return Interval(min(max(timed, low), high), low, high, 0.95, ticks)


def sampled(each: Sequence[Interval], booked: float) -> Interval | None:
    """The interval of the booked time, from the programs' intervals, whose errors are independent; None without
    ticks."""
    known = [(one, one.low, one.high) for one in each if one.low is not None and one.high is not None]
    below = math.hypot(*(one.estimate - low for one, low, _ in known))
    above = math.hypot(*(high - one.estimate for one, _, high in known))
    ticks = sum(one.n for one in each)
    return Interval(booked, max(0.0, booked - below), booked + above, 0.95, ticks) if known else None
