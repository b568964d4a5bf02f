# SPDX-License-Identifier: Apache-2.0
"""From the options that name factors (-f, -L, -P, --threads and similar) to factors with levels."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Literal

from corescale.declare import factors
from corescale.declare.experiment import Factor
from corescale.declare.factors.threads import Count, divisors
from corescale.declare.request import Request
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.records import Level


def named(
    request: Request, asked: frozenset[str], machine: Machine, default_threads: str
) -> tuple[list[Factor], list[str]]:
    """The factors that a request names, and the levels left out, each with a reason; raises UsageError."""
    if request.parameter_step and not request.parameter_scan:
        raise UsageError("is the step of -P, which is missing", where="-D", remedy="write -P NAME MIN MAX -D STEP")
    texts = [(*pair(text, "-f", "NAME=A,B"), "-f") for text in request.factor]
    texts += [(*_parameter(text, asked, "-L"), "-L") for text in request.parameter_list]
    texts += [(*_scanned(text, request.parameter_step, asked), "-P") for text in request.parameter_scan]
    given = {name for name, _, _ in texts}
    if request.allocators:
        texts.append(("allocator", request.allocators, "--allocators"))
    made = {part for name in given & set(factors.KINDS) for part in factors.KINDS[name].makes}
    unasked = {"ranks": "auto"} if default_threads and not made and "ranks" in asked - given else {}
    for name in ("nodes", "ranks"):
        if text := getattr(request, name) or unasked.get(name, ""):
            texts.insert(0, (name, text, f"--{name}"))
            made |= {name}
    threads = request.threads or (default_threads if not made else "")
    if threads and "threads" not in asked and (both := sorted(given & {*factors.THREAD_VARIABLES})):
        raise UsageError("is what a number of threads sets", where=f"-f {both[0]}", remedy="write -t 1,2 instead")
    if threads:
        texts.insert(0, ("threads", threads, "-t"))
    found: list[Factor] = []
    left_out: list[str] = []
    for name, text, where in texts:
        if name in {factor.name for factor in found}:
            raise UsageError(f"factor {name!r} is given twice", where=where, remedy="merge its levels")
        kind = factors.kind_of(name, asked)
        every: list[str] | Literal["auto"] = "auto"
        if text != "auto":
            every = _split(name, text, factors.KINDS[kind], where)
        factor, missing = factor_of(name, kind, every, machine, where)
        left_out += missing
        found.append(factor)
    return filling(found, {name for name, text, _ in texts if "auto" in text.split(",")}, machine), left_out


def filling(chosen: Sequence[Factor], automatic: Collection[str], machine: Machine) -> list[Factor]:
    """Adds threads that fill the cores with some number of ranks, if ranks and threads are both automatic."""
    if not {"ranks", "threads"} <= {factor.kind for factor in chosen if factor.name in automatic}:
        return list(chosen)
    also = divisors(machine.default_max_threads)
    return [
        factor.model_copy(update={"levels": tuple(sorted({*factor.levels, *also}))})
        if factor.kind == "threads"
        else factor
        for factor in chosen
    ]


def factor_of(
    name: str, kind: str, texts: Sequence[str] | Literal["auto"], machine: Machine, where: str, *, lenient: bool = False
) -> tuple[Factor, list[str]]:
    """The factor with the levels that can be used here, and one line on each that cannot.

    `lenient`: an allocator that is not here is left out, too; otherwise it is an error.
    Numbers of threads, ranks or nodes next to `auto` are left out if they are above the machine's largest.
    """
    table = factors.KINDS[kind]
    levels: list[Level] = []
    left_out: list[str] = []
    if texts == "auto":
        automatic, reasons = table.auto(name, machine)
        levels, left_out = list(automatic), list(reasons)
    elif "auto" in texts and isinstance(table, Count):
        _must_be_distinct(name, texts, where)
        numbers = [text for text in texts if text != "auto"]
        asked = factor_of(name, kind, numbers, machine, where, lenient=lenient)[0].levels if numbers else ()
        here, left_out = factor_of(name, kind, "auto", machine, where)
        most = max(map(int, here.levels))
        levels = sorted({*map(int, here.levels), *(level for level in map(int, asked) if level <= most)})
        left_out += [f"{name}={level}: above {most}, the most here" for level in asked if int(level) > most]
    else:
        _must_stand_alone(name, table, texts, where)
        _must_be_few(name, len(texts), where)
        _must_be_distinct(name, texts, where)
        for text in texts:
            try:
                levels.append(_finite(name, table.parse(text, machine), where))
            except UnavailableError as error:
                if not lenient:
                    raise
                left_out.append(f"{error.what} ({error.remedy})")
            except UsageError as error:
                if table.separator != ",":
                    error.remedy += f"; {table.separator} separates levels"
                raise
    _must_be_distinct_numbers(name, levels, where)
    why = {level: table.unavailable(level, machine) for level in levels}
    left_out += [reason for reason in why.values() if reason is not None]
    left_out += [said for level in levels if kind == "parameter" and (said := factors.no_range(name, level))]
    kept = tuple(dict.fromkeys(level for level in levels if why[level] is None))
    if not kept:
        what = f"no level of factor {name!r} can be used here: {'; '.join(left_out)}"
        raise UsageError(what, where=where, remedy="name a level that can")
    return Factor(name=name, kind=kind, levels=kept), left_out


def _must_stand_alone(name: str, table: factors.Kind, texts: Sequence[str], where: str) -> None:
    """Raises UsageError for `auto` among other levels, unless it may be a value, as in OMP_SCHEDULE."""
    if "auto" in texts and table.keyword(name):
        raise UsageError(
            f"auto means all levels of {name}", where=where, remedy=f"write {name}=auto alone, or list the levels"
        )


MOST_LEVELS = 10_000
"""most levels of one factor: launching each of more levels once takes longer than anyone waits"""

COUNTED = 10**9
"""largest number of levels that a message writes out"""


def _must_be_few(name: str, levels: int | Decimal, where: str) -> None:
    if levels > MOST_LEVELS:
        many = f"{int(levels):,}" if levels < COUNTED else f"more than {COUNTED:,}"
        what = f"{name} would have {many} levels, above the limit of {MOST_LEVELS:,}"
        raise UsageError(what, where=where, remedy="a larger step (-D), or fewer levels")


def _must_be_distinct(name: str, texts: Sequence[str], where: str) -> None:
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise UsageError(f"{name}={twice} is given twice", where=where, remedy="each level once")


def _finite(name: str, level: Level, where: str) -> Level:
    if isinstance(level, float) and not math.isfinite(level):
        remedy = "write a number, or another word"
        raise UsageError(f"{name}={level} is not a finite number", where=where, remedy=remedy)
    return level


def _must_be_distinct_numbers(name: str, levels: Sequence[Level], where: str) -> None:
    """Refuses levels that are the same number: 1 and 1.0 would be one level with two spellings."""
    first: dict[Level, Level] = {}
    for level in levels:
        other = first.setdefault(level, level)
        if str(other) != str(level):
            what = f"{name}={other} and {name}={level} are the same number"
            raise UsageError(what, where=where, remedy="each level once")


def _split(name: str, text: str, table: factors.Kind, where: str) -> list[str]:
    levels = table.split(text)
    if not text.strip():
        remedy = f"write at least one; {table.separator} separates levels"
        raise UsageError(f"factor {name!r} has no level", where=where, remedy=remedy)
    if table.separator == "," and (cut := next((one for one in levels[:-1] if re.fullmatch('"[^"]*', one)), "")):
        what = f"the level {cut} is not closed, because a comma separates levels also between quotes"
        raise UsageError(what, where=where, remedy=f"write {name}=a\\,b for a level with a comma")
    if not all(levels):
        remedy = f"write one before and behind each {table.separator!r}"
        raise UsageError(f"factor {name!r} has an empty level", where=where, remedy=remedy)
    return levels


def pair(text: str, where: str, form: str) -> tuple[str, str]:
    """Name and value of `NAME=VALUE`; raises UsageError, which says the `form` that the option has."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        what = "the name is empty" if equals else f"{text!r} is not {form}"
        raise UsageError(what, where=where, remedy=f"write {where} {form}")
    return name.strip(), value.strip()


