# SPDX-License-Identifier: Apache-2.0
"""Archives of runs: RUN.tar.xz, or a report page, which contains a tar.gz of its runs in base64 between two marks."""

import base64
import binascii
import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from corescale.errors import StoreError
from corescale.observe.store import durable

BEGIN, END = '<script type="text/plain" id="capsule">', "</script>"
FILES = ("plan.json", "environment.json", "records.jsonl", "finished", "sealed.json")
"""files of a run folder"""
MOST = 1 << 30
"""largest file of an archive in bytes, because it is read into memory"""
NAME = re.compile(r"[\w+,=@-][\w+,=@.-]*")
"""pattern of each part of a member's path, so that the path cannot leave its folder"""


def packed(runs: Mapping[str, Path]) -> str:
    """The runs as text for a page, each under its name. A run is a folder or an archive. Equal runs give equal text."""
    plain = _tar((f"{_safe(run)}/{name}", content) for run, path in runs.items() for name, content in files(path))
    return base64.b64encode(gzip.compress(plain, 9, mtime=0)).decode()


def archive(run: Path) -> bytes:
    """RUN.tar.xz of a run folder or archive. Equal runs give equal bytes."""
    return lzma.compress(_tar((name, content) for name, content in files(run) if name in FILES), preset=9)


def _tar(members: Iterable[tuple[str, bytes]]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as file:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return plain.getvalue()


def is_page(path: Path) -> bool:
    """Whether the file is a page, whatever its name."""
    with path.open("rb") as file:
        return file.read(64).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def members(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of the runs in a page, each with its path; raises StoreError for a page of anything but runs."""
    remedy = "give a report.html as it was written"
    try:
        _, begin, rest = path.read_bytes().partition(BEGIN.encode())
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path), remedy="give a report.html") from error
    if not begin or END.encode() not in rest or rest.startswith(END.encode()):
        raise StoreError("carries no run", where=str(path), remedy="make the page again from the run: corescale report")
    try:
        packed = base64.b64decode(rest[: rest.index(END.encode())], validate=True)
        plain = gzip.decompress(packed)  # checks the checksum; tarfile silently stops at a damaged header
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as file:
            for member in file:
                name = PurePosixPath(member.name)
                content = file.extractfile(member) if member.isreg() else None
                if content is None or len(name.parts) < 2 or not all(map(NAME.fullmatch, name.parts)):
                    raise StoreError(f"carries {member.name!r}, which no run has", where=str(path), remedy=remedy)
                yield name, content.read()
    except (binascii.Error, zlib.error, tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise StoreError(f"its run is damaged: {error}", where=str(path), remedy=remedy) from error


def extract(page: Path, root: Path) -> list[Path]:
    """Writes the run folders of a page under `root`, byte for byte as they were; existing files are never replaced."""
    found = list(members(page))
    folders = list(dict.fromkeys(root / name.parent for name, _ in found))
    if there := next((folder for folder in folders if folder.exists()), None):
        raise StoreError("is there already", where=str(there), remedy="name another folder: --output DIR")
    for name, content in found:
        target = root / name
        with durable.writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            durable.write_whole(target, content)
    return folders


def files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a run, by their paths in the folder, without outputs, which can be made again from them."""
    if path.is_dir():
        yield from ((name, (path / name).read_bytes()) for name in FILES if (path / name).is_file())
    elif is_page(path):
        found = list(members(path))
        if len({name.parent for name, _ in found}) > 1:
            remedy = "corescale report --extract writes each, and corescale report shows them together"
            raise StoreError("carries several runs", where=str(path), remedy=remedy)
        yield from ((name.name, content) for name, content in found)
    else:
        there = dict(_of_tar(path))
        runs = [name.parent for name in there if name.name == FILES[0]]
        if len(runs) > 1:
            remedy = f"unpack it, and name one run, such as {runs[-1]}"
            raise StoreError(f"is no run, and holds {len(runs)}", where=str(path), remedy=remedy)
        yield from ((name.name, content) for name, content in there.items() if name.parent in runs)


def _of_tar(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files in a tar archive that have the name of a run's file."""
    with tarfile.open(path) as file:
        for member in file:
            name = PurePosixPath(member.name)
            if name.name in FILES and member.size > MOST:
                what = f"{name.name} of {member.size:,} bytes is too large for a run"
                raise StoreError(what, where=str(path), remedy="unpack it, and give the folder")
            if name.name in FILES and member.isreg() and (content := file.extractfile(member)):
                yield name, content.read()


def _safe(name: str) -> str:
    return "/".join(re.sub(r"[^\w+,=@.-]|^\.+", "_", part, flags=re.ASCII) for part in name.split("/") if part) or "run"
