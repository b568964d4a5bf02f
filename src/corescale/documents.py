# SPDX-License-Identifier: Apache-2.0
"""Reads files and JSON from users. Whatever they contain, reading ends, and faults are described in words."""

import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

MOST = 256 << 20
"""largest file, in bytes, that is read into memory"""


def content(path: Path) -> bytes:
    """The content of a file.

    Raises OSError if reading could last for ever or fill the memory: for a pipe, a device, or more than MOST bytes.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        if seen.st_size > MOST:
            raise OSError(errno.EFBIG, f"has {seen.st_size:,} bytes: at most {MOST:,} are read")
        return file.read()


def value(text: str | bytes, *, finite: bool = True) -> Any:
    """The value of a JSON text; raises ValueError. Infinity and NaN pass only if `finite` is false."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite) if finite else json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def typed(kind: TypeAdapter[T], text: str | bytes) -> T:
    """The value of a JSON text as an object of that type, without conversions; raises ValueError."""
    try:
        return kind.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise ValueError(": ".join(filter(None, (at, first["msg"].lower())))) from None
