# SPDX-License-Identifier: Apache-2.0
"""Times, shares and budgets as people type them."""

import math
import re

from corescale.errors import UsageError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_PART = r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*"


def seconds(text: str, where: str) -> float:
    """90s, 5m, 1h30m, 1d or a number of seconds; raises UsageError."""
    parts = re.findall(_PART, text) if re.fullmatch(f"(?:{_PART})+", text) else []
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
        parts = [(text, "")]
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not total or not math.isfinite(total):
        launches = ", or 100x for launches" if where == "--budget" else ""
        raise UsageError(f"{text!r} is not a time", where=where, remedy=f"write 90s, 5m or 1h30m{launches}")
    return total


def share(text: str, where: str) -> float:
    """2% or 0.02; raises UsageError outside of (0, 1)."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if not 0 < value < 1:
            raise ValueError
    except ValueError:
        raise UsageError(f"{text!r} is not a share", where=where, remedy="write 2% or 0.02") from None
    return value


def confidence(text: str, where: str) -> float:
    """A share above a half; raises UsageError."""
    value = share(text, where)
    if value <= 0.5:
        raise UsageError(f"{text!r} is not above 50%", where=where, remedy="write 95% or 0.95")
    return value


def budget(text: str) -> dict[str, float | int | None]:
    """Seconds, or launches as 100x; neither for `none`."""
    launches = re.fullmatch(r"\s*([1-9]\d*)\s*(x|launches)\s*", text)
    if launches is not None:
        return {"budget": None, "launches": int(launches[1])}
    return {"budget": None if text == "none" else seconds(text, "--budget")}


def fresh_blocks(text: str) -> int | None:
    """A number of blocks of `--confirm`; None for `auto`. Raises UsageError."""
    if text == "auto":
        return None
    if not text.isdecimal():
        raise UsageError(f"not a number of blocks: {text!r}", where="--confirm", remedy="write --confirm 10, or auto")
    return int(text)
