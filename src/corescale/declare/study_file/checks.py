# SPDX-License-Identifier: Apache-2.0
"""Whether everything that can be known of a study before a launch is in order."""

import difflib
from collections.abc import Collection, Mapping, Sequence

from corescale.declare import arithmetic
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, launch, omitted, parameters, today
from corescale.declare.outputs import BUILT_IN, EXTREMES, Chart
from corescale.declare.study_file.tables import FactorTable
from corescale.declare.work import must_be_even
from corescale.errors import UsageError
from corescale.machine import Machine


def check(made: Experiment, machine: Machine, declared: Sequence[Mapping[str, FactorTable]]) -> None:
    """Whether everything that can be known before a launch is in order."""
    for chosen in configurations(made):
        parameters(made, chosen)
    launch(made, today(made), machine)
    for selection in made.omit:
        for name in selection:
            must_be(name, {"p", *(factor.name for factor in made.factors)}, "factor", "omit")
    if omitted(made, today(made)):
        raise UsageError(
            "leaves out today's launch, with which all others are compared", where="omit", remedy="see [today]"
        )
    names = {*BUILT_IN, *(factor.name for factor in made.factors), *(one.name for one in made.along)}
    names |= {*made.derived, *made.metrics}
    formulas = {name: arithmetic.parse(text, f"columns.{name}") for name, text in made.columns.items()}
    arithmetic.ordered(formulas, names, "columns")
    if made.weak:
        must_be(made.weak.load, {factor.name for factor in made.factors}, "factor", "weak.load")
        must_be(made.weak.work, names, "parameter", "weak.work")
        must_be_even(made, "weak")
    seen: set[str] = set()
    for output in made.outputs:
        where = f"{'chart' if isinstance(output, Chart) else output.kind} {output.name}"
        if output.name in seen:
            raise UsageError("two outputs have this name", where=where, remedy="rename one")
        seen.add(output.name)
        for column in output.used():
            must_be(column, {*names, *made.columns}, "column", where)
        for name, level in output.selected():
            levels = [tables[name].levels for tables in declared if name in tables]
            if levels and "auto" not in levels and level not in EXTREMES:
                must_be(str(level), {str(one) for some in levels for one in some}, f"level of {name}", where)


def must_be(name: str, known: Collection[str], what: str, where: str) -> None:
    """Raises UsageError for a name that is not known, with the nearest one."""
    if name not in known:
        near = difflib.get_close_matches(name, sorted(known), 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"here are {', '.join(sorted(known))}"
        raise UsageError(f"no {what} {name!r}", where=where, remedy=remedy)
