# SPDX-License-Identifier: Apache-2.0
"""What a few launches of t threads x m ranks say of all other mixes: the overhead law, as the trend of a surrogate.

p T = c (1 + a1 (t - 1) + a2 (m - 1) + a3 (p - 1)): the overhead of conclude/models/overhead_factors.py, with threads
and ranks as factors and T(1) = c as one more unknown, because one core would take too long for the work of 192. It says
which mixes to try first, and nothing else: a mix is never discarded by it, and no claim rests upon it.
"""

import numpy as np
import scipy

from corescale.conclude.stats import Floats


def trend(mixes: Floats, log_times: Floats) -> Floats | None:
    """Log time of every mix, shape (k,), by those that were launched; None where they do not determine the law.

    `mixes`: threads and ranks, shape (k, 2). `log_times`: of the launched, NaN for the others.
    """
    tried = np.isfinite(log_times)
    for columns in (4, 3):
        design = _design(mixes)[:, :columns]
        if np.linalg.matrix_rank(design[tried] / design[tried].max(axis=0, initial=1.0)) == columns:
            return _fitted(design, mixes.prod(axis=1), log_times)
    return None


def _design(mixes: Floats) -> Floats:
    threads, ranks = mixes.T
    return np.stack([np.ones_like(threads), threads - 1, ranks - 1, threads * ranks - 1], axis=-1)


def _fitted(design: Floats, p: Floats, log_times: Floats) -> Floats | None:
    """Least squares of the relative error, coefficients >= 0."""
    tried = np.isfinite(log_times)
    work = p[tried] * np.exp(log_times[tried])
    terms, _ = scipy.optimize.nnls(design[tried] / work[:, None], np.ones(int(tried.sum())))
    total = design @ terms
    return np.log(total / p) if (total > 0).all() else None
