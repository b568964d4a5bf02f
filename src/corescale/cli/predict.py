# SPDX-License-Identifier: Apache-2.0
"""`corescale predict`: the time at other numbers of cores, from a scan's model; and how such forecasts have fared."""

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from corescale.cli import usage_errors
from corescale.cli.simulate import Asked, simulated
from corescale.conclude import overhead_forecast
from corescale.conclude.forecast import FAR, MODEL_NAMES, Prediction, Scored, held_back, score
from corescale.conclude.forecast import predict as forecast
from corescale.declare.factors import KINDS
from corescale.errors import ExitCode, StoreError, UsageError
from corescale.observe import store
from corescale.records import Layout
from corescale.show import statements, text

MOST = 10**9
"""cores that a forecast may be asked for"""


def predict(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="run folders of scans; with --simulate the program, after --"),
    ] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", min=1, max=MOST, metavar="P", help="number of cores to forecast")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help=f"{', '.join(MODEL_NAMES)} (default: as a scan chooses)")
    ] = "",
    overhead: Annotated[
        list[str] | None,
        typer.Option("--overhead", metavar="SUM", help="from overhead as a sum, such as 'p / points'; may be repeated"),
    ] = None,
    track_record: Annotated[
        bool,
        typer.Option(
            "--track-record",
            help="score forecasts that `scan --seal` sealed, else those from the smaller half of each run; "
            "with --overhead forecasts of that sum",
        ),
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help=f"forecast beyond {FAR:g} times the largest p measured too")
    ] = False,
    simulate: Annotated[
        str, typer.Option("--simulate", metavar="FILE", help="launch the program on this cluster, by SimGrid")
    ] = "",
    layouts: Annotated[
        str,
        typer.Option(
            "--layouts",
            metavar="TxMxN,...",
            help="to forecast; with --simulate by default all that fill 1, 2, 4, ... nodes",
        ),
    ] = "",
    grade: Annotated[
        str,
        typer.Option(
            "--grade",
            metavar="mpi|slurm|ssh",
            help="with --simulate: also launch what can be launched, and print errors",
        ),
    ] = "",
    hosts: Annotated[str, typer.Option("--hosts", metavar="FILE", help="of --grade ssh")] = "",
    allocation: Annotated[str, typer.Option("--allocation", metavar="OPTIONS", help="of --grade slurm")] = "",
    response: Annotated[str, typer.Option("--response", help="of --simulate: wall or metric:NAME")] = "wall",
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """What more cores would give: corescale predict corescale-runs/scan-1234/1 --cores 64"""
    if simulate:
        if cores is not None or model or overhead or track_record or anyway:
            remedy = "leave out --cores, --model, --overhead, --track-record and --anyway"
            raise UsageError("forecasts are from runs", where="--simulate", remedy=remedy)
        if not words:
            raise UsageError("no program to simulate", where="--simulate", remedy="write it behind --: -- ./program")
        options = {name: value for name, value in {"hosts": hosts, "allocation": allocation}.items() if value}
        simulated(Asked(words, simulate, response, grade, options, json), layouts)
        return
    simulating = {"--grade": grade, "--response": response != "wall"}
    usage_errors.must_have(simulating | {"--hosts": hosts, "--allocation": allocation}, "--simulate FILE")
    if not words:
        raise UsageError("no run", remedy="give the folder of a scan, or --simulate FILE -- ./program")
    runs = [Path(word) for word in words]
    if layouts:
        if cores is not None or model or track_record:
            remedy = "leave out --cores, --model and --track-record"
            raise UsageError("names its own p", where="--layouts", remedy=remedy)
        by_layout(runs, layouts.split(","), overhead or [], anyway=anyway, json=json)
        return
    _must_be_one(cores, model, overhead or [], track_record=track_record, anyway=anyway)
    at_cores(runs, cores, model, overhead or [], anyway=anyway, json=json)


def _must_be_one(cores: int | None, model: str, overhead: Sequence[str], *, track_record: bool, anyway: bool) -> None:
    """Raises UsageError for options that contradict each other."""
    if track_record == (cores is not None):
        what = "--track-record forecasts nothing new" if track_record else "no number of cores"
        raise UsageError(what, remedy="give --cores P or --track-record")
    if anyway and track_record:
        raise UsageError("no effect on --track-record", where="--anyway", remedy="leave it out")
    if model and model not in MODEL_NAMES:
        raise UsageError(f"no model {model!r}", where="--model", remedy=f"give one of {', '.join(MODEL_NAMES)}")
    if model and overhead:
        raise UsageError("a model and a sum of overheads", remedy="give --model or --overhead")
    if model and track_record:
        raise UsageError(
            "a model to score", where="--model", remedy="leave it out: a track record is of the model chosen"
        )


