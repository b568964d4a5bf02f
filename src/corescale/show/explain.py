# SPDX-License-Identifier: Apache-2.0
"""The ledger of thread-seconds as a person reads it, and as JSON."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corescale.conclude.explain import Efficiency, Explanation, Ledger, Swap
from corescale.declare.catalogue.settings import SHORT

MOST_SITES = 3
"""call sites of a row on a terminal; --json has five"""
SHOWN = 0.0005
"""A row below this share is not shown."""

BAR = 50
"""characters of the whole time"""
LEVELS = " ▁▂▃▄▅▆▇█"

CHANGED = {
    "allocator": "the allocator",
    "GLIBC_TUNABLES": "the size of pages",
    "bind": "the placement",
    "OMP_WAIT_POLICY": "the wait policy",
}
"""What each swap changes, in words."""


def lines(found: Explanation, command: Sequence[str] = ()) -> Iterator[str]:
    """The table: a sentence, a line for each row with time in it, and what else the launch shows.

    `command`: as typed, for the next command.
    """
    ledger = found.ledger
    threads = "1 thread" if ledger.threads == 1 else f"{ledger.threads} threads"
    lost = max(0.0, ledger.threads - ledger.cores)
    yield (
        f"{threads} x {ledger.wall:.3g} s = {ledger.total:.3g} thread-seconds; "
        f"{ledger.cores:.2g} cores' worth used, {lost:.2g} lost"
    )
    for row, seconds in ledger.rows.items():
        if ledger.total and seconds / ledger.total >= SHOWN:
            text = "  ·  ".join(f"{site.place}  {site.share:.0%}" for site in found.sites.get(row, ())[:MOST_SITES])
            said = f"{_about(row, ledger)}{text}"
            yield f"  {row:<22}{seconds:>8.2f}{seconds / ledger.total:>7.1%}   {said}".rstrip()
    yield from (_swapped(swap, command) for swap in found.swaps)
    yield from _views(found)
    yield from (f"  note: {note}" for note in ledger.notes)


def _about(row: str, ledger: Ledger) -> str:
    if row == "computing" and ledger.compared:
        return "as at 1 thread   "
    if row == "inflated computing":
        return "the same work costs more than at 1 thread   "
    return ""


def _swapped(swap: Swap, command: Sequence[str]) -> str:
    level = SHORT.get(f"{swap.factor}={swap.level}", str(swap.level))
    changed = f"  swapping {CHANGED[swap.factor]} ({level})"
    low, high, n = swap.returned.low, swap.returned.high, swap.returned.n
    if low is None or high is None:
        return f"{changed} returns {swap.returned.estimate:.2f} of the {swap.booked:.2f} booked, by {n} pairs: too few"
    if high < 0:
        return f"{changed} costs {-swap.returned.estimate:.2f} [{-high:.2f}, {-low:.2f}]"
    said = f"{changed} returns {swap.returned.estimate:.2f} [{low:.2f}, {high:.2f}] of the {swap.booked:.2f} booked"
    if low <= 0:
        return f"{said}: nothing is shown"
    return f"{said}    try: {shlex.join(['corescale', 'tune', '-f', f'{swap.factor}=auto', '--', *command])}"


def _views(found: Explanation) -> Iterator[str]:
    ledger = found.ledger
    if ledger.burnt > 0.01 * ledger.total:
        yield f"  {ledger.burnt:.2f} s of the waits were spent on a CPU: spinning"
    if ledger.threads > 1 and ledger.efficiency is not None:
        yield f"  {_metrics(ledger.efficiency)}"
    yield from _cpus(found)
    for region in found.regions[:MOST_SITES]:
        times = region.times
        yield (
            f"  parallel region {region.place}: {times.calls} calls, {times.threads:.3g} threads, "
            f"load balance {times.balance:.2f}, {region.waited:.2f} s waited"
        )


def _cpus(found: Explanation) -> Iterator[str]:
    """How many CPUs were in use for how long, and when."""
    if not found.in_use:
        return
    yield "  CPUs in use, share of the time"
    for cpus, share in found.in_use.items():
        yield f"  {cpus:>6} {share:>4.0%} {'█' * round(share * BAR)}".rstrip()
    highest = max(found.ledger.threads, 1)
    steps = (min(round(cpus / highest * (len(LEVELS) - 1)), len(LEVELS) - 1) for cpus in found.over_time)
    yield f"  over the time, 0 to {highest}: {''.join(LEVELS[step] for step in steps)}".rstrip()


def _metrics(found: Efficiency) -> str:
    product = f"load balance {found.load_balance:.2f} x communication {found.communication:.2f}"
    scaling = found.computation_scaling
    return f"parallel efficiency {found.parallel:.2f} = {product}" + (
        "" if scaling is None else f"; computation scaling {scaling:.2f}"
    )


def as_json(found: Explanation) -> dict[str, Any]:
    """The same, with every row and every figure in full."""
    ledger = found.ledger
    rows = {
        row: {
            "seconds": seconds,
            "share": seconds / ledger.total if ledger.total else 0.0,
            "sites": [{"place": site.place, "share": site.share} for site in found.sites.get(row, ())],
        }
        for row, seconds in ledger.rows.items()
    }
    metrics = ledger.efficiency
    return {
        "threads": ledger.threads,
        "wall": ledger.wall,
        "thread_seconds": ledger.total,
        "cores_used": ledger.cores,
        "rows": rows,
        "spinning_in_waits": ledger.burnt,
        "efficiency": metrics and {
            "parallel": metrics.parallel,
            "load_balance": metrics.load_balance,
            "communication": metrics.communication,
            "computation_scaling": metrics.computation_scaling,
        },
        "cpus_in_use": {str(cpus): share for cpus, share in found.in_use.items()},
        "cpus_over_time": list(found.over_time),
        "regions": [
            {"place": region.place, "calls": region.times.calls, "threads": region.times.threads,
             "load_balance": region.times.balance, "wall": region.times.wall, "waited": region.waited}
            for region in found.regions
        ],
        "swaps": [
            {"factor": swap.factor, "level": swap.level, "booked": swap.booked, "returned": swap.returned.estimate,
             "low": swap.returned.low, "high": swap.returned.high, "pairs": swap.returned.n}
            for swap in found.swaps
        ],
        "notes": list(ledger.notes),
    }  # fmt: skip


def side_by_side(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Two results, as `as_json` has them: each row's thread-seconds then, now, and the difference."""
    yield f"  {'':<22}{'before':>16}{'now':>16}{'difference':>12}"
    for name in ("wall", "thread_seconds"):
        yield f"  {name.replace('_', '-'):<22}{before[name]:>16.2f}{now[name]:>16.2f}{now[name] - before[name]:>+12.2f}"
    for row, current in now["rows"].items():
        earlier = before["rows"][row]
        if max(earlier["share"], current["share"]) >= SHOWN:
            both = "".join(f"{one['seconds']:>9.2f}{one['share']:>7.1%}" for one in (earlier, current))
            yield f"  {row:<22}{both}{current['seconds'] - earlier['seconds']:>+12.2f}"
