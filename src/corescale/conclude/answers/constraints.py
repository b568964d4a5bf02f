# SPDX-License-Identifier: Apache-2.0
"""Declared bounds on metrics, by the medians of the launches so far."""

from collections.abc import Sequence

from corescale.conclude.response import median, response
from corescale.declare.experiment import Constraint, Experiment
from corescale.declare.grid import today
from corescale.records import Configuration, Record


def violated(records: Sequence[Record], experiment: Experiment) -> dict[Configuration, str]:
    """The configurations that break a constraint, and how; a metric that was not reported breaks it."""
    if not experiment.constraints:
        return {}
    launches: dict[Configuration, list[Record]] = {}
    for record in records:
        launches.setdefault(record.configuration, []).append(record)
    now = launches.get(today(experiment), [])
    found = {c: _first(experiment.constraints, made, now) for c, made in launches.items()}
    return {c: reason for c, reason in found.items() if reason is not None}


def _first(constraints: Sequence[Constraint], launches: Sequence[Record], now: Sequence[Record]) -> str | None:
    return next(filter(None, (violation(constraint, launches, now) for constraint in constraints)), None)


def violation(constraint: Constraint, launches: Sequence[Record], now: Sequence[Record]) -> str | None:
    """How these launches of a configuration break it, or None."""
    value, today_value = (
        median([response(record, f"metric:{constraint.metric}") for record in of]) for of in (launches, now)
    )
    bound = constraint.bound * (today_value if constraint.relative else 1)
    met = value <= bound if constraint.relation == "<=" else value >= bound
    return None if met else f"{constraint.metric} = {value:g}, not {constraint.relation} {bound:g}"
