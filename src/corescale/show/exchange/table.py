# SPDX-License-Identifier: Apache-2.0
"""A declared table (declare/outputs.py) of the frame, and the findings, as text."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.study import Study
from corescale.conclude.models import Fit
from corescale.declare import outputs
from corescale.declare.experiment import Experiment
from corescale.show import statements, text
from corescale.show.exchange import csv

if TYPE_CHECKING:
    import pandas as pd

SUFFIX = {"csv": ".csv", "markdown": ".md"}


def table(declared: outputs.Table, frame: "pd.DataFrame", experiment: Experiment) -> str:
    """A row for each successful launch, by factors and replicates; in Markdown, with a note on what is left out."""
    good = frame[frame["status"] == "ok"]
    by = [*(factor.name for factor in experiment.factors if factor.name in good), "machine", "replicate", "order"]
    rows = good.sort_values(list(dict.fromkeys(by)), kind="stable")
    cells = [[_plain(row[name]) for _, name in declared.columns] for row in rows.to_dict("records")]
    if declared.format == "csv":
        return csv.written([heading for heading, _ in declared.columns], cells)
    return _markdown(declared, cells, experiment.left_out)


def findings(
    answers: Sequence[Answer | Modelled],
    agreed: Iterable[str] = (),
    left_out: Sequence[str] = (),
    constants: Sequence[str] = (),
) -> str:
    """Markdown of four parts: what all launches have in common; each statement with its answers; whether the results of
    the launches agree; what was not measured, and why.
    """
    lines = [f"Every launch has {escaped(', '.join(constants))}."] if answers and constants else []
    for name in dict.fromkeys(answer.finding.name for answer in answers):
        of = [answer for answer in answers if answer.finding.name == name]
        lines += ["", f"**{escaped(of[0].finding.statement)}**", ""]
        lines += [f"- {escaped(statements.answer(answer))}" for answer in of]
    lines += [line for said in agreed for line in ("", f"{escaped(said)}.")] if lines else []
    lines += ["", *(f"Left out: {escaped(reason)}." for reason in left_out)] if lines and left_out else []
    return "\n".join(lines).lstrip("\n") + "\n" if lines else ""


def flat(found: Study) -> str:
    """CSV of the fits T = a + b work over the loads, a line for each p and combination of other levels. The columns are
    in seconds, with the ends of intervals.

    Empty if weak scaling was not asked for, or was refused.
    """
    weak = found.found.weak
    if weak is None or weak.refusal or not weak.lines:
        return ""
    names = [name for name, _ in weak.lines[0].levels]
    ends = [f"{parameter}{end}" for parameter in ("a", "b") for end in ("", "_low", "_high")]
    rows = [
        [line.p, *(level for _, level in line.levels), *_ends(line.fit, "a"), *_ends(line.fit, "b"), line.fit.warning]
        for line in weak.lines
    ]
    return csv.written(["p", *names, *ends, "warning"], rows)


def _ends(fit: Fit, parameter: str) -> Sequence[object]:
    found = fit.parameters.get(parameter)
    return [found.estimate, found.low, found.high] if found else ["", "", ""]


def _markdown(declared: outputs.Table, rows: Sequence[Sequence[object]], left_out: Sequence[str]) -> str:
    lines = [f"**{escaped(declared.title)}**", ""] if declared.title else []
    heads = [escaped(heading) for heading, _ in declared.columns]
    lines += rows_of(heads, ([escaped(str(cell)) for cell in row] for row in rows))
    lines += ["", *(f"- left out: {escaped(reason)}" for reason in left_out)] if left_out else []
    return "\n".join(lines) + "\n"


def rows_of(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def escaped(line: str) -> str:
    """The line as text of a Markdown table's cell."""
    return text.clean(line).replace("|", "\\|")


def _plain(value: object) -> object:
    """Writes whole numbers without a decimal point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if whole and isinstance(value, float) else csv.plain(value)
