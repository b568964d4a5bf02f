# SPDX-License-Identifier: Apache-2.0
"""Pairwise clustering and the matrix product beside BLAS and NumPy: scripts/bench clustering, on a quiet machine.

Rows: the product D M of the annealing itself against sgemm of the same shape and of a square one; the annealing
against NumPy with threaded BLAS (benchmarks/_clustering_reference.py, whose H must agree); our matrix kernel against
OpenBLAS; seconds a temperature at full size on threads and on ranks; and f of each threading system. Launches of a
row's sides alternate; ratios are medians with the range of the repeats' ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from _clustering_reference import Work, anneal

from corescale import native

SGEMM = """
import numpy, sys, time
rows, inner, columns, repeats = map(int, sys.argv[1:])
a, b = numpy.ones((rows, inner), numpy.float32), numpy.ones((inner, columns), numpy.float32)
a @ b
start = time.perf_counter()
for _ in range(repeats):
    a @ b
print(2e-9 * rows * inner * columns * repeats / (time.perf_counter() - start))
"""
LIMIT_LAUNCHES = 3
"""A disturbed reading of memory is no limit: the largest of these counts."""
Facts = Mapping[str, float]


def launched(program: str, options: Sequence[str], ranks: int = 1) -> tuple[Facts, Facts]:
    """What a workload printed, and the longest time of each of its regions over ranks."""
    mpirun = ["mpirun", "--allow-run-as-root", "--map-by", "slot:pe=1", "--bind-to", "core", "-n", str(ranks)]
    argv = [*(mpirun if ranks > 1 else []), str(native.find(program)), *options]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CORESCALE_RESULT": folder}
        out = subprocess.run(argv, check=True, capture_output=True, text=True, env=environment).stdout
        regions: dict[str, float] = {}
        for file in Path(folder).glob("rank-*.json"):
            for region in json.loads(file.read_text())["regions"]:
                regions[region["name"]] = max(regions.get(region["name"], 0.0), region["seconds"])
    return json.loads(out), regions


def sgemm(rows: int, inner: int, columns: int, repeats: int, threads: int = 1) -> float:
    """GF/s of NumPy's BLAS."""
    argv = [sys.executable, "-c", SGEMM, *map(str, (rows, inner, columns, repeats))]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads)}
    return float(subprocess.run(argv, check=True, capture_output=True, text=True, env=environment).stdout)


def product(points: int, clusters: int, precision: str) -> float:
    """GF/s of D M inside the annealing, one thread."""
    steps = ["--temperatures", "2", "--passes", "5", "--power-steps", "5"]
    shape = ["--points", str(points), "--clusters", str(clusters), "--precision", precision]
    _, regions = launched("pairwise_clustering", [*shape, *steps])
    return 2e-9 * points * points * (clusters * 20 + 1) / regions["dm_product"]


def sides(ours: Callable[[], float], theirs: Callable[[], float], repeats: int) -> tuple[float, float, str]:
    """Medians of both, and the ratio with its range."""
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    ratios = sorted(a / b for a, b in pairs)
    written = f"{statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), written


def say(row: str, ours: object, theirs: object, ratio: str, goal: str) -> None:
    """One line of the table."""
    print(f"| {row} | {ours} | {theirs} | {ratio} | {goal} |", flush=True)


def products(repeats: int) -> None:
    """D M against sgemm, N = 8,000: of the same shape, and of a square, whose elements come from cache; and the limit.

    A float32 of D is 4 bytes and 2 K operations.
    """
    for precision in ("float32", "uint16"):
        for clusters in (5, 16, 20):
            ours, theirs, ratio = sides(
                partial(product, 8000, clusters, precision), partial(sgemm, 8000, 8000, clusters, 5), repeats
            )
            row = f"D M, {precision}, K = {clusters}, GF/s against sgemm of that shape"
            say(row, f"{ours:.1f}", f"{theirs:.1f}", ratio, "printed")
    for clusters in (16, 20, 28):
        ours, theirs, ratio = sides(
            partial(product, 8000, clusters, "float32"), partial(sgemm, 2000, 2000, 2000, 3), repeats
        )
        row = f"D M, float32, K = {clusters}, GF/s against square sgemm"
        say(row, f"{ours:.1f}", f"{theirs:.1f}", ratio, ">= 0.9")
    rate = max(float(launched("machine_constants", [])[0]["bytes_per_ns"]) for _ in range(LIMIT_LAUNCHES))
    say("limit by memory: one core reads D at GB/s", f"{rate:.1f}", "", "", "printed")
    for clusters in (5, 16, 20, 28):
        say(f"limit by memory of D M, float32, K = {clusters}, GF/s", f"{rate * clusters / 2:.1f}", "", "", "printed")


