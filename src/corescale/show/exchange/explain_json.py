# SPDX-License-Identifier: Apache-2.0
"""A result of explain as JSON values: what is kept, and what every other output is made from."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from corescale.conclude.explain.explanation import Explanation


def as_json(found: Explanation, command: Sequence[str] = ()) -> dict[str, Any]:
    """Every row and every figure in full: what is kept, and what every other output is made from.

    `command`: as typed, for the next command.
    """
    ledger = found.ledger
    rows = {
        row.value: {
            "seconds": seconds,
            "share": seconds / ledger.total if ledger.total else 0.0,
            "sites": [asdict(site) for site in found.sites.get(row, ())],
        }
        for row, seconds in ledger.rows.items()
    }
    metrics = ledger.efficiency
    return {
        "command": list(command),
        "threads": ledger.threads,
        "wall": ledger.wall,
        "thread_seconds": ledger.total,
        "cores_used": ledger.cores,
        "compared": ledger.compared,
        "rows": rows,
        "spinning_in_waits": ledger.burnt,
        "efficiency": metrics and {"parallel": metrics.parallel, **asdict(metrics)},
        "hotspots": [asdict(spot) for spot in found.hotspots],
        "serial_stretches": [asdict(one) for one in found.stretches],
        "timelines": [
            {**asdict(line), "rows": "".join(row.letter if row else " " for row in line.rows)} for line in found.lines
        ],
        "cpus_in_use": {str(cpus): share for cpus, share in found.in_use.items()},
        "cpus_over_time": list(found.over_time),
        "regions": [
            {"place": region.place, "calls": region.times.calls, "threads": region.times.threads,
             "load_balance": region.times.balance, "wall": region.times.wall, "waited": region.waited}
            for region in found.regions
        ],
        "messages": [{"rank": rank, **asdict(one)} for rank, one in found.messages],
        "swaps": [
            {"factor": swap.factor, "level": swap.level, "booked": swap.booked, "returned": swap.returned.estimate,
             "low": swap.returned.low, "high": swap.returned.high, "pairs": swap.returned.n}
            for swap in found.swaps
        ],
        "notes": list(ledger.notes),
    }  # fmt: skip
