# SPDX-License-Identifier: Apache-2.0
"""Saves standard input to a file before the first launch, because each launch reads it again."""

import contextlib
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from corescale.api.measuring import RUNS
from corescale.declare import paths
from corescale.declare.request import Request
from corescale.errors import CorescaleError, StoreError, UsageError
from corescale.observe.scratch import PREFIX, Scratch
from corescale.show import files

NAMES = ("-", "/dev/stdin", "/dev/fd/0")

R = TypeVar("R", bound=Request)


def kept(request: R) -> R:
    """For `--input -`, `/dev/stdin` and `<(COMMAND)`: a file that holds what was piped in, named by its content."""
    piped = request.input and paths.is_pipe(request.input)
    if request.input not in NAMES and not piped:
        return request
    if request.dry_run:
        return replace(request, input="")
    content = _read() if request.input in NAMES else Path(request.input).read_bytes()
    folder = Path(request.out or RUNS) / "inputs"
    files.make_folder(folder)
    file = folder / hashlib.sha256(content).hexdigest()[:16]
    if not (paths.is_file(file) and file.read_bytes() == content):
        _write(file, content)
    return replace(request, input=str(file))


def _write(file: Path, content: bytes) -> None:
    """Writes the whole file or nothing; raises StoreError."""
    try:
        files.write(str(file), content)
    except UsageError as error:
        raise StoreError(error.what, where=error.where, remedy="free some space, or choose --out DIR") from error


def _read() -> bytes:
    """All of standard input; raises UsageError if it is closed or cannot be read."""
    try:
        if sys.stdin is not None:
            return sys.stdin.buffer.read()
        why = "is closed"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    raise UsageError(why, where="standard input", remedy="pipe the file in, or name it")


@contextlib.contextmanager
def names_stdin() -> Iterator[None]:
    """Makes errors about a study that was piped in name standard input, and not the temporary file."""
    try:
        yield
    except CorescaleError as error:
        error.where = shown(error.where)
        raise


def shown(path: str) -> str:
    """The name of a study's file in messages."""
    return re.sub(rf"\S*/{re.escape(PREFIX)}\w+/stdin[.]toml", "standard input", path)


def study(word: str) -> str:
    """Saves a piped-in study to a file that lasts as long as this process, and returns its name; returns other words as
    they are."""
    if word not in NAMES:
        return word
    scratch = Scratch().__enter__()  # ends with this process; if that is killed, the next run removes it
    file = scratch.folder / "stdin.toml"
    file.write_bytes(_read())
    return str(file)
