# SPDX-License-Identifier: Apache-2.0
"""What the measuring verbs do with records: conclude, show, export, and choose the exit code."""

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console, RenderableType

from corescale.api.results import machine_name
from corescale.conclude.answers.findings import MOSTLY
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.frame import frame
from corescale.conclude.policy import Decision
from corescale.conclude.warnings import agreements
from corescale.declare import paths
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Table
from corescale.declare.request import ExportRequest, RunRequest
from corescale.errors import CorescaleError, ExitCode, UsageError
from corescale.records import Record
from corescale.show import exchange, files, terminal, text
from corescale.show.exchange import table
from corescale.show.result import Result
from corescale.show.statements import alone


def outputs(result: Result, folder: Path, *, every_chart: bool = False) -> None:
    """Write every declared output into the folder, and if asked for, every other chart of the run."""
    experiment = result.experiment
    if not experiment.study.outputs and not every_chart:
        return
    from corescale.show import charts, html  # noqa: PLC0415  takes half a second to load

    files.make_folder(folder)
    rows = frame(result.records, experiment, machine_name(result.environment))
    for declared in experiment.study.outputs:
        if isinstance(declared, Table):
            name = f"{declared.name}{table.SUFFIX[declared.format]}"
            files.write(str(folder / name), table.table(declared, rows, experiment))
    if isinstance(result.conclusion, Study):
        said = {
            "findings.md": table.findings(
                result.conclusion.answers,
                map(str, agreements(result.records, experiment)),
                experiment.left_out,
                constants(experiment),
            ),
            "flat.csv": table.flat(result.conclusion),
        }
        for name, content in said.items():
            if content:
                files.write(str(folder / name), content)
    every = charts.of(result, html.curves_of(result), rows) if every_chart else charts.of_study(result, rows)
    charts.write(every, folder)
    typer.echo(f"outputs: {folder}", err=True)


def constants(experiment: Experiment) -> list[str]:
    """The parameters of the program that no launch varied, such as `iterations=24`."""
    fixed = (one for one in experiment.factors if one.kind == "parameter" and len(one.levels) == 1)
    return [f"{one.name}={one.levels[0]}" for one in fixed]


def finish(result: Result, request: RunRequest, late: CorescaleError | None = None) -> None:
    """Print, export, and exit by the table in docs/exit_codes.md. `late`, an error after measuring, is raised after the
    answer."""
    model = getattr(request, "model", False)
    shown_and_exported(result, request, as_json=request.json, verbose=request.verbose, model=model)
    if request.report:
        from corescale.show import html  # noqa: PLC0415  the charts' library takes half a second to load

        write_page(request.report, html.report(result), [*result.runs.values()])
    if late is not None:
        sys.stdout.flush()
        raise late
    code = exit_code(result.conclusion, result.timed, result.stop)
    sys.exit(ExitCode.INCONCLUSIVE if result.changed and code in (ExitCode.OK, ExitCode.REGRESSION) else code)


def shown_and_exported(result: Result, request: ExportRequest, *, as_json: bool, verbose: bool, model: bool) -> None:
    """Print the result, for a person or a program, and write each format that was asked for."""
    if as_json:
        written("-", exchange.to_json(result))
    else:
        onto = console(stderr=is_for_programs(request))
        printed(onto, terminal.render(result, brief=onto.is_terminal and not verbose, model=model))
    for name, target in exports(request).items():
        written(target, exchange.content(name, target, result))


def say(line: str) -> None:
    """Prints a line on standard output, without the control characters that a program's or file's words may have."""
    typer.echo(text.clean(line))


def note(said: str) -> None:
    """Prints a note on standard error, also without control characters."""
    typer.echo(f"note: {text.clean(said)}", err=True)


def is_for_programs(request: ExportRequest) -> bool:
    """Whether a page or an export goes to standard output; text for a person then goes to standard error."""
    return any(target in STDOUT for target in _targets(request))


def _targets(request: ExportRequest) -> list[str]:
    """Where the page and each format that was asked for go."""
    return [*filter(None, [getattr(request, "report", ""), *exports(request).values()])]


def exports(request: ExportRequest) -> dict[str, str]:
    """The file of each format that was asked for."""
    return {name: target for name in exchange.EXPORTERS if (target := getattr(request, f"export_{name}"))}


def write_page(file: str, content: str, runs: Sequence[Path] = ()) -> None:
    """Write a report of these runs, and say where it is; raises UsageError for a file that it may not replace."""
    files.must_be_ours(file, runs)
    written(file, content)
    if file not in STDOUT:
        typer.echo(f"report: {file}", err=True)


def written(target: str, content: str | bytes) -> None:
    """Writes into that file, or text onto standard output if it is `-` or another name of it."""
    if target in STDOUT and isinstance(content, str):
        sys.stdout.write(content)
        sys.stdout.flush()
    else:
        sys.stdout.flush()  # the target may be the same file
        files.write(target, content)


