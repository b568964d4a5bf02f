# SPDX-License-Identifier: Apache-2.0
"""Formats numbers and foreign text as plain strings, for all outputs.

The output of programs is never trusted: `clean` removes everything that a terminal, a table or a page would interpret.
"""

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from corescale.conclude.stats import Interval, decide
from corescale.errors import spelt

Shown = tuple[str, str]
"""A number and its interval, `("1.31x", "[1.27, 1.36]")`; the second is empty if there is no interval."""

UNKNOWN = "-"

USUAL = 0.95
"""confidence of an interval that does not state its own"""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def clean(text: str) -> str:
    """One printable line: terminal sequences dropped, line breaks as spaces, other control characters spelt out."""
    flat = " ".join(_ESCAPES.sub("", text).split("\n"))
    return "".join(c if c.isprintable() else " " if c.isspace() else spelt(c) for c in flat)


def seconds(value: float) -> str:
    """`1.23 s`, `84.1 ms`, `12.0 us`."""
    return join(time(Interval(value, None, None, None, 0)))


def duration(value: float) -> str:
    """`45 s`, `3 min 10 s`, `2 h 5 min`: how long something takes, roughly."""
    whole = max(0, round(value))
    if whole < 60:
        return f"{whole} s"
    big, small, units = (whole // 60, whole % 60, ("min", "s")) if whole < 3600 else (
        whole // 3600, whole % 3600 // 60, ("h", "min"))  # fmt: skip
    return f"{big} {units[0]}" + (f" {small} {units[1]}" if small else "")


def memory(count: float) -> str:
    """`12.3 MiB`, from bytes; UNKNOWN for 0."""
    if not count > 0:
        return UNKNOWN
    power = min(int(math.log2(count) // 10), 4)
    return f"{count / 1024**power:.{0 if power == 0 else 1}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """`95%`, `1.8%`, `0.05%`, `99.99%`: two or three digits, without a trailing zero; only 1 is 100%."""
    if 0.99 < share < 1:
        return f"{100 - float(f'{(1 - share) * 100:.2g}'):.12g}%"
    return f"{share * 100:.2g}%" if abs(share) < 0.1 else f"{share * 100:.3g}%"


def at_confidence(confidence: float) -> str:
    """` at 99%` after an interval in brackets; empty for 95%, which is the default."""
    return "" if confidence == USUAL else f" at {percent(confidence)}"


BOUND = 1.0
"""largest bound that is printed; beyond it, the best may take less than half the time, which is no claim."""


def at_most(share: float) -> str:
    """A bound in percent, rounded upwards so that the statement stays true."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g}%"


def time(interval: Interval) -> Shown:
    """Seconds, in the unit that suits the estimate, or the upper end if the estimate is 0. Three digits if they do not
    scatter."""
    size = interval.estimate or interval.high or 0.0
    factor, unit = next(((f, u) for f, u in ((1.0, "s"), (1e3, "ms"), (1e6, "us")) if size * f >= 1), (1e6, "us"))
    least = max(2 - math.floor(math.log10(size * factor)), 0) if size and _has_no_width(interval) else 0
    return _shown(interval, f" {unit}", factor, least=least)


def times(interval: Interval) -> Shown:
    """A ratio: `1.31x`."""
    return _shown(interval, "x", 1, least=2)


def ratio(interval: Interval) -> Shown:
    """A ratio without its sign: `1.31`."""
    return _shown(interval, "", 1, least=2)


def share(interval: Interval) -> Shown:
    """A fraction in percent: `43.1%`."""
    return _shown(interval, "%", 100, least=0, most=2)


def amount(interval: Interval) -> Shown:
    """A number whose unit is above it: `43.1`."""
    return _shown(interval, "", 1, least=0)


def number(interval: Interval) -> Shown:
    """A number without unit, with four significant digits."""
    if not math.isfinite(interval.estimate):
        return UNKNOWN, ""
    ends = "" if interval.low is None or interval.high is None else f"[{plain(interval.low)}, {plain(interval.high)}]"
    return plain(interval.estimate), ends


def plain(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; below 1e9, with all that are before the point."""
    return f"{value:.0f}" if 10 ** (digits - 1) <= abs(value) < 1e9 else f"{value:.{digits}g}"


def brief(value: float) -> str:
    """A number without unit, with three significant digits, for the small cells of a heat map: `15.9k`."""
    size, letter = next(((s, of) for s, of in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if abs(value) >= s), (1.0, ""))
    return f"{value / size:.3g}{letter}"


def mebibytes(interval: Interval) -> Shown:
    """Bytes: `32.4 MiB`."""
    return _shown(interval, " MiB", 2.0**-20, least=1)


KNOWN = {"metric:peak-memory": mebibytes, "metric:cpu-time": time}
"""formats of metrics whose unit is known"""


def quantity(response: str) -> Callable[[Interval], Shown]:
    """The function that formats values of a declared response; most metrics have no known unit."""
    return KNOWN.get(response, time if is_time(response) else number)


def value(estimate: float, response: str) -> str:
    """One value of a declared response, as `84.1 ms`."""
    return quantity(response)(Interval(estimate, None, None, None, 0))[0]


def is_time(response: str) -> bool:
    """Whether a declared response is a time; a metric may be anything."""
    return not response.startswith("metric:")


def amount_of(response: str) -> str:
    """The noun for a declared response in a sentence: `time`, or the metric's name."""
    return "time" if is_time(response) else clean(response.removeprefix("metric:"))


def of_response(formula: str, response: str) -> str:
    """A formula of T, such as `T / T(reference)`, with the metric's name in place of T if the response is a metric."""
    return formula if is_time(response) else re.sub(r"\bT\b", lambda _: amount_of(response), formula)


def quantity_name(response: str) -> str:
    """The column heading of a declared response."""
    source, _, name = response.partition(":")
    return "time" if source == "wall" else clean(name)


def join(shown: Shown) -> str:
    """`1.31x [1.27, 1.36]`."""
    return " ".join(part for part in shown if part)


def no_interval(confidence: float) -> str:
    """The note for a missing interval, whether there are too few blocks or launches failed."""
    return f"no {percent(confidence)} interval"


class Words(NamedTuple):
    """The adjectives for a response: those of speed for a time; for a metric, those of an amount."""

    better: str
    worse: str
    best: str
    equal: str


def words(response: str) -> Words:
    """`faster`, `slower`; of a metric, `lower in m`, `higher in m`."""
    if is_time(response):
        return Words("faster", "slower", "fastest", "as fast")
    name = amount_of(response)
    return Words(f"lower in {name}", f"higher in {name}", f"lowest in {name}", f"as low in {name}")


class Multiple(NamedTuple):
    """A ratio in words: `1.25x`, its interval, `is`, `faster`, `than`; of a metric `0.80x`, ..., `has`, `the m`, `of`.

    Only a time is turned around to be above 1.
    """

    value: str
    ends: str
    shown: Interval
    verb: str
    word: str
    link: str


def multiple(gain: Interval, response: str, *, several: bool = False) -> Multiple:
    """The words for T(other) / T(this), as seen from `this`; `several`: `this` is a plural."""
    timed, faster = is_time(response), gain.estimate >= 1
    shown = gain if timed and faster else gain.map(lambda ratio: 1 / ratio)
    if not timed:
        verb = "have" if several else "has"
        return Multiple(*times(shown), shown, verb, f"the {amount_of(response)}", "of")
    return Multiple(*times(shown), shown, "are" if several else "is", "faster" if faster else "slower", "than")


def than(this: str, other: str, gain: Interval, confidence: float, response: str, *, agree: bool = True) -> str:
    """The sentence about a ratio T(other) / T(this). It claims only what the interval shows; without an interval, it
    says that the command "looks" faster or slower, or as fast if the times beside it do not `agree`.
    """
    several, found = _several(this), words(response)
    said = multiple(gain, response, several=several)
    digits = decimals(said.shown)
    equal = round(said.shown.estimate, digits) == 1
    decision = decide(gain.map(lambda ratio: 1 / ratio))
    if decision == "too few blocks":
        like = "" if is_time(response) else "like "
        much = f"{like}{said.value} {said.word} {said.link} {other}"
        looks = f"{found.equal} as {other}" if equal or not agree else much
        return f"{this} {'look' if several else 'looks'} {looks}, but there is {no_interval(confidence)}"
    if decision == "no difference shown":
        return f"{decision}: {as_fast(this, other, gain, confidence, response)}"
    much = f"{said.verb} {said.value} {said.word} {said.link}"
    if equal:
        step, far = 10.0**-digits / 2, said.shown.high
        least = f"less than {100 * step:g}% " if far is not None and far <= 1 + step else ""
        much = f"{'are' if several else 'is'} {least}{found.better if gain.estimate >= 1 else found.worse} than"
    return f"{this} {much} {join((other, said.ends))}{at_confidence(confidence)}"


def as_fast(this: str, other: str, gain: Interval, confidence: float, response: str) -> str:
    """`2 threads are 1.02x [0.98, 1.05] as fast as 1`, for T(other) / T(this): the number without a verdict."""
    said = multiple(gain, response, several=_several(this))
    much = f"{join(times(gain))} as fast as" if is_time(response) else f"{join(said[:2])} {said.word} {said.link}"
    return f"{this} {said.verb} {much} {other}{at_confidence(confidence)}"


def _several(this: str) -> bool:
    return re.match(r"\d+ ", this) is not None and not this.startswith("1 ")


def _shown(interval: Interval, unit: str, factor: float, *, least: int, most: int = 4) -> Shown:
    """The number and its interval. An interval without width is not shown."""
    if not math.isfinite(interval.estimate):
        return UNKNOWN, ""
    digits = decimals(interval, factor, least=least, most=most)
    value = f"{interval.estimate * factor:z.{digits}f}{unit}"
    if interval.low is None or interval.high is None or _has_no_width(interval):
        return value, ""
    return value, f"[{interval.low * factor:z.{digits}f}, {interval.high * factor:z.{digits}f}]"


def decimals(interval: Interval, factor: float = 1, *, least: int = 2, most: int = 4) -> int:
    """The decimals of a shown number: the half width of its interval has 3 to 29 units in the last one. By default for
    `times`. A number without an interval has three significant digits."""
    value, half = interval.estimate * factor, (interval.half_width or 0) * factor
    if not (math.isfinite(value) and math.isfinite(half)):
        return least
    if interval.low is None or interval.high is None:
        wanted = 2 - math.floor(math.log10(abs(value))) if value else 0
    else:
        wanted = least if _has_no_width(interval) else -math.floor(math.log10(half / 3))
    return min(max(wanted, least), most)


def _has_no_width(interval: Interval) -> bool:
    return (interval.half_width or 0) <= abs(interval.estimate) * 1e-9
