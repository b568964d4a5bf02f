# SPDX-License-Identifier: Apache-2.0
"""Many cases at once through workloads/claim_simulator, and how far its times are from others."""

import csv
import io
import itertools
import subprocess
from collections.abc import Sequence

import numpy as np

from corescale import native
from corescale.conclude.stats import Floats

Case = dict[str, object]
"""names and values of the program's options"""
ENOUGH = 0.05
"""times that differ by less than this are not an order"""


def simulated(cases: Sequence[Case]) -> list[dict[str, float]]:
    """What the program prints for each, times in nanoseconds. All cases have the same names."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(cases[0]))
    table.writeheader()
    table.writerows(cases)
    done = subprocess.run(
        [str(native.find("claim_simulator")), "--cases", "-"],
        input=text.getvalue(),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = csv.DictReader(io.StringIO(done.stdout))
    return [{name: float(value) for name, value in row.items()} for row in rows]


def times(cases: Sequence[Case]) -> Floats:
    """Nanoseconds of each."""
    return np.array([row["simulated_ns"] for row in simulated(cases)])


def median_error(seen: Floats, said: Floats) -> float:
    """The median of |said / seen - 1|, by logarithm."""
    return float(np.expm1(np.median(np.abs(np.log(said / seen)))))


def pairs_in_order(seen: Floats, said: Floats) -> tuple[int, int]:
    """Of the pairs whose seen times differ by more than ENOUGH: those in the same order, and all."""
    pairs = list(itertools.combinations(range(len(seen)), 2))
    clear = [(i, j) for i, j in pairs if abs(np.log(seen[i] / seen[j])) > np.log1p(ENOUGH)]
    return sum((seen[i] < seen[j]) == (said[i] < said[j]) for i, j in clear), len(clear)