def must_be_writable(request: ExportRequest) -> None:
    """Raises UsageError for an export or report that cannot be written: before hours of measuring, and not after."""
    named = _targets(request)
    asked = {"--report": getattr(request, "report", "")}
    asked |= {f"--export-{name}": target for name, target in exports(request).items()}
    streams = [
        *(["--json"] if getattr(request, "json", False) else []),
        *(f"{name} {target}" for name, target in asked.items() if target in STDOUT),
    ]
    if len(streams) > 1:
        remedy = "leave one there, and name a file for each other"
        raise UsageError("two outputs would be on standard output", where=" ".join(streams), remedy=remedy)
    source, written_to = getattr(request, "input", ""), [*named, *filter(None, [getattr(request, "output", "")])]
    for target in written_to:
        if paths.is_file(source) and files.are_same(target, source):
            raise UsageError("is what --input reads, and would be lost", where=target, remedy="name another file")
        if target not in STDOUT and sum(files.are_same(target, other) for other in written_to) > 1:
            raise UsageError("two outputs would go there", where=target, remedy="name a file for each")
    for target in named:
        files.must_be_writable(target)
    for target in exports(request).values():
        files.must_be_text(target)
    files.must_be_ours(getattr(request, "report", ""))


NO_WIDTH, UNBOUNDED = 80, 10_000
"""columns for a terminal of unknown width (COLUMNS=0), and for output that is not a terminal"""

STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def printed(onto: Console, *shown: RenderableType) -> None:
    """Prints unchanged on a terminal, and elsewhere without trailing blanks. A line to paste is never cut."""
    if onto.is_terminal:
        onto.print(*shown, crop=False)
        return
    with onto.capture() as captured:
        onto.print(*shown, crop=False)
    onto.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    onto.file.flush()


def console(*, stderr: bool = False) -> Console:
    """The console that prints tables. If output is not a terminal, nothing has to fit, unless COLUMNS sets a width."""
    made = Console(stderr=stderr)
    if not made.is_terminal and not os.environ.get("COLUMNS", ""):
        made.width = UNBOUNDED
    made.width = made.width or NO_WIDTH
    return made


def exit_code(conclusion: Conclusion, launches: Sequence[Record] = (), stop: Decision | None = None) -> ExitCode:
    """OK, or the exit code of a gate; PROGRAM if none of the launches that count succeeded; PRELOAD if a tune had only
    allocators to try, and none can be preloaded.

    INCONCLUSIVE has these reasons:
    - a scan or comparison has no interval, or something in it never succeeded;
    - a level of a study failed in most of its launches;
    - no launch gave the response or met the constraint, or the launch to use is not shown to meet it;
    - the work of a weak scan turned out uneven;
    - the budget of a tune ended before anything was compared or decided;
    - the budget of a single command ended before its time had an interval.
    """
    if launches and not any(record.ok for record in launches):
        return ExitCode.PROGRAM
    if stop is not None and stop.reason == "budget" and _lacks_an_interval(conclusion):
        return ExitCode.INCONCLUSIVE
    if isinstance(conclusion, tuple):
        return _gated(conclusion)
    if isinstance(conclusion, Recommendation):
        if not conclusion.others and conclusion.no_preload:
            return ExitCode.PRELOAD
        open_ = not conclusion.usable
    elif isinstance(conclusion, Scan):
        uneven = conclusion.weak is not None and bool(conclusion.weak.refusal)
        open_ = uneven or conclusion.unsure or _lacks_a_level(conclusion)
    else:
        open_ = _has_a_failing_level(conclusion.found)
    return ExitCode.INCONCLUSIVE if open_ else ExitCode.OK


def _gated(found: Sequence[Comparison]) -> ExitCode:
    """The exit code by the gates of a comparison. A failed launch takes precedence over a time that is too long."""
    gates = {one.gate for one in found}
    if "crashed" in gates:
        return ExitCode.PROGRAM
    if "failed" in gates:
        return ExitCode.REGRESSION
    open_ = ("too few blocks", "failed")
    unsure = any(one.never or math.isnan(one.ratio.estimate) or one.decision in open_ for one in found)
    return ExitCode.INCONCLUSIVE if unsure or not found or "inconclusive" in gates else ExitCode.OK


def _has_a_failing_level(found: Scan) -> bool:
    """Whether a level failed in most of its launches."""
    return any(row.failures > MOSTLY * row.launches for row in (*found.rows, *filter(None, [found.serial])))


def _lacks_a_level(found: Scan) -> bool:
    """Whether a level failed in most of its launches, or no launch reported a response (above 0, for ratios)."""
    if _has_a_failing_level(found):
        return True
    return bool(found.rows) and alone(found) is None and not any(row.time.estimate > 0 for row in found.rows)


def _lacks_an_interval(found: Conclusion) -> bool:
    """Whether this is the time of a single command with too few launches for an interval."""
    rows = found.rows if isinstance(found, Scan) else found if isinstance(found, tuple) else ()
    return alone(found) is not None and any(row.time.low is None for row in rows)
