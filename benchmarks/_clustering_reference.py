# SPDX-License-Identifier: Apache-2.0
"""Pairwise deterministic annealing in NumPy: the fixed work of `pairwise_clustering --temperatures`, step by step.

Written from the equations in workloads/pairwise_clustering/mean_field.hpp and split.hpp, with the same start, so that
energies can be compared. D is float32, products D @ M go to NumPy's BLAS, on all of its threads.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Whole = npt.NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Work:
    """What is done: see FixedWork in annealing.hpp."""

    clusters: int
    temperatures: int
    passes: int
    power_steps: int
    steps: int = 10
    cooling: float = 0.9


def anneal(distances: Singles, work: Work, seed: int = 1) -> float:
    """H after the work; distances [N, N]."""
    n, k = len(distances), work.clusters
    ones = np.ones((n, 1))
    to_cluster, half_spread = _potentials(distances, ones, np.array([float(n)]))
    temperature = float(-half_spread[0]) / 2
    energies = np.repeat(to_cluster + half_spread, k, axis=1)
    energies += temperature * (np.column_stack([_unit(seed, c, n) for c in range(k)]) - 0.5)
    members, prior = np.repeat(ones, k, axis=1), np.full(k, 1 / k)
    for _ in range(work.temperatures):
        for _ in range(work.passes):
            members, prior = _settle(energies, prior, temperature, work.steps)
            sizes = members.sum(axis=0)
            to_cluster, half_spread = _potentials(distances, members, sizes)
            energies = to_cluster + half_spread
        _power(distances, members, to_cluster, half_spread, work.power_steps, seed)
        temperature *= work.cooling
    return float(-(half_spread * members.sum(axis=0)).sum())


def _potentials(distances: Singles, members: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """B [N, K] and A [K]."""
    to_cluster = (distances @ members.astype(np.float32)) / sizes
    return to_cluster, -0.5 * (members * to_cluster).sum(axis=0) / sizes


def _settle(energies: Floats, prior: Floats, temperature: float, steps: int) -> tuple[Floats, Floats]:
    weights = np.exp((energies.min(axis=1, keepdims=True) - energies) / temperature)
    members = weights
    for _ in range(steps):
        members = weights * prior
        members /= members.sum(axis=1, keepdims=True)
        prior = np.maximum(members.sum(axis=0), 1e-6) / len(members)
    return members, prior


def _power(
    distances: Singles, members: Floats, to_cluster: Floats, half_spread: Floats, steps: int, seed: int
) -> Floats:
    """Rayleigh quotients [K] of G(k), all clusters together."""
    n, k = members.shape
    start = 1 + np.arange(n)[:, None] / (2 * n)
    vectors = start + np.column_stack([_unit(seed, c, n) for c in range(k)]) - 0.5
    sizes, roots = members.sum(axis=0), np.sqrt(members)
    shift, quotient = np.zeros(k), np.zeros(k)
    for _ in range(steps):
        vectors /= np.linalg.norm(vectors, axis=0)
        u = roots * vectors
        s, t = u.sum(axis=0), (to_cluster * u).sum(axis=0)
        product = distances @ u.astype(np.float32)
        made = roots / sizes * ((to_cluster + 2 * half_spread) * s + t - product) + shift * vectors
        quotient = (vectors * made).sum(axis=0) - shift
        shift += np.where(quotient < 0, 1.5 * np.abs(quotient), 0.0)
        vectors = made
    return quotient


def _unit(seed: int, stream: int, n: int) -> Floats:
    """The first draw of driver::Random(seed, stream, i) for i below n."""
    key = _mix(_mix(np.array([seed], np.uint64)) + np.uint64(stream))
    with np.errstate(over="ignore"):
        numbers: Whole = np.add(key, np.arange(n, dtype=np.uint64), dtype=np.uint64)
        drawn: Whole = _mix(_mix(numbers) + GOLDEN) >> np.uint64(11)
    return drawn.astype(np.float64) * 2.0**-53


def _mix(z: Whole) -> Whole:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
