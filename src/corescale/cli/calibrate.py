# SPDX-License-Identifier: Apache-2.0
"""`corescale calibrate`: the constants that the library's loops choose their blocks by."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from corescale.conclude.calibration import Calibration, file_text
from corescale.machine import Machine
from corescale.observe import constants
from corescale.show import calibration as show
from corescale.show import exchange

VARIABLE = "CORESCALE_CALIBRATION"
"""names the file to the library and to the lab"""


def calibrate(
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="the file to write (default: in ~/.config/corescale)"),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="show no progress")] = False,
) -> None:
    """Measure this machine for 5 s, and write the file that parallel_for chooses blocks by."""
    machine = Machine.here()
    file = output or _standard_file()
    exchange.make_folder(file.parent)
    exchange.must_be_writable(str(file))
    with Console(stderr=True, quiet=quiet).status("measuring this machine") as status:
        found = Calibration(machine.fingerprint(), constants.measure(status.update))
    exchange.write(str(file), file_text(found, machine.in_words))
    Console().print(show.table(found))
    typer.echo(f"wrote {file}; loops of this library read it after: export {VARIABLE}={file}")


def _standard_file() -> Path:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "corescale" / "calibration"
