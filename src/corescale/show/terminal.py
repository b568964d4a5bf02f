# SPDX-License-Identifier: Apache-2.0
"""A result on the terminal: the headline first, then what it rests upon. Pure: returns what rich can print.

What is left out of a narrow terminal is named. Foreign text enters as `Text`, after `clean`, so that neither markup nor
escape sequences of a measured program are obeyed. Meaning is never in colour alone.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from corescale.conclude import stats
from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.laws import Fit
from corescale.endings import ending
from corescale.records import Configuration
from corescale.show import headline, plot, text
from corescale.show.result import Result


@dataclass(frozen=True, slots=True)
class Shape:
    """How much room a table takes."""

    beside: bool
    """intervals stand beside their numbers, else beneath"""
    full: bool
    """every column, else those that the question is about"""
    least: bool = False
    """nor those that follow from the others"""


SHAPES = (
    Shape(beside=True, full=True),
    Shape(beside=False, full=True),
    Shape(beside=False, full=False),
    Shape(beside=False, full=False, least=True),
)
"""From roomy to narrow; the first that fits is printed."""


CANDIDATES_SHOWN, EXCLUDED_SHOWN = 12, 8
"""of a tune: today's launch and the answer are always among them"""

IN_FULL = "--report FILE or --json has them all"


def render(result: Result) -> RenderableType:
    """The whole answer of a verb."""
    first = Text(headline.headline(result, "\n"), style="bold")
    body = _body(result)
    return Group(first, *body, *_footer(result))


def _body(result: Result) -> Iterable[RenderableType]:
    found = result.conclusion
    if isinstance(found, Recommendation):
        return _recommended(result, found)
    if isinstance(found, Study):
        return _studied(result, found)
    return _scanned(result, found) if isinstance(found, Scan) else _compared(result, found)


def recommended_line(result: Result) -> str:
    """The line to paste, for a shell; empty where a result recommends nothing."""
    return result.line(result.conclusion.chosen) if isinstance(result.conclusion, Recommendation) else ""


