# SPDX-License-Identifier: Apache-2.0
"""What a study says of combinations by the cores that they have: `p = "< cores"` in `omit`."""

import itertools
import re
from collections.abc import Iterator, Sequence

from corescale.declare.experiment import Factor
from corescale.declare.factors import Launch
from corescale.declare.grid import is_level
from corescale.declare.outputs import Selection
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Level

PLACEMENTS = ("sockets", "core_groups", "smt")
"""kinds of factors that decide how many cores a launch may use"""


def in_numbers(omit: Sequence[Selection], chosen: Sequence[Factor], machine: Machine) -> tuple[Selection, ...]:
    """The selections with `p = "> 2 cores"` as `> 8`: one for each placement, by the cores that it leaves.

    Raises UsageError for another condition on p.
    """
    return tuple(one for selection in omit for one in _in_numbers(selection, chosen, machine))


def _in_numbers(selection: Selection, chosen: Sequence[Factor], machine: Machine) -> Iterator[Selection]:
    if "p" not in selection:
        yield selection
        return
    found = re.fullmatch(r"([<>])\s*(\d*)\s*cores", str(selection["p"]))
    if found is None:
        raise UsageError(
            f"not a condition on p: {selection['p']!r}", where="omit", remedy='write "< cores" or "> 2 cores"'
        )
    places = [factor for factor in chosen if factor.kind in PLACEMENTS]
    for levels in itertools.product(*(factor.levels for factor in places)):
        at = {factor.name: level for factor, level in zip(places, levels, strict=True)}
        if all(is_level(factor, at[factor.name], selection.get(factor.name, at[factor.name])) for factor in places):
            limit = int(found[2] or 1) * _cores(places, levels, machine)
            yield {**selection, **at, "p": f"{found[1]} {limit}"}


def _cores(places: Sequence[Factor], levels: Sequence[Level], machine: Machine) -> int:
    """Logical processors that a placement leaves, as far as the quota goes."""
    launch = Launch(argv=())
    for factor, level in zip(places, levels, strict=True):
        launch = factor.how.apply(factor.name, level, launch, machine)
    here = machine.default_max_threads
    return here if launch.affinity is None else min(here, len(launch.affinity))
