# SPDX-License-Identifier: Apache-2.0
"""What is too large for a record: compressed files, each named by the hash of its content.

One is on the disk before the record that names it, so a record never points to nothing. A crash between the two leaves
a file that no record names; `sweep` removes it.
"""

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from corescale.errors import StoreError
from corescale.observe.store import durable

FOLDER = "sidecars"
LEVEL = 6
"""level of gzip; its default of 9 takes three times as long to save a twentieth"""

OWN = re.compile(r"[0-9a-f]{64}\.gz|\..*\.gz\.new")
"""names of sidecars, and of their drafts (durable.write_whole)"""


def write(folder: Path, content: bytes) -> str:
    """Keeps `content` in `folder` and returns its name, the SHA-256 of `content`; on the disk when this returns."""
    name = hashlib.sha256(content).hexdigest()
    path = _path(folder, name)
    if not path.exists():
        durable.write_whole(path, gzip.compress(content, LEVEL, mtime=0))
    return name


def read(folder: Path, name: str) -> bytes:
    """The content of that name; raises StoreError where it is not there, or is not what was written."""
    path = _path(folder, name)
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"cannot be read: {error}", where=str(path), remedy="restore the file") from error
    if hashlib.sha256(content).hexdigest() != name:
        raise StoreError("the content does not match the name", where=str(path), remedy="restore the file")
    return content


def sweep(folder: Path, named: Iterable[str]) -> None:
    """Removes every sidecar that no record names, unfinished ones included, and nothing else; raises StoreError where
    the folder is a link, for it may lead to files of somebody else.
    """
    if folder.is_symlink():
        raise StoreError("is a link", where=str(folder), remedy="put the folder itself there, or choose --out DIR")
    kept = {_path(folder, name) for name in named}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path not in kept and OWN.fullmatch(path.name):
            with durable.writing(path):
                path.unlink()


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.gz"
