# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with the answer, the charts, every number and the records, which loads no other files.

The templates (templates/) are Jinja2's with autoescape, and their values pass `text.clean`, so that no text of a
program or user becomes markup. In JSON, `<`, `>` and `&` are escaped, so that no string can end its element.
"""

import functools
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from corescale import __version__
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row, Scan, scan
from corescale.conclude.answers.study import Study
from corescale.errors import UsageError
from corescale.observe.store import archives
from corescale.records import Configuration
from corescale.show import charts, columns, explain, headline, text
from corescale.show.charts import drawing
from corescale.show.charts.of_explain import views
from corescale.show.exchange import result_json
from corescale.show.html import recompute, sections
from corescale.show.naming import label, raw
from corescale.show.result import Result

Part = dict[str, Any]
"""Values for one part of the page, under the names that the templates use."""

NUMBERS = "<section>\n<h2>Every configuration</h2>"
"""the beginning of the numbers in a page (templates/report.html)"""

FOLDED = 200
"""characters of a line that are shown before it is unfolded"""

REST = 3
"""lines below the headline that are shown before the others are unfolded"""

MOST_MODELS = 12
"""most curves of a study whose models a page lists"""


def report(result: Result, frame: pd.DataFrame | None = None) -> str:
    """The whole page; declared charts read `frame`, by default the frame of the result's own records."""
    curves = curves_of(result)
    drawn = charts.of(result, curves, frame)
    return _rendered(
        "report.html",
        title=headline.headline(result),
        verb=result.experiment.verb,
        when=_when(result),
        program=" | ".join(" ".join(command.argv) for command in result.experiment.commands),
        said=_headline(result),
        launch=_launch(result),
        facts=sections.facts(result),
        warnings=[*result.warnings, *filter(None, [headline.undisturbed(result)])],
        charts=[figure(chart) for chart in drawn],
        table=table(result),
        notes=list(sections.notes(result)),
        models=sections.models(curves),
        failures=sections.failures(result),
        environment=sections.environment(result.environment),
        count=len(result.records),
        result=embedded(result_json.to_dict(result)),
        measured=embedded(found) if (found := recompute.measured(result)) else "",
        embedded_runs=Markup(f"{archives.BEGIN}{archives.packed(result.runs)}{archives.END}" if result.runs else ""),
    )


def fragment(result: Result) -> str:
    """The first line, the table and the warnings, for a notebook's cell."""
    return _rendered("fragment.html", headline=headline.headline(result), table=table(result), warnings=result.warnings)


def explained(shown: Mapping[str, Any]) -> str:
    """The page of a result of explain: its pictures, its tables, and the result itself."""
    drawn = views(shown)
    return _rendered(
        "explain.html",
        verb="explain",
        when="",
        title=next(explain.lines(shown)),
        program=" ".join(shown["command"]),
        notes=[*explain.said(shown), *shown["notes"]],
        charts=[figure(chart) for chart in drawn],
        tables=[each for each in explain.tables(shown) if each["lines"]],
        result=embedded(shown),
    )


def _rendered(name: str, **values: Any) -> str:
    return _templates().get_template(name).render(values)


@functools.cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("corescale.show.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else text.clean(str(value)),
        keep_trailing_newline=True,
    )
    made.globals |= {"FOLDED": FOLDED, "REST": REST, "version": __version__}
    return made


def embedded(values: Any) -> Markup:
    """JSON that no HTML parser can read as markup."""
    plain = json.dumps(result_json.finite(values), separators=(",", ":"), allow_nan=False)
    return Markup(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def curves_of(result: Result) -> Scan | None:
    """The curves of a run, including those of a tune that varied threads."""
    if isinstance(result.conclusion, Study):
        found = result.conclusion.found
        return found if len(found.curves) <= MOST_MODELS else None
    if isinstance(result.conclusion, Scan):
        return result.conclusion
    if not result.experiment.makes_p:
        return None
    found = scan(result.records, result.experiment)
    drawn = tuple(curve for curve in found.curves if len(curve.rows) > 1)  # a single p would be a speedup of 1
    return replace(found, curves=drawn) if drawn else None


def _when(result: Result) -> str:
    started = min((record.started for record in result.records), default=0.0)
    host = result.environment.get("description", {}).get("hostname", "")
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started)) if started else ""
    return " · ".join(filter(None, [day, str(host)]))


def _headline(result: Result) -> Part:
    """The first statement, for large type, split so that every second piece is an interval; and the lines below it."""
    whole = headline.headline(result, "\n")
    for name in {label(record.configuration) for record in result.records}:
        if len(name) > FOLDED:
            whole = whole.replace(name, f"{name[: FOLDED // 5]} … {name[-FOLDED // 5 :]}")
    first, *rest = re.split(r"\n|; |, (?=within|the best of )", whole, maxsplit=1)
    return {"pieces": re.split(r"(\[[^\]]*\])", first), "rest": rest[0].split("\n") if rest else []}


def _launch(result: Result) -> Part | None:
    if not isinstance(result.conclusion, Recommendation):
        return None
    label = "The baseline, to keep" if result.conclusion.keep_baseline else "Launch it with"
    return {"label": label, "line": result.line(result.conclusion.chosen)}


def figure(chart: charts.Chart) -> Part:
    """The chart as the page has it."""
    return {
        "name": chart.name,
        "wide": chart.wide,
        "title": chart.title,
        "caption": chart.caption,
        "picture": Markup(drawing.svg(chart)),
    }


def added(
    page: str, name: str, title: str, figures: Sequence[Part], head: Sequence[str], lines: Sequence[Sequence[str]]
) -> str:
    """A report with an added section, before the measured numbers, that has a program's own figures and a table.

    It replaces the section of that name, if there is one. `lines` are cells under `head`, of which the
    first is a name. Raises UsageError for a page that is not a report.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if begin in page and end in page:
        page = page[: page.index(begin)] + page[page.index(end) + len(end) :]
    before, found, after = page.partition(NUMBERS)
    if not found:
        raise UsageError("is not a report of corescale", remedy="give the report.html of a run")
    section = _rendered("added.html", title=title, figures=figures, head=head, lines=lines)
    return f"{before}{begin}{section}{end}{found}{after}"


def table(result: Result) -> dict[str, Any]:
    """Head of the first column, the columns, and a row for each configuration."""
    every = columns.of(result)
    return {
        "head": "command" if isinstance(result.conclusion, tuple) else "configuration",
        "columns": every.columns,
        "rows": [
            {
                "kind": _kind(result, configuration, row),
                "name": label(configuration),
                "raw": raw(configuration),
                "roles": every.roles(configuration),
                "alarms": [*result.qualifiers(configuration), *_alarms(row)],
                "cells": list(every.cells(configuration)),
            }
            for configuration, row in every.rows.items()
        ],
    }


def _kind(result: Result, configuration: Configuration, row: Any) -> str:
    found = result.conclusion
    if not isinstance(found, Recommendation):
        return ""
    return "chosen" if configuration == found.chosen else "excluded" if row.excluded else ""


def _alarms(row: Any) -> Iterator[str]:
    if isinstance(row, Row) and row.idle:
        yield f"asked for {row.p}, used {row.effective_cores:.1f}"
    if isinstance(row, Row) and row.failures:
        yield f"{row.failures} of {row.launches} failed"
