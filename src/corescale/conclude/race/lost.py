# SPDX-License-Identifier: Apache-2.0
"""What has lost, whatever its times: it failed, was killed as hopeless too often, or breaks a constraint."""

import math
from collections.abc import Sequence

from corescale.conclude.answers import constraints
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.response import at_least
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.records import Configuration, Record


def lost(records: Sequence[Record], experiment: Experiment) -> set[Configuration]:
    """Configurations that are launched no more: one failure is enough, also of a fresh launch that was to confirm."""
    now = today(experiment)
    launches: dict[Configuration, list[Record]] = {}
    for record in records:
        if record.phase == "measure" or (record.phase == "confirm" and record.configuration != now):
            launches.setdefault(record.configuration, []).append(record)
    out = {c for c, made in launches.items() if failed(made, experiment) or struck(made)}
    return out | {c for c, each in constraints.judged(records, experiment).items() if any(map(_for_good, each))}


def failed(launches: Sequence[Record], experiment: Experiment) -> bool:
    """Whether one gave no response; one that was killed because it had lost tells at least how long it took."""
    return any(not at_least(record, experiment.response) > 0 for record in launches)


def _for_good(found: constraints.Judged) -> bool:
    """Whether it breaks a constraint, and not by one launch alone unless that told nothing."""
    return found.state == "breaks" and (found.launches >= OPTIONS.strikes or math.isnan(found.value.estimate))


def todays_failures(records: Sequence[Record], experiment: Experiment) -> str | None:
    """`failed in 1 of 24 launches`: those of today's launch that count; None for none."""
    made = [record for record in records if record.timed and record.configuration == today(experiment)]
    bad = sum(not record.ok for record in made)
    return f"failed in {bad} of {len(made)} launches" if bad else None


def may_be_chance(records: Sequence[Record], experiment: Experiment, other: Configuration) -> bool:
    """Whether today's failures are not shown to be more than those of another, which never failed.

    By the probability that all failures fall into today's launches if both fail alike (Fisher's exact test), and
    Bonferroni over those that failed and were passed over for it.
    """
    now = today(experiment)
    made = [record for record in records if record.timed and record.configuration == now]
    count, bad = launches_of(records, other), sum(not record.ok for record in made)
    alike = math.comb(len(made), bad) / math.comb(len(made) + count, bad)
    passed_over = {r.configuration for r in records if r.timed and not r.ok and r.status != "capped"} - {now}
    return bad > 0 and alike * (1 + len(passed_over)) > 1 - experiment.stop.confidence


def launches_of(records: Sequence[Record], configuration: Configuration) -> int:
    """Its launches that count."""
    return sum(record.timed and record.configuration == configuration for record in records)


def struck(launches: Sequence[Record]) -> bool:
    """Whether it was killed in more than half of its launches, and not once alone: a burst is no loss."""
    capped = sum(record.status == "capped" for record in launches)
    return capped >= OPTIONS.strikes and 2 * capped > len(launches)
