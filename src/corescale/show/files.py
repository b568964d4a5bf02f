# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all, and checks before measuring whether they can be written."""

import contextlib
import os
from collections.abc import Iterable
from importlib.util import find_spec
from mimetypes import guess_type
from pathlib import Path
from uuid import uuid4

from corescale.declare import paths
from corescale.errors import UnavailableError, UsageError

PARQUET = ".parquet"
NAME_ANOTHER = "name a writable file"


def write(target: str, content: str | bytes) -> None:
    """Writes a file whole or not at all. It replaces an earlier file only when complete, and gets that file's mode.
    Open descriptors (/dev/stdout, /dev/fd/3), pipes and devices are appended to.
    """
    if target == "-":
        raise UsageError("is not a file", where=target, remedy="name one")
    try:
        _replace(Path(target), content if isinstance(content, bytes) else content.encode("utf-8", UNTOLD))
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"cannot be written: {why}", where=target, remedy=NAME_ANOTHER) from error


def must_be_writable(target: str) -> None:
    """Raises the error that `content` or `write` would raise, as far as that can be known before measuring."""
    path = Path(target)
    if path.suffix == PARQUET and find_spec("pyarrow") is None:
        raise UnavailableError("Parquet needs pyarrow", where=target, remedy="pip install 'corescale[parquet]'")
    if why := _name_fault(path):
        raise UsageError(f"cannot be written: {why}", where=target, remedy=NAME_ANOTHER)
    if target == "-" or _descriptor(path) is not None or (_is_special(path) and os.access(path, os.W_OK)):
        return
    folder = paths.real(path).parent if path.is_symlink() else path.parent
    why = (
        "is a folder" if paths.is_folder(path) else
        "no such folder" if target.endswith("/") or not paths.is_folder(folder) else
        paths.refusal(folder)
    )  # fmt: skip
    if why:
        raise UsageError(f"cannot be written: {why}", where=target, remedy=NAME_ANOTHER)


MARKS = {
    "report": b'<meta name="generator" content="corescale ',  # show/html/templates/page.html
    "calibration": b"# corescale calibrate: ",
    "noise passport": b'{\n "machine": ',
}
"""text in the first lines of each format of corescale's own, which identifies it; exports have others'"""


def must_be_ours(file: str, runs: Iterable[Path] = (), kind: str = "report") -> None:
    """Raises UsageError for the name of another format, a file of another kind, or one in these run folders."""
    remedy = "name another file"
    other = file not in ("", "-") and _descriptor(Path(file)) is None and not _is_special(Path(file))
    if kind == "report" and other and guess_type(file) != ("text/html", None):
        page = f"{Path(file).stem.removesuffix('.html')}.html"
        raise UsageError("is not the name of an HTML page, as a report is", where=file, remedy=f"name it {page}")
    whole = paths.real(file)
    if any(whole == paths.real(run) for run in runs):
        raise UsageError("is the run that is shown, and would be lost", where=file, remedy=remedy)
    if any(whole.is_relative_to(paths.real(run)) for run in runs):
        raise UsageError("lies in a run folder, and reports are not written there", where=file, remedy=remedy)
    if _descriptor(Path(file)) is not None or not paths.is_file(file) or whole.stat().st_size == 0:
        return
    try:
        with whole.open("rb") as there:
            ours = MARKS[kind] in there.read(4096)
    except OSError:
        ours = False
    if not ours:
        raise UsageError(f"exists, and is not a {kind} of corescale", where=file, remedy=remedy)


def must_be_text(target: str) -> None:
    """Raises UsageError for the name of a compressed or binary file, such as a spreadsheet, as exports are text."""
    kind, packing = guess_type(target)
    if not target.endswith(PARQUET) and (
        packing or not (kind or "text/").startswith(("text/", "application/json", "application/xml"))
    ):
        what = "is not the name of a text file, as an export is"
        raise UsageError(what, where=target, remedy="name it for its format, such as FILE.csv")


def _is_special(path: Path) -> bool:
    """Whether it is a pipe, a device or the like."""
    return paths.exists(path) and not paths.is_folder(path) and not paths.is_file(path)


def _name_fault(path: Path) -> str:
    """Why the operating system refuses this file name, for example because it is too long; empty if it does not."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""


def are_same(one: str, other: str) -> bool:
    """Whether two names refer to the same file, which need not exist."""
    if one == other or paths.real(one) == paths.real(other):
        return True
    with contextlib.suppress(OSError):
        return Path(one).samefile(other)
    return False


def make_folder(folder: Path) -> None:
    """Makes the folder and its parents; raises UsageError."""
    try:
        paths.make_folder(folder)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"cannot be made: {why}", where=str(folder), remedy="name a folder that may be written"
        ) from error


UNTOLD = "backslashreplace"
"""error handler that writes bytes of arguments that are not UTF-8 as `\\udce9`, which JSON reads back unchanged"""


LINKS = 40
"""most links that are followed, as in Linux"""


def _descriptor(target: Path) -> int | None:
    """The open file that /dev/stdout, /dev/fd/N, /proc/self/fd/N or a link to one of them names; None for others."""
    for _ in range(LINKS):
        folder, number = target.parent, target.name
        if str(folder) in ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd") and number.isdecimal():
            return int(number)
        if not target.is_symlink():
            return None
        target = folder / target.readlink()
    return None


def _replace(target: Path, content: bytes) -> None:
    if (number := _descriptor(target)) is not None:  # its opener continues to write
        with os.fdopen(os.dup(number), "wb") as stream:
            stream.write(content)
        return
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    whole = paths.real(target)
    made = whole.with_name(f".{target.name}.{uuid4().hex[:8]}")
    try:
        with made.open("xb") as file:
            file.write(content)
        if whole.exists():
            made.chmod(whole.stat().st_mode & 0o777)
        made.replace(whole)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
