# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with the answer, the charts, every number and the records; it loads nothing.

Text that a program or a person wrote passes `escape` before it enters the page; JSON has its `<`, `>` and `&` spelt as
escapes, so that no string in it can end its element.
"""

import functools
import importlib.resources
import json
import math
import re
import string
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from corescale import __version__
from corescale.conclude import stats
from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row, Scan, scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.response import median
from corescale.records import Configuration, to_dict
from corescale.show import charts, headline, text
from corescale.show.charts import interactive, static
from corescale.show.exchange import result_json
from corescale.show.result import Result

escape = text.attribute


def report(result: Result, rows: pd.DataFrame | None = None) -> str:
    """The whole page; declared charts read `rows`, by default the frame of the result's own records."""
    curves = curves_of(result)
    drawn = charts.of(result, curves, rows)
    return string.Template(_part("report.html")).substitute(
        version=__version__,
        style=_part("report.css"),
        script=_part("charts.js"),
        title=escape(headline.headline(result)),
        verb=result.experiment.verb,
        when=_when(result),
        program=escape(" | ".join(" ".join(command.argv) for command in result.experiment.commands)),
        headline=_headline(result),
        launch=_launch(result),
        facts="".join(_fact(*fact) for fact in _facts(result)),
        doubts=_list("doubts", [*result.doubts, *filter(None, [headline.undisturbed(result)])]),
        charts="\n".join(_figure(chart) for chart in drawn),
        table=_table(*_rows(result)),
        notes=_list("notes", _notes(result)),
        law=_law(curves),
        failures=_failures(result),
        environment=_environment(result.environment),
        count=len(result.records),
        result=embedded(result_json.to_dict(result)),
        records=embedded([to_dict(record) for record in result.records]),
        vega=interactive.scripts() if drawn and interactive.available() else "",
    )


def embedded(values: Any) -> str:
    """JSON that no HTML parser can read as markup."""
    plain = json.dumps(result_json.finite(values), separators=(",", ":"), allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def _part(name: str) -> str:
    return (importlib.resources.files("corescale.show") / "page" / name).read_text(encoding="utf-8")


MOST_CURVES = 12
"""of a study in one chart; a larger study declares the charts that show it"""


def curves_of(result: Result) -> Scan | None:
    """The curves, also of a tune that varied threads."""
    if isinstance(result.conclusion, Study):
        found = result.conclusion.found
        return found if len(found.curves) <= MOST_CURVES else None
    if isinstance(result.conclusion, Scan):
        return result.conclusion
    return scan(result.records, result.experiment) if result.experiment.makes_p else None


def _when(result: Result) -> str:
    started = min((record.started for record in result.records), default=0.0)
    host = result.environment.get("description", {}).get("hostname", "")
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started)) if started else ""
    return escape(" · ".join(filter(None, [day, str(host)])))


def _headline(result: Result) -> str:
    """The first statement large, what else is said beneath; intervals set apart."""
    said = headline.headline(result)
    cut = re.search(r"; |, (?=within|the best of )", said)
    first, rest = (said[: cut.start()], said[cut.end() :]) if cut else (said, "")
    marked = re.sub(r"\[[^\]]*\]", lambda match: f'<span class="interval">{match[0]}</span>', escape(first))
    return marked + (f' <span class="rest">{escape(rest)}</span>' if rest else "")


def _launch(result: Result) -> str:
    if not isinstance(result.conclusion, Recommendation):
        return ""
    label = "Today's launch, to keep" if result.conclusion.keep_today else "Launch it so"
    line = escape(result.line(result.conclusion.chosen))
    return (
        f'<p class="label">{label}</p><div class="launch"><pre class="line" id="line">{line}</pre>'
        '<button type="button" data-copy="line" hidden>Copy</button></div>'
    )


def _facts(result: Result) -> Iterator[tuple[str, str, str]]:
    """Name, value, small print."""
    found = result.conclusion
    if isinstance(found, Scan):
        yield from _facts_of_scan(found)
    elif isinstance(found, Recommendation):
        yield from _facts_of_recommendation(result, found)
    yield "blocks", str(result.blocks), f"{len(result.timed)} launches in random order"
    lost = sum(record.status == "capped" for record in result.timed)
    failed = sum(not record.ok for record in result.timed) - lost
    besides = f"; {lost} stopped as lost" if lost else ""
    yield "failed launches", str(failed), f"of {len(result.timed)}{besides}"
    yield "noisy launches", str(len(result.noisy)), "flagged by rules fixed beforehand"