def against_numpy(repeats: int) -> None:
    """The whole annealing, N = 2,000, K = 5, ours on two threads as BLAS is."""
    points = np.random.default_rng(1).normal(size=(2000, 3)) + 10 * (np.arange(2000)[:, None] % 5)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=-1).astype(np.float32)
    work = Work(5, 10, 5, 10)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "d.npy", distances)
        options = ["--input", str(Path(folder) / "d.npy"), "--clusters", "5", "--temperatures", "10", "--passes", "5"]
        options += ["--power-steps", "10", "--threads", str(os.cpu_count())]
        energies: list[float] = []

        def ours() -> float:
            printed, _ = launched("pairwise_clustering", options)
            energies.append(printed["energy"])
            return 1 / printed["seconds"]

        def theirs() -> float:
            start = time.perf_counter()
            energies.append(anneal(distances, work))
            return 1 / (time.perf_counter() - start)

        a, b, ratio = sides(ours, theirs, repeats)
    if max(energies) / min(energies) > 1 + 1e-5:
        raise SystemExit(f"energies differ: {energies}")
    say("annealing, N = 2,000, K = 5: seconds against NumPy's", f"{1 / a:.4f}", f"{1 / b:.4f}", ratio, ">= 5")


def kernel(repeats: int) -> None:
    """Our matrix kernel against OpenBLAS, and its efficiency at 2."""
    size = ["--size", "2000", "--threading", "spin"]

    def rate(*more: str) -> float:
        return float(launched("matrix_multiply", [*size, *more])[0]["gflops"])

    ours, theirs, ratio = sides(rate, lambda: rate("--kernel", "blas"), repeats)
    say("packed kernel, N = 2,000, one thread, GF/s against OpenBLAS", f"{ours:.1f}", f"{theirs:.1f}", ratio, ">= 0.6")
    two, one, ratio = sides(lambda: rate("--threads", "2") / 2, rate, repeats)
    say("packed kernel, efficiency at 2 (GF/s a thread)", f"{two:.1f}", f"{one:.1f}", ratio, ">= 0.95")


def full_size(points: int, precision: str) -> None:
    """Seconds a temperature at full size: one thread, two threads, two ranks.

    Beside each is how fast the product reads D, and how fast one of a single column does, which only reads.
    """
    fixed = ["--points", str(points), "--planted", "1", "--precision", precision]
    fixed += ["--temperatures", "2", "--passes", "3", "--power-steps", "5"]
    gigabytes = points * points * (4 if precision == "float32" else 2) * 17e-9
    one = 0.0
    for name, options, ranks in (("one thread", [], 1), ("two threads", ["--threads", "2"], 1), ("two ranks", [], 2)):
        printed, regions = launched("pairwise_clustering", [*fixed, "--clusters", "10", *options], ranks)
        seconds, row = printed["seconds"] / 2, f"N = {points:,}, K = 10, {precision}: seconds a temperature on {name}"
        if one:
            say(f"{row}, efficiency", f"{seconds:.2f}", f"{one:.2f}", f"{one / (2 * seconds):.3f}", ">= 0.95")
        else:
            one = seconds
            say(row, f"{seconds:.2f}", "", "", "printed")
        _, alone = launched("pairwise_clustering", [*fixed, "--clusters", "1", *options], ranks)
        read, limit = gigabytes / regions["dm_product"], gigabytes / alone["dm_product"]
        say(f"GB/s of D read on {name}, against K = 1", f"{read:.1f}", f"{limit:.1f}", f"{read / limit:.2f}", "printed")


def teams(repeats: int) -> None:
    """f of each system in the clustering's loops, against its own one thread."""
    fixed = ["--points", "2000", "--clusters", "5", "--temperatures", "5", "--passes", "5", "--power-steps", "10"]
    for system in ("ports", "tbb", "spin", "openmp", "pthread"):
        for blocks in ("1", "4"):
            seconds = partial(_seconds, [*fixed, "--threading", system, "--blocks", blocks, "--threads"])
            two, one, ratio = sides(partial(seconds, 2), partial(seconds, 1), repeats)
            say(f"1 + f of {system}, {blocks} blocks a thread, N = 2,000", f"{two:.3f}", f"{one:.3f}", ratio, "printed")


def _seconds(options: Sequence[str], threads: int) -> float:
    """Seconds of the annealing, times its threads."""
    return threads * float(launched("pairwise_clustering", [*options, str(threads)])[0]["seconds"])


ROWS = {"products": products, "numpy": against_numpy, "kernel": kernel, "teams": teams}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", default=[*ROWS, "full"], help=f"{', '.join(ROWS)}, full")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--points", type=int, default=35_339)
    parser.add_argument("--precision", default="float32")
    given = parser.parse_args()
    print("| row | ours | beside it | ratio | goal |\n|---|---|---|---|---|")
    for name in given.rows:
        full_size(given.points, given.precision) if name == "full" else ROWS[name](given.repeats)
