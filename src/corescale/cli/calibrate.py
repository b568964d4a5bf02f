# SPDX-License-Identifier: Apache-2.0
"""`corescale calibrate`: measures the constants by which the library's loops choose their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from corescale import documents
from corescale.api.results import result
from corescale.calibration import LOOPS_VARIABLE, VARIABLE, file_in_use, file_text, of_machine, parse, standard_file
from corescale.cli.measure import measure
from corescale.cli.options import must_have
from corescale.cli.output import console, note, outputs, printed
from corescale.declare import paths, studies, study_file
from corescale.declare.request import StudyRequest
from corescale.errors import ExitCode, UsageError
from corescale.machine import Machine
from corescale.observe import constants
from corescale.show import calibration as show
from corescale.show import files

if TYPE_CHECKING:
    from corescale.conclude.block_size.scoring import Trained

TRAINING = "block_size_training"


def calibrate(
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="the file to write (default: in ~/.config/corescale)"),
    ] = None,
    train: Annotated[
        bool,
        typer.Option("--train", help="also fit weights, to LOOPS or (for minutes) to a sweep of the unit task"),
    ] = False,
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--levels", metavar="FACTOR=LEVELS", help="with --train: sizes of your loops, as n=1000 operations=9000"
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("-r", "--runs", metavar="N", help="with --train: number of blocks")
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="with --train: folder of the run folders")] = "",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="show no progress")] = False,
    loops: Annotated[
        Path | None,
        typer.Argument(
            metavar="LOOPS", help=f"with --train: loops that a program wrote, run with {LOOPS_VARIABLE}=LOOPS"
        ),
    ] = None,
) -> None:
    """Measure this machine for 5 s, and write the file from which parallel_for chooses blocks."""
    if not train:
        must_have({"LOOPS": loops, "--runs": runs is not None, "--levels": levels, "--out": out}, "--train")
    elif output:
        raise UsageError("--train adds to the file that is in use", where="--output", remedy="leave one of them out")
    elif loops and (runs is not None or levels or out):
        raise UsageError(f"{loops} is not launched", where="--train", remedy="drop -r, --levels and --out")
    machine = Machine.here()
    if train and loops:
        _fit(machine, *_recorded(machine, loops))
    elif train:
        _fit(machine, *_launched(machine, StudyRequest(runs=runs, out=out, quiet=quiet), levels or ()))
    else:
        if output is None:
            file = standard_file()
            if file.is_relative_to(Path.home()) and not paths.is_folder(Path.home()):
                raise UsageError("no such folder", where=f"HOME={Path.home()}", remedy="name a file by --output")
            files.make_folder(file.parent)
        _write(machine, output or standard_file(), asked=output is not None, quiet=quiet)


def _write(machine: Machine, file: Path, *, asked: bool, quiet: bool) -> None:
    """`asked`: the file was named; then a calibration with a warning may replace a good one. No other kind of file is
    replaced."""
    if str(file) == "-":
        raise UsageError("writes a file", where="--output -", remedy="name one")
    files.must_be_writable(str(file))
    if asked:
        files.must_be_ours(str(file), kind="calibration")
    with Console(stderr=True, quiet=quiet).status("measuring this machine") as status:
        found = constants.measure(machine, status.update)
    keeps = bool(found.warning) and not asked and _is_good(file, found.machine)
    if not keeps:
        files.write(str(file), file_text(found, machine.in_words))
    printed(console(), show.table(found))
    if found.warning:
        typer.echo(
            f"doubtful: {found.warning} meanwhile, and loops would believe it; calibrate again on a quiet machine"
        )
    if keeps:
        typer.echo(f"kept {file}, which is not doubtful; --output {file} replaces it all the same")
    else:
        typer.echo(f"wrote {file}; loops of this library read it after: export {VARIABLE}={file}")
    if found.warning:
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _is_good(file: Path, machine: str) -> bool:
    """Whether the file is a calibration of this machine without a warning."""
    try:
        there = parse(documents.content(file).decode(errors="replace"), str(file))
    except (OSError, UsageError):
        return False
    return there.machine == machine and not there.warning


def _recorded(machine: Machine, file: Path) -> tuple[Trained, tuple[Table, ...]]:
    """The loops that a program recorded, and a table of them."""
    from corescale.conclude.block_size import recorded  # noqa: PLC0415  takes half a second to load

    try:
        text = file.read_text(errors="replace")
    except OSError as error:
        remedy = f"run your program with {LOOPS_VARIABLE}={file} in its environment"
        raise UsageError(error.strerror or "cannot be read", where=str(file), remedy=remedy) from error
    found = recorded.recorded(text, str(file), machine.cpus_in_words, _groups(machine))
    return found, (show.loops(found.columns),)


def _launched(machine: Machine, request: StudyRequest, levels: Sequence[str]) -> tuple[Trained, tuple[Table, ...]]:
    """The loops of the study, resumed where it was interrupted."""
    from corescale.conclude.block_size import scoring  # noqa: PLC0415

    note(
        "a sweep of the unit task takes minutes; loops that a program recorded need no launch: calibrate --train LOOPS"
    )
    experiment = study_file.experiment(studies.find(TRAINING), machine, levels, runs=request.runs)
    made = measure(experiment, request, machine)
    outputs(result(made, machine), made.folder / "outputs")
    return scoring.trained(made.records, _groups(machine)), ()


def _groups(machine: Machine) -> int:
    return len({cpu.l3_domain for cpu in machine.usable})


def _fit(machine: Machine, trained: Trained, tables: Sequence[Table]) -> None:
    """The score of each model on the loops, and the weights."""
    from corescale.conclude.block_size import scoring  # noqa: PLC0415

    found, (known, missing) = scoring.scores(trained), of_machine(machine.fingerprint())
    printed(console(), *tables, show.scores(found), show.fitted(found, known.values if known else {}))
    if known is not None and known.warning:
        typer.echo(f"the calibrated constants are doubtful: {known.warning} while they were measured")
    if known is None:
        typer.echo(f"the weights are written nowhere: {missing}")
        return
    file, more = file_in_use(), replace(known, values={**known.values, **found.weights})
    files.write(str(file), file_text(more, machine.in_words))
    typer.echo(f"added to {file}, for the policy trained: {', '.join(found.weights)}")
