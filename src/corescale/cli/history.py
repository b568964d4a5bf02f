# SPDX-License-Identifier: Apache-2.0
"""`corescale history`: keeps a line for each commit in a file that git can merge, and shows where times changed."""

import contextlib
import fcntl
import json as json_format
import math
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from corescale import history as lines
from corescale.api.results import loaded, machine_name, must_be_one_build, result
from corescale.cli.options import must_have
from corescale.cli.output import say
from corescale.conclude import stats
from corescale.conclude.response import table
from corescale.conclude.two_samples import FEWEST, change_points
from corescale.declare import paths
from corescale.errors import UsageError
from corescale.history import Entry
from corescale.machine import Machine
from corescale.records import COMMAND
from corescale.show import files, text
from corescale.show.naming import label


def history(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the history, such as performance.jsonl")],
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="run folders or archives to add")
    ] = None,
    commit: Annotated[
        str, typer.Option("--commit", metavar="REV", help="the commit that was measured (default: HEAD)")
    ] = "",
    json: Annotated[
        bool, typer.Option("--json", help="print the positions at which each series changed, from 0, as JSON")
    ] = False,
) -> None:
    """Keep one line for each commit, and say where times changed: corescale history performance.jsonl RUN"""
    known = _read(file)
    if runs:
        revision, when = _commit(commit or "HEAD")
        new = [entry for run in runs for entry in _entries(run, revision, when)]
        if twice := next((one for one in new if [each.series for each in new].count(one.series) > 1), None):
            raise UsageError("is in two of these runs", where=text.clean(twice.name), remedy="add one of them")
        if same := next((one for one in new for old in known if one.is_again(old)), None):
            remedy = "measure this commit, or name the other one: --commit"
            raise UsageError("is in the history as another commit's", where=text.clean(same.name), remedy=remedy)
        known = added(file, new)
    must_have({"--commit": commit and not runs}, "a run")
    if not known:
        raise UsageError("holds no history", where=str(file), remedy="add a run: corescale history FILE RUN")
    if json:
        exchange_lines = {" on ".join(name[::-1]): change_points([one.value for one in each])
                          for name, each in lines.series(known).items()}  # fmt: skip
        typer.echo(json_format.dumps(exchange_lines))
        return
    for name, each in lines.series(known).items():
        say(_said(name, each))
        for at in change_points([one.value for one in each]):
            say(f"  {_change(each, at)}")


def _read(file: Path) -> list[Entry]:
    """The entries of the file, none if there is no file; raises UsageError."""
    if not paths.exists(file):
        return []
    try:
        if not paths.is_file(file):
            raise UsageError("is not a regular file", where=str(file), remedy="name another file")
        return lines.parse(file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(file), remedy="name another file") from error


def added(file: Path, new: list[Entry]) -> list[Entry]:
    """Adds the new entries to the file, and returns all of them. Other processes that add entries wait meanwhile."""
    with _alone(file):
        found = lines.parse(lines.text([*_read(file), *new]).encode(), str(file))
        files.write(str(file), lines.text(found))
    return found


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Locks the folder of the file, because a change replaces the file itself."""
    files.must_be_writable(str(file))
    folder = os.open(paths.real(file).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _commit(revision: str) -> tuple[str, float]:
    """The commit and its time; raises UsageError outside of a repository."""
    asked = ["git", "show", "-s", "--format=%H %ct", "--end-of-options", revision]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        name, when = done.stdout.split()[-2:]
        return name, float(when)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        remedy = "run it in the repository, and name a commit of it"
        raise UsageError("is not a commit here", where=f"--commit {revision}", remedy=remedy) from error


def _entries(path: Path, commit: str, when: float) -> Iterator[Entry]:
    run = loaded(path)
    shown = result(run, Machine.here())
    if shown.origins:
        remedy = "add a run that was measured"
        raise UsageError(
            f"is {' and '.join(shown.origins)}, and a history keeps only measured runs", where=str(path), remedy=remedy
        )
    must_be_one_build(shown, str(path))
    times = table(shown.records, shown.experiment.response)
    for chosen in times.configurations:
        found = stats.median_interval(times.column(chosen), shown.confidence)
        if math.isfinite(found.estimate):
            command = "" if COMMAND in dict(chosen.levels) else shlex.join(shown.experiment.commands[0].argv)
            of = "" if shown.experiment.response == "wall" else f"({shown.experiment.response})"
            name = " ".join(filter(None, (command, label(chosen), of)))
            yield Entry(
                commit, when, name, found.estimate, found.low, found.high, machine_name(run.environment), run.digest
            )


BARS = "▁▂▃▄▅▆▇█"
SHOWN = 60
"""commits that are drawn"""


def _said(name: tuple[str, str], each: list[Entry]) -> str:
    """The name, the last value and a line of bars."""
    values = [one.value for one in each[-SHOWN:]]
    low, high = min(values), max(values)
    bars = "".join(BARS[round((value - low) / (high - low) * 7) if high > low else 0] for value in values)
    last = f"{_value(name[1], each[-1].value)} at {each[-1].commit[:10]}"
    few = f"  (a change can be shown from {2 * FEWEST} commits on)" if len(each) < 2 * FEWEST else ""
    return f"{name[1]} on {name[0]}: {last}  {bars}{few}"


def _value(name: str, value: float) -> str:
    """A time with its unit; for another response, which the name ends with, only the number."""
    return f"{value:.4g}" if name.endswith(")") and "(metric:" in name else f"{value:.4g} s"


def _change(each: list[Entry], at: int) -> str:
    """The change at an entry: the median from it to the next change, over the median since the previous change."""
    points = [0, *change_points([one.value for one in each]), len(each)]
    k = points.index(at)
    before, after = ([one.value for one in each[a:b]] for a, b in ((points[k - 1], at), (at, points[k + 1])))
    ratio = stats.median_interval(after).estimate / stats.median_interval(before).estimate
    digits = max(3, 1 - math.floor(math.log10(max(abs(ratio - 1), 1e-9))))  # enough to show that it is not 1
    over = text.count(len(before), "commit")
    return f"{each[at].commit[:10]}: {ratio:.{digits}g}x the time before, over {over} before it"
