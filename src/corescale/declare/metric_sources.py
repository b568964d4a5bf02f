# SPDX-License-Identifier: Apache-2.0
"""The sources of metrics, a table for help, messages and the schema of study files; what a response may be."""

import re

from corescale.errors import nearest

METRIC_SOURCES = {
    "stdout-size": "", "peak-memory": "", "cpu-time": "", "output": "KEY", "counter": "EVENT", "explain": "KIND"
}  # fmt: skip
"""Each source, and what follows its colon, if anything. A source with a key is the `gives` of a source in observe/."""
UNKEYED = tuple(name for name, key in METRIC_SOURCES.items() if not key)
"""sources that every launch has"""

_KEYED = "|".join(name for name, key in METRIC_SOURCES.items() if key)
PATTERN = rf"^({'|'.join(UNKEYED)}|({_KEYED}):[A-Za-z_][\w.-]*)$"
WRITTEN = tuple(f"{name}:{key}" if key else name for name, key in METRIC_SOURCES.items())
"""the sources as they are typed"""

RESPONSE = r"^(wall|region:.+|metric:.+)$"


def source(text: str) -> str:
    """The text; raises ValueError if it is no source of a metric."""
    if not re.fullmatch(PATTERN, text):
        remedy = nearest(text, WRITTEN, f"write one of {', '.join(WRITTEN)}")
        raise ValueError(f"{text!r} is not a source of a metric; {remedy}")
    return text


def response(text: str) -> str:
    """The text; raises ValueError if it is no response."""
    if not re.fullmatch(RESPONSE, text):
        raise ValueError(f"no response {text!r}; write wall, region:NAME, or metric:NAME of a declared metric")
    if re.fullmatch("metric:.*:(max|min)", text):
        remedy = "let the program print its inverse, such as seconds per item"
        raise ValueError(f"{text!r} names a direction, but less is always better; {remedy}")
    return text


def given_by(source: str) -> str:
    """What a message says if no launch gave a metric of this source: what to do, or the reason."""
    name, _, key = source.partition(":")
    if name == "output":
        return f'let it print a line such as {{"{key}": 1.5}}'
    if name == "explain":
        return "no profiler could be loaded into it, or the disk was full"
    return f"{name} is only a lower bound here"
