# SPDX-License-Identifier: Apache-2.0
"""The files that every launch reads and writes: `--input`, `--output`."""

import os
from pathlib import Path

from corescale.declare import paths
from corescale.declare.experiment import SHOWN, Experiment
from corescale.errors import UsageError


def must_work(experiment: Experiment) -> None:
    """Raises UsageError where no launch could read its input or write its output."""
    if experiment.input is not None and not paths.is_file(experiment.input):
        what = "is no regular file" if paths.exists(experiment.input) else "no such file"
        raise UsageError(what, where=f"--input {experiment.input}", remedy="name a file, or - for stdin")
    if experiment.output not in (None, "null", SHOWN) and (why := _fault(Path(str(experiment.output)))):
        raise UsageError(f"cannot be written: {why}", where=f"--output {experiment.output}", remedy="name a file")


def are_made(experiment: Experiment) -> bool:
    """Whether a command before the launches may make them."""
    return bool(experiment.hooks.setup or experiment.hooks.prepare)


def _fault(output: Path) -> str:
    if paths.is_folder(output):
        return "is a folder"
    if paths.exists(output):
        return "" if os.access(output, os.W_OK) else "no permission"
    if not paths.is_folder(output.parent):
        return "no such folder"
    return paths.refusal(output.parent)