@dataclass(frozen=True)
class FirstThatFits:
    """Of several renderables the first that no line of has to be folded, else the last."""

    choices: Sequence[RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        free = options.update(max_width=10_000)
        widths = [Measurement.get(console, free, choice).maximum for choice in self.choices]
        fitting = [choice for choice, width in zip(self.choices, widths, strict=True) if width <= options.max_width]
        yield [*fitting, self.choices[-1]][0]


@dataclass(frozen=True)
class Chart:
    """The text chart, in the width and the characters that the terminal has."""

    scan: Scan

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        yield Text(plot.scaling(self.scan, options.max_width, options.ascii_only), no_wrap=True)


def _recommended(result: Result, found: Recommendation) -> Iterable[RenderableType]:
    yield Text()
    yield Text("launch it so:" if not found.keep_today else "today's launch:")
    yield Text(f"  {recommended_line(result)}", style="bold cyan", no_wrap=True, overflow="ignore")
    yield Text()
    if found.candidates:
        yield FirstThatFits([_candidates(result, found, shape) for shape in SHAPES])
        yield Text(headline.exploratory(found), style="dim")
    for line in headline.beside(found, result.experiment.response):
        yield Text(line)
    for constraint in result.experiment.constraints:
        times_today = " * today" if constraint.relative else ""
        yield Text(
            f"subject to: {text.clean(constraint.metric)} {constraint.relation} {constraint.bound:g}{times_today}"
        )
    yield from _excluded(found)


def _excluded(found: Recommendation) -> Iterable[RenderableType]:
    """The first few one by one: what failed before what had merely lost."""
    excluded = [candidate for candidate in found.candidates if candidate.excluded is not None]
    excluded.sort(key=lambda candidate: "lost" in str(candidate.excluded))
    for candidate in excluded[:EXCLUDED_SHOWN]:
        yield Text(
            f"excluded: {text.clean(candidate.configuration.label)}: {text.clean(str(candidate.excluded))}", "yellow"
        )
    if len(excluded) > EXCLUDED_SHOWN:
        yield Text(f"excluded: {len(excluded) - EXCLUDED_SHOWN} more ({IN_FULL})", "yellow")


def _candidates(result: Result, found: Recommendation, shape: Shape) -> RenderableType:
    head = text.quantity_name(result.experiment.response)
    metrics = tuple(result.experiment.metrics)
    names = [factor.name for factor in result.experiment.factors] if shape.full else ["launch"]
    more = ["core-s", *metrics, ""] if shape.full else []
    table = _table([*names, head, "T(today) / T", "cores", *more], left=(*names, ""))
    now = [candidate for candidate in found.candidates[CANDIDATES_SHOWN:] if candidate.configuration == found.today]
    shown = [*found.candidates[:CANDIDATES_SHOWN], *now]
    for candidate in shown:
        table.add_row(*_candidate(result, found, candidate, metrics, shape))
    left = len(found.candidates) - len(shown)
    rest = [Text(f"{left} more configurations: {IN_FULL}", "dim")] if left else []
    return Group(table, *rest, *([] if shape.full else [_omitted(["core seconds", *metrics])]))


def _candidate(
    result: Result, found: Recommendation, candidate: Candidate, metrics: Sequence[str], shape: Shape
) -> list[Text]:
    levels = [Text(text.clean(str(level))) for _, level in candidate.configuration.levels]
    named = Text(text.clean(candidate.configuration.label))
    notes = Text("\n".join([*_roles(found, candidate), *result.labels(candidate.configuration)]))
    cells = [
        _cell(text.quantity(result.experiment.response)(candidate.time), shape),
        _cell(text.times(candidate.ratio), shape),
        Text(_decimal(candidate.effective_cores, 1)),
    ]
    if shape.full:
        more = [candidate.metrics.get(name, math.nan) for name in metrics]
        cells = [*levels, *cells, Text(_decimal(candidate.core_seconds, 2)), *map(Text, map(_general, more)), notes]
    else:
        cells = [Text("\n").join(filter(None, [named, notes])), *cells]
    for cell in cells:
        cell.stylize("bold" if candidate.configuration == found.chosen else "dim" if candidate.excluded else "")
    return cells


def _roles(found: Recommendation, candidate: Candidate) -> list[str]:
    roles = {"use this": found.chosen, "today": found.today}
    named = [role for role, configuration in roles.items() if candidate.configuration == configuration]
    return [*([", ".join(named)] if named else []), *(["excluded"] if candidate.excluded else [])]


def _studied(result: Result, found: Study) -> Iterable[RenderableType]:
    """The findings, then the curves as a scan shows them; of a large study only their number."""
    yield from findings(found.answers)
    if len(found.found.rows) <= MOST_ROWS:
        yield from _scanned(result, found.found, chart=False)
        return
    yield Text()
    yield Text(f"{len(found.found.rows)} configurations: the outputs have them all", style="dim")
    yield from _flat(found.found)


MOST_ROWS = 24
"""of a study's table on a terminal"""


def findings(answers: Sequence[Answer]) -> Iterable[RenderableType]:
    """Each statement, with what was found at each level beneath."""
    style = {"holds": "green", "does not hold": "red"}
    for name in dict.fromkeys(answer.finding.name for answer in answers):
        of = [answer for answer in answers if answer.finding.name == name]
        yield Text()
        yield Text(text.clean(of[0].finding.statement), style="bold")
        for answer in of:
            yield Text(f"  {headline.answer(answer)}", style=style.get(answer.verdict, "yellow"))


def _flat(found: Scan) -> Iterable[RenderableType]:
    if found.weak is None or found.weak.refusal:
        return
    yield Text()
    yield Text("T = a + b work over the loads; a is overhead that does not grow with the work", style="bold")
    for line in found.weak.lines:
        yield Text(f"  {headline.flat(line)}")


def _scanned(result: Result, found: Scan, *, chart: bool = True) -> Iterable[RenderableType]:
    for curve in found.curves:
        yield Text()
        if curve.label:
            yield Text(text.clean(curve.label), style="bold")
        yield FirstThatFits([_scan_table(result, curve, shape) for shape in SHAPES])
        yield from _law(curve)
    yield from _flat(found)
    work = " (of work per second)" if found.weak else ""
    unit = f"speedup{work} 1 is {text.clean(found.baseline)}"
    yield Text(f"{unit}; efficiency = speedup / p, overhead = 1 / efficiency - 1", "dim")
    if chart:
        yield Text()
        yield Chart(found)


def _scan_table(result: Result, curve: Curve, shape: Shape) -> RenderableType:
    columns = ["p", text.quantity_name(result.experiment.response), "speedup"]
    columns += [] if shape.least else ["efficiency"]
    table = _table([*columns, *(["overhead", "cores", "memory"] if shape.full else ["cores"])])
    for row in curve.rows:
        table.add_row(*_scan_row(result, row, shape))
    omitted = [*(["efficiency"] if shape.least else []), "overhead", "peak memory"]
    return table if shape.full else Group(table, _omitted(omitted))


def _scan_row(result: Result, row: Row, shape: Shape) -> list[Text]:
    marks = [*result.labels(row.configuration), *([f"{row.failures} failed"] if row.failures else [])]
    p = Text("\n".join([str(row.p), *marks]))
    p.stylize("yellow", len(str(row.p)))
    cores = Text(_decimal(row.effective_cores, 1), style="bold yellow" if row.idle else "")
    if row.idle:
        cores.append(f"\nof {row.p}!")
    numbers = [text.quantity(result.experiment.response)(row.time), text.times(row.speedup)]
    numbers += [] if shape.least else [text.share(row.efficiency)]
    if not shape.full:
        return [p, *(_cell(shown, shape) for shown in numbers), cores]
    numbers.append(text.share(row.overhead))
    return [p, *(_cell(shown, shape) for shown in numbers), cores, Text(text.memory(row.peak_memory))]


def _law(curve: Curve) -> Iterable[RenderableType]:
    if curve.choice is None or curve.choice.best is None:
        return
    best = curve.choice.best
    yield Text(f"law: {curve.choice.statement}")
    for line in headline.parameters(best):
        yield Text(f"  {line}")
    if best.doubt:
        yield Text(f"  doubt: {best.doubt}", style="yellow")
    yield from _forecast(best)


def _forecast(best: Fit) -> Iterable[RenderableType]:
    if not best.identifiable:
        return
    beyond = best.forecast(2 * best.measured[1])
    word = "extrapolated" if beyond.extrapolated else "interpolated"
    yield Text(f"  forecast at p={beyond.p:g}: {text.join(text.time(beyond.seconds))} ({word}: holds if the law does)")


def _compared(result: Result, found: Sequence[Comparison]) -> Iterable[RenderableType]:
    yield Text()
    yield FirstThatFits([_comparisons(result, found, shape) for shape in SHAPES])
    for comparison in found:
        if comparison.gate is not None:
            style = {"passed": "green", "failed": "bold red"}.get(comparison.gate, "yellow")
            yield Text(f"gate {comparison.gate}: {headline.name(comparison.other)}", style=style)


def _comparisons(result: Result, found: Sequence[Comparison], shape: Shape) -> Table:
    quantity = text.quantity(result.experiment.response)
    head = text.quantity_name(result.experiment.response)
    table = _table(["command", head, "T / T(reference)", "p-value"], left=("command",))
    for first in found[:1]:
        name, time = _name(result, first.reference, ["reference"]), _cell(quantity(first.reference_time), shape)
        table.add_row(name, time, Text("1.00x"), Text())
    for one in found:
        table.add_row(
            _name(result, one.other, []),
            _cell(quantity(one.other_time), shape),
            _cell(text.times(one.ratio), shape),
            Text(f"{one.p_value:.2g}"),
        )
    return table


def _footer(result: Result) -> Iterable[RenderableType]:
    yield Text(headline.stop(result), style="dim")
    if 0 < result.blocks < stats.fewest_blocks(result.confidence):
        missing = text.no_interval(result.confidence)
        yield Text(f"{missing}: numbers without brackets are estimates only", style="yellow")
    for doubt in result.doubts:
        yield Text(f"doubt: {text.clean(doubt)}", style="yellow")
    if (without := headline.undisturbed(result)) != "":
        yield Text(without, style="yellow")
    yield from _failures(result)
    for reason in result.experiment.left_out:
        yield Text(f"left out: {text.clean(reason)}", style="dim")
    if (suggestion := headline.suggestion(result)) != "":
        yield Text(f"next: {suggestion}", style="dim")


def _failures(result: Result) -> Iterable[RenderableType]:
    told = result.conclusion.candidates if isinstance(result.conclusion, Recommendation) else ()
    excluded = {candidate.configuration for candidate in told if candidate.excluded}
    bad = [record for record in result.timed if not record.ok and record.configuration not in excluded]
    for configuration in dict.fromkeys(record.configuration for record in bad):
        of = [record for record in bad if record.configuration == configuration]
        what = f"{headline.count(len(of), 'time')}, {text.clean(ending(of[0]))}"
        yield Text(f"failed: {text.clean(configuration.label)}: {what}".rstrip(), style="red")


def _table(columns: Sequence[str], left: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1), collapse_padding=True)
    for column in columns:
        table.add_column(Text(column), justify="left" if column in left else "right", overflow="fold")
    return table


def _omitted(names: Sequence[str]) -> Text:
    return Text(f"{', '.join(map(text.clean, names))}: in a wider terminal, or by --json", style="dim")


def _cell(shown: text.Shown, shape: Shape) -> Text:
    """The number, its interval beside or beneath it."""
    value, ends = shown
    return Text.assemble(value, (" " if shape.beside else "\n", "") if ends else "", (ends, "dim"))


def _name(result: Result, configuration: Configuration, roles: Sequence[str]) -> Text:
    marks = [*roles, *result.labels(configuration)]
    return Text(headline.name(configuration) + (f" ({', '.join(marks)})" if marks else ""))


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else text.UNKNOWN


def _general(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else text.UNKNOWN
