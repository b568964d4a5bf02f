# SPDX-License-Identifier: Apache-2.0
"""A result on the terminal: the headline first, then the numbers behind it. The functions only return what rich can
print.

If a terminal is too narrow for some columns, a line names them. Foreign text is cleaned and passed as `Text`, so that
markup and escape sequences of a measured program have no effect. No meaning depends on colour alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.timing import Timing
from corescale.conclude.answers.verdict import Comparison
from corescale.endings import ending, spoiled
from corescale.records import COMMAND, Level, Record
from corescale.show import headline, plot, statements, text
from corescale.show.naming import current, label
from corescale.show.result import Result
from corescale.show.statements import alone
from corescale.show.suggestion import suggestion
from corescale.show.terminal import tables

CANDIDATES_SHOWN = 12
"""most candidates of a tune that are shown; they always include the baseline and the answer"""

IN_FULL = "--report FILE or --json has them all"


BRIEF_CANDIDATES, BRIEF_NOTES = 3, 2
"""numbers of candidates and notes that fit on a screen of 80 columns and 24 lines"""


def render(result: Result, *, brief: bool = False, model: bool = False) -> RenderableType:
    """The whole answer of a verb, with a gate's verdict as the first line.

    `brief`: only as much as fits on one screen. `model`: with models.
    """
    first = Text(headline.headline(result, "\n"), style="bold")
    if result.run:
        first.append(f" [{text.clean(result.run)}]", style="not bold")
    return Group(*_gates(result), first, *_body(result, brief=brief, model=model), *_footer(result, brief=brief))


def _gates(result: Result) -> Iterable[Text]:
    found = result.conclusion
    if alone(found) is not None or isinstance(found, Recommendation | Study | Scan) or result.changed:
        return
    response = result.experiment.response
    for comparison in found:
        for one in comparison.gates:
            style = {"passed": "green", "inconclusive": "yellow"}.get(one.verdict, "bold red")
            yield Text(f"gate {one.verdict}: {headline.gate(comparison, one, response)}", style=style)


def _body(result: Result, *, brief: bool, model: bool) -> Iterable[RenderableType]:
    found = result.conclusion
    if (only := alone(found)) is not None:
        return _timed(only, result.experiment.response)
    if isinstance(found, Recommendation):
        return _recommended(result, found, BRIEF_CANDIDATES if brief else CANDIDATES_SHOWN)
    if isinstance(found, Study):
        return _studied(result, found)
    return _scanned(result, found, model=model) if isinstance(found, Scan) else _compared(result, found)


def _timed(found: Timing, response: str) -> Iterable[RenderableType]:
    """A single command: the median and the CPU time (if known), below the first line."""
    cpu = f"; user {text.seconds(found.user)}, system {text.seconds(found.system)}" if found.user >= 0 else ""
    yield Text(f"median {text.value(found.median, response)}{cpu}")
    if found.apart:
        far = text.count(found.apart, "launch is", "launches are")
        yield Text(f"{far} far from the others: something else ran, or the first launches warmed a cache", "yellow")


@dataclass(frozen=True)
class Chart:
    """The text chart, in the width and the characters that the terminal has."""

    scan: Scan

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        yield Text(plot.scaling(self.scan, options.max_width, options.ascii_only), no_wrap=True)


def _recommended(result: Result, found: Recommendation, most: int) -> Iterable[RenderableType]:
    yield Text()
    use = "launch it with, if it meets the constraint:" if found.not_shown else "launch it with:"
    yield Text(f"{current(found.untyped)}:" if found.keep_baseline else use)
    yield Text(f"  {result.line(found.chosen)}", style="bold cyan", no_wrap=True, overflow="ignore")
    yield Text()
    if found.candidates:
        yield from _candidates(result, found, most)
        yield Text(headline.exploratory(found), style="dim")
    for constraint in result.experiment.tuning.constraints:
        yield Text(statements.constraint(constraint, result.experiment.metrics))


def _candidates(result: Result, found: Recommendation, most: int) -> Iterable[RenderableType]:
    """The fastest configurations, and the baseline and the answer."""
    always = (found.baseline, found.chosen)
    shown = [c for k, c in enumerate(found.candidates) if k < most or c.configuration in always]
    yield tables.candidates(result, found, shown)
    if left := len(found.candidates) - len(shown):
        yield Text(f"{left} more configurations: {IN_FULL}", "dim")


def _excluded(found: Recommendation) -> Iterable[Text]:
    """Lines about excluded candidates: first those that failed, then those that were capped."""
    excluded = [candidate for candidate in found.candidates if candidate.excluded is not None]
    for candidate in sorted(excluded, key=lambda candidate: candidate.capped):
        name = label(candidate.configuration, found.ineffective)
        yield Text(f"excluded: {name}: {text.clean(str(candidate.excluded))}", "yellow")


def _studied(result: Result, found: Study) -> Iterable[RenderableType]:
    """The findings, followed by the curves as in a scan. Curves with more than MOST_ROWS rows are only counted."""
    yield from findings(found.answers)
    if len(found.found.rows) <= MOST_ROWS:
        yield from _scanned(result, found.found, chart=False)
        return
    yield Text()
    yield Text(f"{len(found.found.rows)} configurations: the outputs list them all", style="dim")
    yield from _flat(found.found)


MOST_ROWS = 24
"""most rows of a study's table on a terminal"""


