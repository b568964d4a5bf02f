# SPDX-License-Identifier: Apache-2.0
"""Times, shares and budgets as people type them."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

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
        remedy = f"write 90s, 5m or 1h30m{', or 100x for launches' if where == '--budget' else ''}"
        in_file = 'write "90s", "5m" or "1h30m"'
        raise UsageError(f"{text!r} is not a time above 0", where=where, remedy=remedy, in_file=in_file)
    return total


MOST_RUNS = 1_000_000
"""most runs; at a millisecond each they take a quarter of an hour, and their records take half a gigabyte"""


def runs(number: int, where: str) -> int:
    """The number of blocks; raises UsageError outside of 1 to MOST_RUNS."""
    if number < 1:
        raise UsageError(f"{number} runs measure nothing", where=where, remedy=f"write {where} 10")
    if number > MOST_RUNS:
        raise UsageError(f"{number:,} runs are more than {MOST_RUNS:,}", where=where, remedy=f"write {where} 100")
    return number


def share(
    text: str, where: str, *, zero: bool = False, usual: float = 0.02, least: float = 0, whole: float = 1
) -> float:
    """The share written as 2% or 0.02; raises UsageError outside of (least, 1). `zero`: also allow 0. `usual`: the
    example in the remedy. `whole`: the upper limit, instead of 1, of shares written with %."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if least < value < (whole if text.endswith("%") else 1) or (zero and value == 0):
        return value
    what = f"{text!r} is not a percentage"
    if math.isfinite(value):
        below = " and below 100%" if whole == 1 else ""
        what = f"{text!r} is not {'at least' if zero else 'above'} {100 * least:g}%{below}"
        if value >= 1 and least < value / 100 < whole and not text.endswith("%"):
            what, usual = f"{text!r} would be {100 * value:g}%", value / 100
    number = f" or {usual:g}" if usual < 1 else ""
    remedy, in_file = (f"write {percentage}{number}" for percentage in (f"{100 * usual:g}%", f'"{100 * usual:g}%"'))
    raise UsageError(what, where=where, remedy=remedy, in_file=in_file)


GATES = ("time", "mean", "cpu", "memory")
"""amounts that may have a gate"""


V = TypeVar("V")


def once(pairs: Iterable[tuple[str, V]], where: str) -> dict[str, V]:
    """The pairs as a dictionary; raises UsageError if a name is given twice."""
    found: dict[str, V] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"{name} is given twice", where=where, remedy="give it once")
        found[name] = value
    return found


def gates(texts: Sequence[str], response: str = "wall") -> dict[str, float]:
    """The limit of each gate: `5%` for the response, `mean=5%`, `cpu=5%` and `memory=5%` for others.

    Raises UsageError, also for a gate on the time if something else is compared.
    """
    if response != "wall" and (timed := next((text for text in texts if text.startswith("time=")), None)):
        remedy = f"write {timed.removeprefix('time=')}, a gate on {response}, or leave --response out"
        raise UsageError(f"{timed!r} is a gate on the time, but {response} is compared", where="--gate", remedy=remedy)
    return once(map(_gate, texts), "--gate")


def _gate(text: str) -> tuple[str, float]:
    if re.fullmatch("[a-z]+:.*", text):
        raise UsageError(f"{text!r} has no =", where="--gate", remedy=f"write {text.replace(':', '=', 1)}")
    if text in GATES:
        raise UsageError(f"{text!r} has no limit", where="--gate", remedy=f"write {text}=5%")
    of, equals, limit = text.rpartition("=")
    of = of if equals else "time"
    if of not in GATES:
        remedy = f"write one of {', '.join(GATES)}, and --gate once for each"
        raise UsageError(f"no gate on {of!r}", where="--gate", remedy=remedy)
    return of, share(limit, "--gate", zero=True, whole=math.inf)


def confidence(text: str, where: str) -> float:
    """A share above a half; raises UsageError."""
    return share(text, where, usual=0.95, least=0.5)


def budget(text: str) -> dict[str, float | int | None]:
    """The budget in seconds, or in launches if written as 100x; neither for `none`."""
    launches = re.fullmatch(r"\s*([1-9]\d{0,8})\s*(x|launches)\s*", text)
    if launches is not None:
        return {"budget": None, "launches": int(launches[1])}
    return {"budget": None if text == "none" else seconds(text, "--budget")}


def confirmation_pairs(text: str) -> int | None:
    """A number of blocks of `--confirm`; None for `auto`. Raises UsageError."""
    if text == "auto":
        return None
    if not re.fullmatch(r"\d{1,6}", text):
        raise UsageError(f"not a number of blocks: {text!r}", where="--confirm", remedy="write --confirm 10, or auto")
    return int(text)


def typed(seconds: float) -> str:
    """A time as an option takes it, `0.3s`."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"
