# SPDX-License-Identifier: Apache-2.0
"""SimGrid's forecasts of the clustering, made blind, beside what two cores then measure: scripts/bench simgrid.

A platform is fitted to launches of 1x1x1, 2x1x1 and 1x2x1 at two sizes: the rate of one and of two busy cores, the cost
of a loop on two threads, and what a message between ranks costs. Other sizes, and threads and ranks beyond the
two cores, are simulated before they are measured. A row is one of them, with its error. Everything is a median.
The fitted launches are measured again, too: their errors say how much this machine alone changes.
"""

import argparse
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import corescale
from corescale.machine import Machine

LARGE, SMALL = 2500, 312
"""points that are fitted to: computing decides the first, with distances in cache; loops and messages the second"""
BLIND = (5000, 1250, 625)
CALIBRATED = ("1x1x1", "2x1x1", "1x2x1")
OVERSUBSCRIBED = ("4x1x1", "2x2x1", "1x4x1")
LAYOUTS = (*CALIBRATED, *OVERSUBSCRIBED)
PROBE = {"fork_join": 2e-6, "latency": 1e-6}
"""a first value of each cost in seconds; time is linear in it, so that a second one follows"""
BANDWIDTH = 5e9
"""bytes a second between ranks of one node, assumed: messages here are small"""


@dataclass(frozen=True)
class Fit:
    """What is fitted."""

    one: float = 1.0
    two: float = 1.0
    fork_join: float = 0.0
    latency: float = 0.0

    def toml(self) -> str:
        """The platform of this machine."""
        link = f"latency = {self.latency:.9g}\nbandwidth = {BANDWIDTH}\n"
        table = f"[fork_join.default]\n1 = 0.0\n2 = {self.fork_join:.9g}\n"
        rate = f"rate = {{ 1 = {self.one:.9g}, 2 = {self.two:.9g} }}"
        return f"cores = 2\n{rate}\n[network]\n{link}[memory]\n{link}{table}"


class Lab:
    """Launches of the clustering, measured or simulated."""

    def __init__(self, folder: Path, runs: int) -> None:
        self._folder, self._runs = folder, runs

    def seconds(self, points: int, layouts: Sequence[str], fit: Fit | None = None) -> Mapping[str, float]:
        """The median time of each layout, simulated if there is a fit."""
        temperatures = max(1, min(128, 100_000_000 // points**2))
        command = f"pairwise_clustering --planted 1 --points {points} --clusters 10 --temperatures {temperatures}"
        command += " --passes 3 --power-steps 5 --threading tbb --threads {threads}"
        platform = self._folder / "here.toml"
        if fit is not None:
            platform.write_text(fit.toml())
        made = corescale.scan(
            command,
            on="mpi" if fit is None else "simgrid",
            platform="" if fit is None else platform,
            factor={"layout": [*layouts]},
            response="metric:seconds",
            runs=self._runs,
            fresh=True,
            out=self._folder,
        )
        return {str(k): float(v) for k, v in made.records.groupby("layout")["time"].median().items()}

    def fit(self) -> Fit:
        """Each parameter from the launch that it decides, the others being known.

        A second round takes the costs of loops and messages off the times that give the rates.
        """
        large, small = self.seconds(LARGE, CALIBRATED), self.seconds(SMALL, CALIBRATED)
        found = Fit()
        for _ in range(2):
            found = replace(found, one=found.one * self.seconds(LARGE, ["1x1x1"], found)["1x1x1"] / large["1x1x1"])
            found = replace(found, two=found.two * self.seconds(LARGE, ["2x1x1"], found)["2x1x1"] / large["2x1x1"])
            found = self._solved(found, "fork_join", "2x1x1", small)
            found = self._solved(found, "latency", "1x2x1", small)
        return found

    def _solved(self, fit: Fit, name: str, layout: str, wanted: Mapping[str, float]) -> Fit:
        less, more = (replace(fit, **{name: value}) for value in (0.0, PROBE[name]))
        without, with_it = (self.seconds(SMALL, [layout], each)[layout] for each in (less, more))
        slope = (with_it - without) / PROBE[name]
        return replace(fit, **{name: max(0.0, (wanted[layout] - without) / slope) if slope > 0 else 0.0})


def main() -> None:
    """Fit, simulate, and then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=6, help="launches of each configuration")
    given = parser.parse_args()
    print(f"machine: {Machine.here().in_words}")
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), given.runs)
        fit = lab.fit()
        print(f"fitted to 1x1x1, 2x1x1, 1x2x1 at {LARGE} and {SMALL} points:\n{fit.toml()}")
        errors: dict[str, list[float]] = {}
        print("\n| points | t x m x n | simulated, s | measured, s | error |\n|---|---|---|---|---|")
        for points in (*BLIND, LARGE, SMALL):
            forecast = lab.seconds(points, LAYOUTS, fit)
            measured = lab.seconds(points, LAYOUTS)
            for layout, seconds in forecast.items():
                within = "within the cores" if points in BLIND else "fitted before"
                where = "beyond the cores" if layout in OVERSUBSCRIBED else within
                error = seconds / measured[layout] - 1
                errors.setdefault(where, []).append(error)
                row = f"| {points} | {layout} | {seconds:.4g} | {measured[layout]:.4g}"
                print(f"{row} | {error:+.0%} |", flush=True)
        for where, found in errors.items():
            typical = math.expm1(sum(abs(math.log1p(each)) for each in found) / len(found))
            print(f"{where}: typical error {typical:.1%}, worst {max(found, key=abs):+.0%}, of {len(found)}")


if __name__ == "__main__":
    main()