def _facts_of_scan(found: Scan) -> Iterator[tuple[str, str, str]]:
    ran = [row for row in found.rows if row.speedup.estimate > 0]
    if not ran:
        return
    best = max(ran, key=lambda row: row.speedup.estimate)
    yield "best speedup", *text.times(best.speedup)
    yield "efficiency there", *text.share(best.efficiency)
    most = max(ran, key=lambda row: row.p)
    yield "cores used", f"{most.effective_cores:.1f}", f"of {most.p} asked"


def _facts_of_recommendation(result: Result, found: Recommendation) -> Iterator[tuple[str, str, str]]:
    quantity = text.quantity(result.experiment.response)
    seen = {candidate.configuration: candidate for candidate in found.candidates}
    for name, configuration in (("today", found.today), ("recommended", found.chosen)):
        if configuration in seen:
            yield name, *quantity(seen[configuration].time)


def _fact(name: str, value: str, small: str) -> str:
    note = f"<small>{escape(small)}</small>" if small else ""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{note}</dd></div>"


def _figure(chart: charts.Chart) -> str:
    """The picture, and what the page's script draws in its place where scripts run."""
    kind = "wide" if chart.wide else ""
    drawn = embedded(interactive.specification(chart)) if interactive.available() else ""
    live = f'<div class="live" hidden></div><script type="application/json">{drawn}</script>' if drawn else ""
    return (
        f'<figure id="chart-{chart.name}" class="{kind}"><h2>{escape(chart.title)}</h2>'
        f'<div class="picture">{static.svg(chart)}</div>{live}'
        f"<figcaption>{escape(chart.caption)}</figcaption></figure>"
    )


Row_ = tuple[str, Sequence[str]]
"""class of the table row, and its cells as HTML"""


def _rows(result: Result) -> tuple[Sequence[str], Iterable[Row_]]:
    """Column heads, and a row for every configuration."""
    name = text.quantity_name(result.experiment.response)
    found = result.conclusion
    found = found.found if isinstance(found, Study) else found
    if isinstance(found, Scan):
        heads = ["configuration", name, "speedup", "efficiency", "overhead", "cores used", "peak memory"]
        return heads, (("", _scan_row(result, row)) for row in found.rows)
    if isinstance(found, Recommendation):
        metrics = list(result.experiment.metrics)
        heads = ["configuration", name, "T(today) / T", "cores used", "core seconds", *metrics, "launches", "why not"]
        return heads, ((_class(found, one), _candidate(result, found, one, metrics)) for one in found.candidates)
    return ["command", name, "T / T(reference)", "cores used", "verdict"], _comparisons(result, found)


def _scan_row(result: Result, row: Row) -> Sequence[str]:
    quantity = text.quantity(result.experiment.response)
    failed = [f"{row.failures} of {row.launches} failed"] if row.failures else []
    idle = [f"asked {row.p}, used {row.effective_cores:.1f}"] if row.idle else []
    return [
        _name(result, row.configuration, alarms=[*idle, *failed]),
        _cell(quantity(row.time)),
        _cell(text.times(row.speedup)),
        _cell(text.share(row.efficiency)),
        _cell(text.share(row.overhead)),
        _number(row.effective_cores, 1),
        text.memory(row.peak_memory),
    ]


def _class(found: Recommendation, candidate: Candidate) -> str:
    return "chosen" if candidate.configuration == found.chosen else "excluded" if candidate.excluded else ""


def _candidate(result: Result, found: Recommendation, one: Candidate, metrics: Sequence[str]) -> Sequence[str]:
    roles = {"use this": found.chosen, "today": found.today}
    return [
        _name(result, one.configuration, [role for role, c in roles.items() if c == one.configuration]),
        _cell(text.quantity(result.experiment.response)(one.time)),
        _cell(text.times(one.ratio)),
        _number(one.effective_cores, 1),
        _number(one.core_seconds, 2),
        *(_number(one.metrics.get(name, float("nan")), 6) for name in metrics),
        str(one.launches),
        escape(one.excluded or ""),
    ]


def _comparisons(result: Result, found: Sequence[Comparison]) -> Iterator[Row_]:
    quantity = text.quantity(result.experiment.response)
    for first in found[:1]:
        cores = _number(_cores(result, first.reference), 1)
        time_cell = _cell(quantity(first.reference_time))
        yield "", [_name(result, first.reference, ["reference"]), time_cell, "1", cores, ""]
    for one in found:
        gate = f", gate {one.gate}" if one.gate else ""
        cores, time_cell = _number(_cores(result, one.other), 1), _cell(quantity(one.other_time))
        yield (
            "",
            [_name(result, one.other), time_cell, _cell(text.times(one.ratio)), cores, escape(one.decision + gate)],
        )


