# SPDX-License-Identifier: Apache-2.0
"""Runs that somebody edited: every value of their files in turn put to something else."""

import contextlib
import copy
import io
import itertools
import json
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from corescale.api.results import result
from corescale.cli import predict
from corescale.declare.experiment import Experiment
from corescale.errors import CorescaleError, ExitCode
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import exchange, terminal

NAN = float("nan")

INSTEAD: tuple[Any, ...] = (None, [], {}, "x", -1, 1e300, NAN)
"""what is put in a value's place"""

STEP = int(os.environ.get("CORESCALE_EDITS", "3"))
"""one of so many edits is made, so that each value gets some of INSTEAD; 1 for all of them, in minutes"""

Way = tuple[str | int, ...]
"""keys and indices, from the whole to the value"""


def ways(value: Any, way: Way = ()) -> Iterator[Way]:
    """To every value within a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*way, key)
        yield from ways(part, (*way, key))


def put(value: Any, way: Way, instead: Any) -> Any:
    """A copy with that in the place of one value."""
    made = inner = copy.deepcopy(value)
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = instead
    return made


def edited(text: str, instead: Sequence[Any] = INSTEAD) -> Iterator[tuple[str, str]]:
    """What was edited, and the text of the edited file, of which the first line is a JSON value or all lines are."""
    first, rest = (text, "") if text.startswith("{\n") else text.split("\n", 1)
    value = json.loads(first)
    for way, other in itertools.islice(itertools.product(ways(value), instead), 0, None, STEP):
        made = json.dumps(put(value, way, other))
        yield f"{'.'.join(map(str, way))} = {json.dumps(other)}", f"{made}\n{rest}"


def read(folder: Path, machine: Machine) -> None:
    """What everything begins with."""
    del machine
    store.load(folder)


def shown(folder: Path, machine: Machine) -> None:
    """All that `report` prints and every export of the run."""
    said = result(store.load(folder), machine)
    Console(file=io.StringIO(), width=100).print(terminal.render(said))
    exchange.to_json(said)
    for export in exchange.EXPORTERS.values():
        export(said)


def foreseen(folder: Path, machine: Machine) -> None:
    """What `predict` says of it."""
    del machine
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(typer.Exit):
        predict.predict(words=[str(folder)], cores=4, anyway=True)


def resumed(experiment: Experiment) -> Callable[[Path, Machine], None]:
    """The same command again, up to its first launch."""

    def resume(folder: Path, machine: Machine) -> None:
        with store.open_run(experiment, machine, folder.parents[1], "fake") as held:
            held.start({})

    return resume


def fault(what: Callable[[Path, Machine], None], folder: Path, machine: Machine) -> str:
    """What is wrong with how that ends: nothing where it ends, or ends with an error that a person can cause."""
    try:
        what(folder, machine)
    except CorescaleError as error:
        return "a defect" if error.exit_code == ExitCode.INTERNAL else ""
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return ""
