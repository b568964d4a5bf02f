# SPDX-License-Identifier: Apache-2.0
"""The sources of metrics, a table for help, messages and the schema of study files; what a response may be."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from corescale.errors import nearest


@dataclass(frozen=True)
class MetricSource:
    """One source of metrics."""

    key: str = ""
    """what follows its colon, if anything; a source with a key is the `gives` of a source in observe/"""
    absent: str = "only a lower bound is known here"
    """what a message says if no launch gave a metric of it: what to do, or the reason"""
    exact: bool = False
    """whether its values are counts; others are measured or may be printed with few digits, so they are rounded"""
    unit: str = ""
    """of its values in a message; empty for numbers without unit"""
    size: float = 1
    """value of one unit"""


METRIC_SOURCES = {
    "stdout-size": MetricSource(exact=True),
    "peak-memory": MetricSource(unit=" MiB", size=2**20),
    "cpu-time": MetricSource(unit=" s"),
    "output": MetricSource("KEY", 'let it print a line such as {{"{key}": 1.5}}'),
    "count": MetricSource("KEY", 'let it print a line such as {{"{key}": 5}}', exact=True),
    "counter": MetricSource("EVENT", "no counter of the processor was free", exact=True),
    "explain": MetricSource("KIND", "no profiler could be loaded into it, or the disk was full"),
}
UNKEYED = tuple(name for name, each in METRIC_SOURCES.items() if not each.key)
"""sources that every launch has"""

_KEYED = "|".join(name for name, each in METRIC_SOURCES.items() if each.key)
PATTERN = rf"^({'|'.join(UNKEYED)}|({_KEYED}):[A-Za-z_][\w.-]*)$"
WRITTEN = tuple(f"{name}:{each.key}" if each.key else name for name, each in METRIC_SOURCES.items())
"""the sources as they are typed"""

RESPONSE = rf"^(wall|region:.+|metric:.+|{'|'.join(UNKEYED)})$"


def source(text: str) -> str:
    """The text; raises ValueError if it is no source of a metric."""
    if not re.fullmatch(PATTERN, text):
        remedy = nearest(text, WRITTEN, f"write one of {', '.join(WRITTEN)}")
        raise ValueError(f"{text!r} is not a source of a metric; {remedy}")
    return text


def response(text: str) -> str:
    """The text; raises ValueError if it is no response."""
    if not re.fullmatch(RESPONSE, text):
        known = ", ".join(("wall", *UNKEYED))
        raise ValueError(f"no response {text!r}; write {known}, region:NAME, or metric:NAME of a declared metric")
    if re.fullmatch("metric:.*:(max|min)", text):
        remedy = "let the program print its inverse, such as seconds per item"
        raise ValueError(f"{text!r} names a direction, but less is always better; {remedy}")
    return text


def exact(source: str) -> bool:
    """Whether the values of this source are exact."""
    return METRIC_SOURCES[source.partition(":")[0]].exact


LARGEST, SMALLEST = 1e150, 1e-150
"""bounds of a metric, within which products and ratios of two metrics are finite and not 0"""


def usable(value: float) -> bool:
    """Whether a number may be the value of a metric."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


def out_of_range(key: str, value: float) -> str:
    """The warning about a value that is ignored; `given_by` knows it by its first words."""
    return f"{key} = {value:.3g} is ignored: it is neither 0 nor between {SMALLEST:g} and {LARGEST:g}"


def given_by(source: str, warnings: Iterable[str]) -> str:
    """What a message says if no launch gave a metric of this source: what to do, or the reason, which may be among the
    launches' `warnings`."""
    name, _, key = source.partition(":")
    ignored = (said for said in warnings if key and said.startswith(f"{key} = "))
    return next(ignored, METRIC_SOURCES[name].absent.format(key=key))


def number(value: float, source: str) -> str:
    """The value of a metric of this source with its unit, in four digits: `30 MiB`."""
    of = METRIC_SOURCES.get(source.partition(":")[0], MetricSource())
    return f"{value / of.size:.4g}{of.unit}"