def findings(answers: Sequence[Answer | Modelled]) -> Iterable[RenderableType]:
    """Each statement, and below it its answers, one for each level."""
    style = {"holds": "green", "does not hold": "red"}
    for name in dict.fromkeys(answer.finding.name for answer in answers):
        of = [answer for answer in answers if answer.finding.name == name]
        yield Text()
        yield Text(text.clean(of[0].finding.statement), style="bold")
        for answer in of:
            yield Text(f"  {statements.answer(answer)}", style=style.get(answer.verdict, "yellow"))


def _flat(found: Scan) -> Iterable[RenderableType]:
    if found.weak is None or found.weak.refusal:
        return
    yield Text()
    yield Text("T = a + b work over the loads; a is overhead that does not grow with the work", style="bold")
    for line in found.weak.lines:
        yield Text(f"  {statements.flat(line, found.response)}")


def _scanned(result: Result, found: Scan, *, chart: bool = True, model: bool = True) -> Iterable[RenderableType]:
    for curve in found.curves:
        yield Text()
        if curve.label:
            yield Text(text.clean(curve.label), style="bold")
        yield tables.curve(result, curve)
        yield from _model(curve, found.response) if model else ()
    yield from _flat(found)
    if not model or not result.experiment.makes_p:
        return
    work = " (of work per second)" if found.weak else ""
    unit = f"speedup{work} 1 is {text.clean(found.baseline)}"
    yield Text(f"{unit}; efficiency = speedup / p, overhead = 1 / efficiency - 1", "dim")
    if chart:
        yield Text()
        yield Chart(found)


def _model(curve: Curve, response: str) -> Iterable[RenderableType]:
    if curve.choice is not None and curve.choice.best is not None:
        yield Text(f"model: {curve.choice.statement}")
        for line in statements.model(curve, response):
            yield Text(f"  {line}")


def _compared(result: Result, found: Sequence[Comparison]) -> Iterable[RenderableType]:
    yield Text()
    yield tables.comparisons(result)
    if said := headline.means(found, result.experiment.response):
        yield Text(said, style="dim")


def _footer(result: Result, *, brief: bool) -> Iterable[RenderableType]:
    yield Text(headline.stop(result), style="dim")
    notes = list(_notes(result))
    shown = notes[:BRIEF_NOTES] if brief else notes
    yield from shown
    if more := len(notes) - len(shown):
        yield Text(f"{text.count(more, 'more note')}: -v", style="dim")
    if (next_one := suggestion(result)) != "":
        yield Text(f"next: {next_one}", style="dim")


def _notes(result: Result) -> Iterable[Text]:
    """Notes on the numbers, the most important first."""
    yield from _failures(result)
    if (few := headline.too_few(result)) != "":
        yield Text(few, style="yellow")
    if isinstance(result.conclusion, Recommendation):
        yield from map(Text, headline.beside(result.conclusion, rehearses=bool(result.experiment.tuning.rehearsal)))
    for warning in result.warnings:
        yield Text(f"warning: {text.clean(warning)}", style="yellow")
    if (without := headline.undisturbed(result)) != "":
        yield Text(without, style="yellow")
    if isinstance(result.conclusion, Recommendation):
        yield from _excluded(result.conclusion)
    for reason in result.experiment.left_out:
        yield Text(f"left out: {text.clean(reason)}", style="dim")


def _failures(result: Result) -> Iterable[Text]:
    candidates = result.conclusion.candidates if isinstance(result.conclusion, Recommendation) else ()
    excluded = {candidate.configuration for candidate in candidates if candidate.excluded}
    bad = [record for record in result.timed if not record.ok and record.configuration not in excluded]
    for configuration, capped in dict.fromkeys((record.configuration, record.status == "capped") for record in bad):
        of = [r for r in bad if (r.configuration, r.status == "capped") == (configuration, capped)]
        what = f"{text.count(len(of), 'time')}, {text.clean(ending(of[0]))}"
        said = f"{'capped' if capped else 'failed'}: {label(configuration)}: {what}"
        yield Text(said.rstrip(), style="yellow" if capped else "red")
    yield from _spoiled(result)


def _spoiled(result: Result) -> Iterable[Text]:
    """What to do about a program that no longer works at a level at which it did."""
    of: dict[Level | None, list[Record]] = {}
    for record in result.records:
        of.setdefault(record.configuration.get(COMMAND), []).append(record)
    for launches in of.values():
        both = {one.configuration for one in launches if one.ok} & {one.configuration for one in launches if not one.ok}
        if both and (said := spoiled(launches, result.experiment.typed("--prepare"))):
            yield Text(said, style="red")