def _cores(result: Result, configuration: Configuration) -> float:
    of = [record.effective_cores for record in result.timed if record.ok and record.configuration == configuration]
    return median(of)


def _name(result: Result, configuration: Configuration, roles: Sequence[str] = (), alarms: Sequence[str] = ()) -> str:
    marks = [f'<span class="mark use">{escape(role)}</span>' for role in roles]
    marks += [f'<span class="mark alarm">{escape(mark)}</span>' for mark in (*result.labels(configuration), *alarms)]
    return f"{escape(configuration.label.removeprefix('command='))}<br>{''.join(marks)}" if marks else escape(
        configuration.label.removeprefix("command="))  # fmt: skip


def _cell(shown: text.Shown) -> str:
    value, ends = shown
    return f"{escape(value)}<small>{escape(ends)}</small>" if ends else escape(value)


def _number(value: float, digits: int) -> str:
    if math.isnan(value):
        return text.UNKNOWN
    return f"{value:.6g}" if digits > 4 else f"{value:.{digits}f}"


def _table(heads: Sequence[str], rows: Iterable[Row_]) -> str:
    texts = {0} | {k for k, head in enumerate(heads) if head in ("why not", "verdict")}
    head = "".join(f'<th scope="col"{_side(k, texts)}>{escape(name)}</th>' for k, name in enumerate(heads))
    body = "".join(
        f'<tr class="{kind}">' + "".join(f"<td{_side(k, texts)}>{cell}</td>" for k, cell in enumerate(cells)) + "</tr>"
        for kind, cells in rows
    )
    table = f'<table id="configurations"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def _side(k: int, texts: set[int]) -> str:
    return ("" if k not in texts else ' class="text"') if k == 0 or k not in texts else ' class="text reason"'


def _notes(result: Result) -> Iterator[str]:
    if isinstance(result.conclusion, Study):
        yield from (f"{one.finding.statement} {headline.answer(one)}" for one in result.conclusion.answers)
    yield headline.stop(result)
    if 0 < result.blocks < stats.fewest_blocks(result.confidence):
        yield text.no_interval(result.confidence)
    if isinstance(result.conclusion, Recommendation):
        yield headline.exploratory(result.conclusion)
        yield from headline.beside(result.conclusion, result.experiment.response)
    for constraint in result.experiment.constraints:
        yield f"subject to {constraint.metric} {constraint.relation} {constraint.bound:g}" + (
            " * today" if constraint.relative else "")  # fmt: skip
    yield from (f"left out: {reason}" for reason in result.experiment.left_out)


def _list(kind: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def _law(found: Scan | None) -> str:
    """The law of every curve with its parameters; a forecast says that it is extrapolated."""
    parts = []
    for curve in found.curves if found else ():
        best = curve.choice.best if curve.choice else None
        if curve.choice is None or best is None:
            continue
        lines = list(headline.parameters(best))
        if best.identifiable:
            beyond = best.forecast(2 * best.measured[1])
            lines.append(
                f"at p={beyond.p:g}: {text.join(text.time(beyond.seconds))}, extrapolated: holds if the law does"
            )
        doubt = [f"doubt: {best.doubt}"] if best.doubt else []
        label = f"<strong>{escape(curve.label)}</strong>: " if curve.label else ""
        parts.append(f"<p>{label}{escape(curve.choice.statement)}</p>{_list('said', [*lines, *doubt])}")
    return f"<section><h2>The law that fits</h2>{''.join(parts)}</section>" if parts else ""


def _failures(result: Result) -> str:
    """The first failure of every configuration with the end of its output."""
    bad = {record.configuration: record for record in reversed(result.timed) if not record.ok}
    parts = [
        f"<h3>{escape(c.label)}: {record.status}, exit {record.exit_code}</h3>"
        f'<pre class="tail">{"<br>".join(escape(line) for line in record.tail.splitlines())}</pre>'
        for c, record in reversed(bad.items())
    ]
    return f"<section><h2>Failures</h2>{''.join(parts)}</section>" if parts else ""


def _environment(environment: Mapping[str, Any]) -> str:
    flat = dict(_flat("", environment))
    cells = "".join(_fact(name, value, "") for name, value in flat.items())
    return f'<dl class="facts plain">{cells}</dl>' if cells else "<p>Nothing was recorded.</p>"


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """`machine.cpu_model`: value; lists of objects, such as one entry for each CPU, by their number."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list | tuple):
        plain = not any(isinstance(inner, Mapping | list | tuple) for inner in value)
        yield name, " ".join(map(str, value)) if plain else f"{len(value)} entries"
    elif value is not None and value != "":
        yield name, str(value)
