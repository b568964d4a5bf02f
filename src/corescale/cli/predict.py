# SPDX-License-Identifier: Apache-2.0
"""`corescale predict`: forecasts the time on other numbers of cores from a scan, and scores earlier forecasts."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from corescale.cli.options import must_have, takes
from corescale.cli.output import note, say
from corescale.cli.predict_request import PredictRequest
from corescale.cli.simulate import beside, grade, graded, must_grade, parsed, simulated
from corescale.conclude import overhead_forecast
from corescale.conclude.answers.scaling import scan
from corescale.conclude.forecast import FAR, MODEL_NAMES, Prediction, Scored, held_back, score
from corescale.conclude.forecast import predict as forecast
from corescale.errors import ExitCode, StoreError, UsageError
from corescale.observe import store
from corescale.records import origins
from corescale.show import statements, text
from corescale.show.exchange import result_json
from corescale.show.headline import UNREAD

Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="RUN...", help="run folders of scans; with --simulate the program, after --"),
]


@takes(PredictRequest, Runs)
def predict(words: list[str], asked: PredictRequest) -> None:
    """Forecast the time on more cores: corescale predict corescale-runs/scan-1234/1 --cores 64"""
    if not asked.grade:
        must_have(asked.given("hosts", "allocation"), "--grade")
    if asked.simulate:
        names = ("cores", "model", "overhead", "track_record", "anyway")
        asked.must_not_have("--simulate", "forecasts are from runs", *names)
        if not words:
            raise UsageError("no program to simulate", where="--simulate", remedy="write it behind --: -- ./program")
        return simulated(words, asked)
    must_have({"--response": asked.response != "wall"}, "--simulate FILE")
    if not asked.grade:
        must_have(asked.given("out"), "--grade")
    if not asked.layouts:
        must_have(asked.given("grade"), "--layouts")
    if not words:
        raise UsageError("no run", remedy="give the folder of a scan, or --simulate FILE -- ./program")
    if asked.layouts:
        asked.must_not_have("--layouts", "names its own p", "cores", "model", "track_record")
        return by_layout(words, asked)
    if asked.track_record and asked.cores is not None:
        raise UsageError("--track-record forecasts nothing new", remedy=EITHER)
    if asked.track_record:
        asked.must_not_have("--track-record", "a track record is of the model chosen", "model")
        if asked.anyway:
            raise UsageError("no effect on --track-record", where="--anyway", remedy="leave it out")
    if asked.overhead:
        asked.must_not_have("--overhead", "is a model itself", "model")
    if asked.model and asked.model not in MODEL_NAMES:
        raise UsageError(f"no model {asked.model!r}", where="--model", remedy=f"give one of {', '.join(MODEL_NAMES)}")
    return at_cores([_scanned(path, study=bool(asked.overhead)) for path in words], asked)


EITHER = "give --cores P or --track-record"


def at_cores(found: Sequence[store.Run], asked: PredictRequest) -> None:
    """Forecasts the time on that many cores, or scores earlier forecasts."""
    if not asked.track_record and asked.cores is None:
        raise UsageError("no number of cores", remedy=EITHER)
    for run in found:
        if not_read := scan(run.records, run.experiment, models=False).unread if run.experiment.scans else "":
            note(f"{run.folder}: {UNREAD[not_read]}")
        if beyond := sorted({record.threads_asked for record in run.records if record.oversubscribed}):
            levels = ", ".join(map(str, beyond))
            note(f"{run.folder}: p = {levels} was oversubscribed, so no forecast is from it")
    said = [(run, _scores(run, asked.overhead) if asked.track_record else _forecasts(run, asked)) for run in found]
    every = [one for _, of_run in said for one in of_run]
    if not every and not asked.track_record:
        choices = (curve.choice for curve in scan(found[0].records, found[0].experiment).curves)
        why = next((choice.statement for choice in choices if choice), "no model can be fitted")
        remedy = "scan at least 2 levels of threads or ranks"
        raise UsageError(why, where=str(found[0].folder), remedy=remedy)
    lines = [line for run, of_run in said for one in of_run for line in _lines(one, run, among(found, run))]
    if asked.track_record:
        surest = max(run.experiment.stop.confidence for run in found)
        lines.append(statements.coverage([one for one in every if isinstance(one, Scored)], surest))
    values = [_of(run) | asdict(one) for run, of_run in said for one in of_run]
    if asked.json:
        typer.echo(_as_json(values))
    for line in lines if not asked.json else ():
        say(line)
    enough = any if asked.track_record else all
    if not enough(map(_has_interval, every)):
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def among(runs: Sequence[store.Run], run: store.Run) -> str:
    """What a line about the run begins with: its folder if there are several."""
    return f"{run.folder}: " * (len(runs) > 1)


def _lines(one: Prediction | Scored, run: store.Run, named: str) -> list[str]:
    """The forecast in a line, and what else is known of it in lines below."""
    first, *others = statements.forecast(one, run.experiment)
    return [named + first + _origin(run), *(f"  {line}" for line in others)]


def _as_json(values: object) -> str:
    """JSON text, in which numbers that are not finite are null."""
    return json.dumps(result_json.finite(values), indent=2, allow_nan=False)


def _has_interval(one: Prediction | Scored) -> bool:
    """Whether the prediction has an interval; a scored forecast, whether it counts."""
    return one.counts if isinstance(one, Scored) else (one.there or one.seconds).low is not None


def by_layout(runs: Sequence[str], asked: PredictRequest) -> None:
    """Forecasts each layout, fastest first, by a formula of overhead that was fitted to the layouts of a run."""
    wanted, values = parsed(asked.layouts), list[dict[str, Any]]()
    if asked.grade:
        must_grade(asked)
    all_have_intervals = True
    scanned = [_scanned(path, study=True) for path in runs]
    for run in scanned:
        named = among(scanned, run)
        if asked.grade and run.on == "fake":
            what = "is a fake run, and --grade launches a real program"
            raise UsageError(what, where=str(run.folder), remedy="leave out --grade")
        found = sorted(
            overhead_forecast.of_layouts(run.records, run.experiment, wanted, asked.overhead),
            key=lambda pair: (pair[1].label, pair[1].seconds.estimate),
        )
        _must_be_near(run, max((one for _, one in found), key=lambda one: one.p), asked)
        all_have_intervals = all_have_intervals and all(one.seconds.low is not None for _, one in found)
        real = graded(asked, run.experiment, [str(layout) for layout, _ in found]) if asked.grade else {}
        for layout, one in found:
            measured = real.get(str(layout))
            error = {} if measured is None else {"launched": measured, "error": one.seconds.estimate / measured - 1}
            values.append(_of(run) | {"layout": str(layout)} | asdict(one) | error)
        for layout, one in found if not asked.json else ():
            label = f"{one.label} " if one.label else ""
            seconds = text.join(text.quantity(run.experiment.response)(one.seconds))
            say(
                f"{named}{label}{layout!s:>12}  {seconds}{statements.reach(one, run.experiment)}{_origin(run)}"
                + beside(str(layout), one.seconds.estimate, real)
            )
        for said in dict.fromkeys(f"model {one.model}: {one.reason}" for _, one in found if not asked.json):
            say(named + said)
        for said in dict.fromkeys(f"warning: {one.warning}" for _, one in found if one.warning and not asked.json):
            say(named + said)
        if real and not asked.json:
            say(named + grade({str(layout): one.seconds.estimate for layout, one in found}, real, asked.grade))
    if asked.json:
        typer.echo(_as_json(values))
    if not all_have_intervals:
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _origin(run: store.Run) -> str:
    """The origin of every number of the run, if they were not measured."""
    return "".join(f" ({origin})" for origin in origins(run.records))


def _of(run: store.Run) -> dict[str, Any]:
    """The fields that each JSON object has about its run."""
    return {"run": str(run.folder), "origins": origins(run.records)}


def _must_be_near(run: store.Run, one: Prediction, asked: PredictRequest) -> None:
    """Raises UsageError if the forecast is too far beyond the largest measured p."""
    if one.beyond > FAR and not asked.anyway:
        reach = f"{one.p} cores are {round(one.beyond, 1):.10g} times the {one.measured[1]:g} that were measured"
        raise UsageError(reach, where=str(run.folder), remedy="measure more cores, or give --anyway")


def _forecasts(run: store.Run, asked: PredictRequest) -> Sequence[Prediction | Scored]:
    records, experiment, cores = run.records, run.experiment, asked.cores or 1
    try:
        found = (
            overhead_forecast.predict(records, experiment, cores, asked.overhead)
            if asked.overhead
            else forecast(records, experiment, cores, asked.model)
        )
    except ValueError as error:
        raise UsageError(str(error), where=str(run.folder), remedy="scan more levels of p") from None
    for one in found:
        _must_be_near(run, one, asked)
    return found


def _scores(run: store.Run, overhead: Sequence[str]) -> Sequence[Prediction | Scored]:
    """Score the forecast that was sealed while measuring; without one, a forecast from the launches at p <= P / 2."""
    records, experiment = run.records, run.experiment
    if overhead:
        return overhead_forecast.held_back(records, experiment, overhead)
    sealed = store.sealed(run)
    return held_back(records, experiment) if sealed is None else score(sealed, records, experiment)


def _scanned(path: str, *, study: bool = False) -> store.Run:
    """The run of a scan; raises StoreError for another verb. `study`: runs of studies are accepted too."""
    run = store.load(Path(path), "" if study else "scan")
    if not (run.experiment.scans or (study and run.experiment.study.name)):
        raise StoreError("is not a run of scan", where=path, remedy="give the folder of a scan")
    if run.experiment.scans and run.experiment.scaling.weak is not None:
        what = "is weak scaling, and a forecast needs the same work at every p"
        raise UsageError(what, where=path, remedy="give the folder of a scan without --weak")
    return run
