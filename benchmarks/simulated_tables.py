# SPDX-License-Identifier: Apache-2.0
"""The claim simulator and the published tables: its error on each table, in-sample and held out.

scripts/bench simulated_tables. Prints Markdown, the content of docs/results/simulated_tables.md. For each platform it
fits the simulator's constants (an iteration's clocks, the travel of a line, the fork-join) to all tables, and again to
all tables but those of one body, which it then predicts: tables that differ in computation alone are copies, as the
published inner loop is folded away. Every time of the simulator is simulated, on any machine.
"""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from _block_size_models import columns
from _claim_simulator import median_error, pairs_in_order, times
from scipy.optimize import least_squares

from corescale.conclude.block_size.columns import Column
from corescale.conclude.stats import Floats

TABLES = Path(__file__).parents[1] / "data" / "faa" / "tables.csv"
START = np.array([*np.log([300.0, 0.3, 0.3, 30.0, 60.0, 20_000.0, 0.05, 0.1]), 0.0])
"""logs of: clocks of an iteration, for each byte read, for each byte written, of a line within a group, between groups,
of a fork-join; unevenness of the cores, variation of iterations; then the power of T that an iteration grows by, since
clocks fall and memory fills up"""
BELIEF = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.2])
"""how far each may be from START at the price of PRICE: one platform has few tables"""
PRICE = 0.1
"""log time"""


def cases(constants: Floats, table: Sequence[Column]) -> list[dict[str, object]]:
    """A case for each cell. Clocks go in as if they were nanoseconds, and come out so."""
    base, read, write, near, far, fork, uneven, varying = np.exp(constants[:8])
    return [
        {
            "policy": "fixed",
            "block": block,
            "threads": column.case.threads,
            "l3-domains": column.case.groups,
            "n": column.case.iterations,
            "iteration-ns": (base + read * column.case.read + write * column.case.write)
            * column.case.threads ** constants[8],
            "variation": varying,
            "unevenness": min(uneven, 0.9),
            "claim-own": min(near, 20.0),
            "line-near": near,
            "line-far": far,
            "fork-hot": fork,
            "fork-thread": 1.0,
        }
        for column in table
        for block in column.blocks
    ]


def seen(table: Sequence[Column]) -> Floats:
    return np.array([time for column in table for time in column.times])


def fitted(table: Sequence[Column]) -> Floats:
    """The constants that fit best, by logarithm; outliers count little."""
    measured = np.log(seen(table))

    def residuals(constants: Floats) -> Floats:
        belief = PRICE * (constants - START) / BELIEF
        return np.concatenate([np.log(times(cases(constants, table))) - measured, belief])

    low, high, step = START - 6, START + 6, np.full(len(START), 0.01)
    found = least_squares(
        residuals, START, bounds=(low, high), loss="soft_l1", f_scale=0.1, diff_step=step, max_nfev=25
    )
    return np.asarray(found.x)


def name(column: Column) -> tuple[str, int, int, float]:
    """What the columns of one printed table share."""
    return column.platform, column.case.read, column.case.write, column.case.computation


def row(table: Sequence[Column], inside: Floats, outside: Floats | None) -> str:
    said = times(cases(inside, table))
    right, clear = blocks_in_order(table, said)
    held_error, held_order = "no other body", ""
    if outside is not None:
        predicted = times(cases(outside, table))
        held_error = f"{median_error(seen(table), predicted):.1%}"
        held_order = f"{blocks_in_order(table, predicted)[0] / clear:.0%}"
    platform, read, write, computation = name(table[0])
    threads = ", ".join(str(column.case.threads) for column in table)
    errors = f"{median_error(seen(table), said):.1%} | {held_error}"
    order = f"{right / clear:.0%} | {held_order} | {clear}"
    return f"| {platform} | {threads} | {read} | {write} | 1024^{computation:g} | {errors} | {order} |"


def blocks_in_order(table: Sequence[Column], said: Floats) -> tuple[int, int]:
    """Over the columns, each by itself."""
    parts = np.split(said, np.cumsum([len(column.blocks) for column in table])[:-1])
    found = [pairs_in_order(np.array(column.times), part) for column, part in zip(table, parts, strict=True)]
    return sum(right for right, _ in found), sum(clear for _, clear in found)


def grouped(all_columns: Iterable[Column]) -> dict[tuple[str, int, int, float], list[Column]]:
    tables: dict[tuple[str, int, int, float], list[Column]] = {}
    for column in all_columns:
        tables.setdefault(name(column), []).append(column)
    return tables


def body(key: tuple[str, int, int, float]) -> tuple[int, int]:
    """Bytes read and written: what copies share."""
    return key[1], key[2]


def platform(table: dict[tuple[str, int, int, float], list[Column]]) -> tuple[Floats, Floats, Floats, Floats]:
    """Prints its rows. Returns what was seen and said in-sample, then the same of bodies held out."""
    everything = [column for one in table.values() for column in one]
    inside = fitted(everything)
    outsides: dict[tuple[int, int], Floats | None] = {}
    for left_out in dict.fromkeys(map(body, table)):
        others = [column for key, one in table.items() if body(key) != left_out for column in one]
        outsides[left_out] = fitted(others) if others else None
    for key, one in table.items():
        print(row(one, inside, outsides[body(key)]), flush=True)
    CONSTANTS[everything[0].platform] = inside
    held = [(one, found) for key, one in table.items() if (found := outsides[body(key)]) is not None]
    nothing = np.array([])
    return (
        seen(everything),
        times(cases(inside, everything)),
        np.concatenate([nothing, *(seen(one) for one, _ in held)]),
        np.concatenate([nothing, *(times(cases(found, one)) for one, found in held)]),
    )


CONSTANTS: dict[str, Floats] = {}
"""what each platform was fitted with, printed at the end"""


def heads(*names: str) -> str:
    """The first two lines of a Markdown table."""
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def constants() -> None:
    print("\nConstants, in clocks, fitted to all tables of a platform:\n")
    names = ("iteration", "byte read", "byte written", "line near", "line far", "fork-join", "unevenness", "variation")
    print(heads("platform", *names, "power of T"))
    for one, found in CONSTANTS.items():
        said = " | ".join(f"{value:.3g}" for value in (*np.exp(found[:8]), found[8]))
        print(f"| {one} | {said} |")


def main() -> None:
    with TABLES.open(newline="") as file:
        tables = grouped(columns(csv.DictReader(file)))
    print("# The claim simulator and the published tables\n")
    print("From `scripts/bench simulated_tables`. All its times are simulated.\n")
    errors = ("median error", "body held out", "order of blocks right", "held out", "pairs")
    print(heads("platform", "threads", "read", "write", "computation", *errors))
    platforms = dict.fromkeys(key[0] for key in tables)
    results = [platform({key: one for key, one in tables.items() if key[0] == which}) for which in platforms]
    measured, said, held, predicted = (np.concatenate(parts) for parts in zip(*results, strict=True))
    print(
        f"\nThe median error of all {len(measured)} cells is {median_error(measured, said):.1%}. It is "
        f"{median_error(held, predicted):.1%} for the {len(held)} cells that are predicted without their body."
    )
    constants()


if __name__ == "__main__":
    main()