def _parameter(text: str, asked: Iterable[str], where: str) -> tuple[str, str]:
    name, values = pair(text, where, "NAME MIN MAX" if where == "-P" else "NAME A,B")
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"{name!r} cannot be a placeholder", where=where, remedy="use letters a to z, digits and _")
    if name not in asked:
        raise UsageError(f"the command has no {{{name}}}", where=where, remedy=f"put {{{name}}} into it")
    return name, values


_EXACT = Context(prec=1000, traps=[InvalidOperation, Inexact])
"""the precision with which levels of -P keep every digit that was typed"""


def _scanned(text: str, step: str, asked: Iterable[str]) -> tuple[str, str]:
    name, bounds = _parameter(text, asked, "-P")
    try:
        low, high, by = (Decimal(part) for part in (*bounds.split(":"), step or "1"))
        if not all(each.is_finite() for each in (low, high, by)) or by <= 0 or high < low:
            raise ValueError
        if not step and (digits := -min(int(each.as_tuple().exponent) for each in (low, high))) > 0:
            remedy = f"add a step, such as -D {Decimal(1).scaleb(-digits):f}"
            raise UsageError(f"{bounds.replace(':', ' to ')} needs a step", where="-P", remedy=remedy)
        most = _EXACT.divide_int(_EXACT.subtract(high, low), by)
        _must_be_few(name, _EXACT.add(most, Decimal(1)), "-P")
        return name, ",".join(_as_typed(_EXACT.fma(Decimal(k), by, low), low) for k in range(int(most) + 1))
    except (ValueError, InvalidOperation, Inexact):
        what = f"cannot go from {bounds.replace(':', ' to ')} by {step or '1'}"
        raise UsageError(what, where="-P", remedy="write -P NAME MIN MAX -D STEP, in numbers") from None


def _as_typed(value: Decimal, low: Decimal) -> str:
    """The value with the decimals of the first level, or more if it needs them: from 1 by 0.5 gives 1, 1.5, 2."""
    text, least = f"{value:f}", max(0, len(f"{low:f}".partition(".")[2]))
    whole, point, decimals = text.partition(".")
    decimals = decimals[:least] + decimals[least:].rstrip("0")
    return f"{whole}{point}{decimals}" if decimals else whole


def baselines(text: str, chosen: Sequence[Factor], machine: Machine) -> list[tuple[str, Level]]:
    """Factor and level of the baseline, if `--baseline` names it; raises UsageError."""
    by_name = {factor.name: factor for factor in chosen if factor.kind != "command"}  # the reference is typed first
    result = []
    for part in text.split(",") if text else ():
        name, value = pair(part, "--baseline", "NAME=LEVEL")
        if name not in by_name:
            raise UsageError(
                f"no factor {name!r}", where="--baseline", remedy=f"factors here: {', '.join(by_name) or 'none'}"
            )
        result.append((name, by_name[name].how.parse(value, machine)))
    return result