def at_cores(
    runs: Sequence[Path], cores: int | None, model: str, sums: Sequence[str], *, anyway: bool, json: bool
) -> None:
    """Forecast the time on so many cores; without a number how such forecasts have fared."""
    found = [_scanned(path, study=bool(sums)) for path in runs]
    for run in found:
        if beyond := sorted({record.threads_asked for record in run.records if record.oversubscribed}):
            levels = ", ".join(map(str, beyond))
            typer.echo(f"note: {run.folder}: p = {levels} was oversubscribed, so no forecast is from it", err=True)
    said = [
        (run, _scores(run, sums) if cores is None else _forecasts(run, cores, model, sums, anyway=anyway))
        for run in found
    ]
    every = [one for _, of_run in said for one in of_run]
    if not every and cores is not None:
        remedy = "scan at least 2 levels of threads or ranks"
        raise UsageError("no model can be fitted", where=str(runs[0]), remedy=remedy)
    lines = [statements.forecast(one, run.experiment.response) + _origin(run) for run, of_run in said for one in of_run]
    if cores is None:
        lines.append(statements.coverage([one for one in every if isinstance(one, Scored)]))
    values = [_of(run) | asdict(one) for run, of_run in said for one in of_run]
    typer.echo(json_format.dumps(values, indent=2) if json else "\n".join(lines))
    enough = any if cores is None else all
    if not enough(map(_is_sure, every)):
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _is_sure(one: Prediction | Scored) -> bool:
    """Whether it has an interval, of a time that was measured its own; of a forecast that was scored, if it counts."""
    return one.counts if isinstance(one, Scored) else (one.there or one.seconds).low is not None


def by_layout(runs: Sequence[Path], names: Sequence[str], overhead: Sequence[str], *, anyway: bool, json: bool) -> None:
    """Forecast each layout by a sum of overheads that was fitted to the layouts of a run, with the fastest first."""
    wanted, values = [_layout(name) for name in names], list[dict[str, Any]]()
    sure = True
    for run in (_scanned(path, study=True) for path in runs):
        found = sorted(
            overhead_forecast.of_layouts(run.records, run.experiment, wanted, overhead),
            key=lambda pair: (pair[1].label, pair[1].seconds.estimate),
        )
        _must_be_near(run, max((one for _, one in found), key=lambda one: one.p), anyway=anyway)
        sure = sure and all(_is_sure(one) for _, one in found)
        if json:
            values += [_of(run) | {"layout": str(layout)} | asdict(one) for layout, one in found]
            continue
        for layout, one in found:
            label, seconds = (
                f"{one.label} " if one.label else "",
                text.join(text.quantity(run.experiment.response)(one.seconds)),
            )
            reach = (
                ""
                if one.beyond <= 1
                else f", extrapolated {one.beyond:.3g} times beyond the {one.measured[1]:g} measured"
            )
            typer.echo(f"{label}{layout!s:>12}  {seconds}{reach}{_origin(run)}")
        said = dict.fromkeys(f"model {one.model}: {one.reason}" for _, one in found)
        typer.echo("\n".join(said))
    if json:
        typer.echo(json_format.dumps(values, indent=2))
    if not sure:
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _layout(name: str) -> Layout:
    try:
        return KINDS["layout"].layout(name.strip(), Layout())
    except ValueError:
        raise UsageError(f"not a layout: {name!r}", where="--layouts", remedy="write TxMxN, such as 4x2x1") from None


def _origin(run: store.Run) -> str:
    """What every number of the run is, if it was not measured."""
    return "".join(f" ({origin})" for origin in _origins(run))


def _origins(run: store.Run) -> list[str]:
    return sorted({record.origin for record in run.records} - {"measured"})


def _of(run: store.Run) -> dict[str, Any]:
    """What each JSON object says of its run."""
    return {"run": str(run.folder), "origins": _origins(run)}


def _forecasts(
    run: store.Run, cores: int, model: str, overhead: Sequence[str], *, anyway: bool
) -> Sequence[Prediction | Scored]:
    """Raises UsageError beyond the reach of what was measured."""
    found = _predicted(run, cores, model, overhead)
    for one in found:
        _must_be_near(run, one, anyway=anyway)
    return found


def _must_be_near(run: store.Run, one: Prediction, *, anyway: bool) -> None:
    if one.beyond > FAR and not anyway:
        reach = f"{one.p} cores are {one.beyond:.3g} times the {one.measured[1]:g} that were measured"
        raise UsageError(reach, where=str(run.folder), remedy="measure more cores, or give --anyway")


def _predicted(run: store.Run, cores: int, model: str, overhead: Sequence[str]) -> Sequence[Prediction]:
    if overhead:
        return overhead_forecast.predict(run.records, run.experiment, cores, overhead)
    try:
        return forecast(run.records, run.experiment, cores, model)
    except ValueError as error:
        raise UsageError(str(error), where=str(run.folder), remedy="scan more levels of p") from None


def _scores(run: store.Run, overhead: Sequence[str]) -> Sequence[Prediction | Scored]:
    """Score the forecast that was sealed while measuring; without one, the smaller half of the run against the rest."""
    records, experiment = run.records, run.experiment
    if overhead:
        return overhead_forecast.held_back(records, experiment, overhead)
    sealed = store.sealed(run)
    return held_back(records, experiment) if sealed is None else score(sealed, records, experiment)


def _scanned(path: Path, *, study: bool = False) -> store.Run:
    """The run; raises StoreError for one of another verb. Studies have sizes, so overheads are fitted to them too."""
    run = store.load(path)
    if not (run.experiment.scans or (study and run.experiment.study.name)):
        raise StoreError("is no run of scan", where=str(path), remedy="give the folder of a scan")
    if run.experiment.scans and run.experiment.scaling.weak is not None:
        what = "is weak scaling, and a forecast is of the same work at every p"
        raise UsageError(what, where=str(path), remedy="give the folder of a scan without --weak")
    return run
