# SPDX-License-Identifier: Apache-2.0
"""The commands of a study file."""

from pathlib import Path

from corescale.declare import template
from corescale.declare.experiment import SERIAL, Command
from corescale.declare.programs import bundled, data_folder, near
from corescale.declare.study_file.tables import StudyFile, Template
from corescale.errors import UsageError


def of(file: StudyFile, path: Path, replaced: str) -> tuple[Command, ...]:
    """The commands of a file, or the one that replaces them; raises UsageError."""
    where = "--command" if replaced else "command"
    texts: dict[str, Template] = {"main": replaced or file.command or ""} if replaced or file.command else {}
    texts |= {} if replaced else file.commands
    texts |= {} if replaced or file.serial is None else {SERIAL: file.serial}
    return tuple(
        Command(name=name, argv=_argv(text, file.shell, path, where), shell=file.shell) for name, text in texts.items()
    )


def _argv(text: Template, shell: bool, path: Path, where: str) -> tuple[str, ...]:
    """{here} is the folder of the study file, {data} that of the data that ships with corescale."""
    if isinstance(text, str):
        words = [text] if shell else list(template.split(text, where, "shell = true to the study"))
    else:
        words = list(text)
    if not words:
        raise UsageError("no command", where=where, remedy='write command = "./program {threads}"')
    places = {"{here}": near(path.resolve().parent), "{data}": near(data_folder())}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    return tuple(words) if shell else (bundled(words[0]), *words[1:])
