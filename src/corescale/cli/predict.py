# SPDX-License-Identifier: Apache-2.0
"""`corescale predict`: the time at other numbers of cores, from a scan's model; and how such forecasts have fared."""

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corescale.cli import usage_errors
from corescale.cli.simulate import simulated
from corescale.conclude import overhead_forecast
from corescale.conclude.forecast import FAR, MODEL_NAMES, Prediction, Scored, held_back, score
from corescale.conclude.forecast import predict as forecast
from corescale.errors import ExitCode, StoreError, UsageError
from corescale.observe import store
from corescale.show import forecasts

MOST = 10**9
"""cores that a forecast may be asked for"""


def predict(
    words: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="run folders of scans; with --simulate the program, after --")
    ],
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
        str, typer.Option("--layouts", metavar="TxMxN,...", help="of --simulate (default: all that fill the cluster)")
    ] = "",
    grade: Annotated[
        str,
        typer.Option(
            "--grade",
            metavar="mpi|slurm|ssh",
            help="with --simulate: also launch what can be launched, and print errors",
        ),
    ] = "",
    response: Annotated[str, typer.Option("--response", help="of --simulate: wall or metric:NAME")] = "wall",
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """What more cores would give: corescale predict corescale-runs/scan-1234/1 --cores 64"""
    if simulate:
        if cores is not None or model or overhead or track_record:
            remedy = "leave out --cores, --model, --overhead and --track-record"
            raise UsageError("forecasts are from runs", where="--simulate", remedy=remedy)
        simulated(words, simulate, layouts or "auto", response, grade, json=json)
        return
    simulating = {"--layouts": layouts, "--grade": grade, "--response": response != "wall"}
    usage_errors.must_have(simulating, "--simulate FILE")
    runs = [Path(word) for word in words]
    if track_record == (cores is not None):
        what = "--track-record forecasts nothing new" if track_record else "no number of cores"
        raise UsageError(what, remedy="give --cores P or --track-record")
    if model and model not in MODEL_NAMES:
        raise UsageError(f"no model {model!r}", where="--model", remedy=f"give one of {', '.join(MODEL_NAMES)}")
    if model and overhead:
        raise UsageError("a model and a sum of overheads", remedy="give --model or --overhead")
    if model and track_record:
        raise UsageError(
            "a model to score", where="--model", remedy="leave it out: a track record is of the model chosen"
        )
    sums = overhead or []
    found = [_scanned(path, study=bool(overhead)) for path in runs]
    for run in found:
        if beyond := sorted({record.threads_asked for record in run.records if record.oversubscribed}):
            levels = ", ".join(map(str, beyond))
            typer.echo(f"note: {run.folder}: p = {levels} was oversubscribed, so no forecast is from it", err=True)
    said = [
        (run, _scores(run, sums) if cores is None else _forecasts(run, cores, model, sums, anyway=anyway))
        for run in found
    ]
    every = [one for _, of_run in said for one in of_run]
    if not every and not track_record:
        remedy = "scan at least 2 levels of threads or ranks"
        raise UsageError("no model can be fitted", where=str(runs[0]), remedy=remedy)
    lines = [forecasts.line(one, run.experiment.response) + _origin(run) for run, of_run in said for one in of_run]
    if track_record:
        lines.append(forecasts.coverage([one for one in every if isinstance(one, Scored)]))
    typer.echo(json_format.dumps([asdict(one) for one in every], indent=2) if json else "\n".join(lines))
    if not every:
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _origin(run: store.Run) -> str:
    """What every number of the run is, if it was not measured."""
    return "".join(f" ({origin})" for origin in sorted({record.origin for record in run.records} - {"measured"}))


def _forecasts(
    run: store.Run, cores: int, model: str, overhead: Sequence[str], *, anyway: bool
) -> Sequence[Prediction | Scored]:
    """Raises UsageError beyond the reach of what was measured."""
    found = _predicted(run, cores, model, overhead)
    far = next((one for one in found if one.beyond > FAR), None)
    if far is not None and not anyway:
        reach = f"{cores} cores are {far.beyond:.3g} times the {far.measured[1]:g} that were measured"
        raise UsageError(reach, where=str(run.folder), remedy="measure more cores, or give --anyway")
    return found


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
