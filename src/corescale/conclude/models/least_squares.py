# SPDX-License-Identifier: Apache-2.0
"""Least squares on log time for T = basis @ terms, for many data sets at once."""

import itertools

import numpy as np

from corescale.conclude.stats import Floats

STEPS = 30
"""Gauss-Newton steps from a cold start; they converge quadratically, as residuals on log time are small"""
SETTLED = 1e-12
"""size of a step, relative to the terms, below which the next step would only be rounding"""
SINGULAR = 1e-12
"""determinant of the scaled normal matrix up to which the levels do not determine the terms"""


def gauss_newton(
    basis: Floats, log_times: Floats, weights: Floats, start: Floats | None = None, steps: int = STEPS
) -> Floats:
    """Terms [..., k] that minimise sum_p weights[p] (log_times[..., p] - log(basis @ terms)[p])^2, signs free, T > 0.

    basis is [L, k]. NaN if the levels do not determine the terms.
    """
    terms = (
        _relative_fit(basis, log_times, weights)
        if start is None
        else np.broadcast_to(start, (*log_times.shape[:-1], basis.shape[1]))
    )
    for _ in range(steps):
        times = terms @ basis.T
        step = _solve(basis / times[..., None], log_times - np.log(times), weights)
        terms = terms + _damping(times, step @ basis.T)[..., None] * step
        if np.max(np.abs(step)) <= SETTLED * np.max(np.abs(terms)):
            break
    return terms


def _relative_fit(basis: Floats, log_times: Floats, weights: Floats) -> Floats:
    """The linear fit of T with relative residuals, or perfect scaling if that fit has a T <= 0."""
    terms = _solve(basis / np.exp(log_times)[..., None], np.ones_like(log_times), weights)
    positive = np.all(terms @ basis.T > 0, axis=-1, keepdims=True)
    level = np.exp(np.sum(weights * (log_times - np.log(basis.sum(axis=1))), axis=-1) / weights.sum())
    return np.where(positive, terms, level[..., None])


def _damping(times: Floats, change: Floats) -> Floats:
    """Length of the step: whole, unless that would more than halve a T."""
    worst = np.max(-change / times, axis=-1)
    return np.where(worst > 0.5, 0.5 / np.maximum(worst, 0.5), 1.0)


def _solve(design: Floats, target: Floats, weights: Floats) -> Floats:
    weighted = design * weights[:, None]
    return _solved(design, weighted, np.sum(weighted * target[..., None], axis=-2)[..., None])[..., 0]


def influence(design: Floats, weights: Floats) -> Floats:
    """(X' W X)^-1 X' W of design X [..., L, k]: how the fit answers to each level's datum. NaN if it is singular."""
    weighted = design * weights[:, None]
    return _solved(design, weighted, np.swapaxes(weighted, -1, -2))


def _solved(design: Floats, weighted: Floats, right: Floats) -> Floats:
    """(X' W X)^-1 right [..., k, m] for many X at once, NaN if it is singular."""
    normal = np.swapaxes(design, -1, -2) @ weighted
    scale = np.sqrt(np.diagonal(normal, axis1=-2, axis2=-1))[..., None]
    normal = normal / (scale * np.swapaxes(scale, -1, -2))
    with np.errstate(invalid="ignore"):
        regular = (np.linalg.det(normal) > SINGULAR)[..., None, None]
    answer = np.linalg.solve(np.where(regular, normal, np.eye(normal.shape[-1])), right / scale) / scale
    return np.where(regular, answer, np.nan)


def bounded_fit(basis: Floats, log_times: Floats, weights: Floats) -> Floats:
    """The best terms >= 0 of one data set [L]: the best of the subsets of terms whose free fit is >= 0."""
    width = basis.shape[1]
    subsets = [kept for size in range(1, width + 1) for kept in itertools.combinations(range(width), size)]
    fits = [_subset_fit(basis, log_times, weights, kept) for kept in subsets]
    allowed = [terms for terms in fits if (terms >= 0).all()]

    def loss(terms: Floats) -> float:
        return float(np.sum(weights * (log_times - np.log(basis @ terms)) ** 2))

    return min(allowed, key=loss, default=np.full(width, np.nan))


def _subset_fit(basis: Floats, log_times: Floats, weights: Floats, kept: tuple[int, ...]) -> Floats:
    terms = np.zeros(basis.shape[1])
    some = basis[:, kept]
    possible = (some > 0).any(axis=1).all()
    terms[list(kept)] = gauss_newton(some, log_times, weights) if possible else np.nan
    return terms
