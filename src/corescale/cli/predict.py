# SPDX-License-Identifier: Apache-2.0
"""`corescale predict`: the time at other numbers of cores, from a scan's law; and how such forecasts have fared."""

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corescale.conclude.forecast import FAR, Prediction, Scored, held_back
from corescale.conclude.forecast import predict as forecast
from corescale.errors import StoreError, UsageError
from corescale.observe import store
from corescale.show.text import join, time


def predict(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="run folders of scans")],
    cores: Annotated[
        int | None, typer.Option("--cores", min=1, metavar="P", help="number of cores to forecast")
    ] = None,
    track_record: Annotated[
        bool, typer.Option("--track-record", help="forecast each run's largest p from its smaller half, and score it")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help=f"forecast beyond {FAR:g} times the largest p measured too")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """What more cores would give: corescale predict corescale-runs/scan-1234/1 --cores 64"""
    if track_record == (cores is not None):
        raise UsageError("nothing to forecast, or two things", remedy="give --cores P or --track-record")
    said = _track_record(runs) if cores is None else _predictions(runs, cores, anyway=anyway)
    lines = [_line(one) for one in said]
    if track_record:
        lines.append(_coverage([one for one in said if isinstance(one, Scored)]))
    typer.echo(json_format.dumps([asdict(one) for one in said], indent=2) if json else "\n".join(lines))


def _predictions(runs: Sequence[Path], cores: int, *, anyway: bool) -> list[Prediction | Scored]:
    found: list[Prediction | Scored] = []
    for path in runs:
        run = _scanned(path)
        for one in forecast(run.records, run.experiment, cores):
            if one.beyond > FAR and not anyway:
                reach = f"{cores} cores are {one.beyond:.3g} times the {one.measured[1]:g} that were measured"
                raise UsageError(reach, where=str(path), remedy="measure more cores, or give --anyway")
            found.append(one)
    if not found:
        raise UsageError(
            "no law can be fitted", where=str(runs[0]), remedy="scan at least 2 levels of threads or ranks"
        )
    return found


def _track_record(runs: Sequence[Path]) -> list[Prediction | Scored]:
    return [one for path in runs for run in [_scanned(path)] for one in held_back(run.records, run.experiment)]


def _scanned(path: Path) -> store.Run:
    run = store.load(path)
    if run.experiment.verb != "scan":
        raise StoreError(f"is a run of {run.experiment.verb}", where=str(path), remedy="give the folder of a scan")
    return run


def _line(one: Prediction | Scored) -> str:
    label = f"{one.label}: " if one.label else ""
    if isinstance(one, Scored):
        verdict = {True: "covered", False: "missed", None: "no interval"}[one.covered]
        told = join(time(one.forecast))
        return f"{label}{one.p} cores from up to {one.p // 2}: {told}; measured {one.measured:.4g} s: {verdict}"
    reach = "" if one.beyond <= 1 else f", extrapolated {one.beyond:.3g} times beyond the {one.measured[1]:g} measured"
    doubt = f"; doubt: {one.doubt}" if one.doubt else ""
    return f"{label}{one.p} cores: {join(time(one.seconds))}{reach} (law {one.law}: {one.reason}{doubt})"


def _coverage(scored: Sequence[Scored]) -> str:
    told = [one.covered for one in scored if one.covered is not None]
    if not told:
        return "no forecast to score: a run needs p = 1, 2 and 4 at least, and 6 blocks"
    return f"{sum(told)} of {len(told)} forecasts covered what was measured"
