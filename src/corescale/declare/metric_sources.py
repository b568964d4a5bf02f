# SPDX-License-Identifier: Apache-2.0
"""What a metric can be declared as: one table, from which help, messages and the schema of study files follow."""

METRIC_SOURCES = {
    "stdout-size": "", "peak-memory": "", "cpu-time": "", "output": "KEY", "counter": "EVENT", "explain": "KIND"
}  # fmt: skip
"""What follows the colon of each source, if anything. A source with a key is the `gives` of one of observe's."""
UNKEYED = tuple(name for name, key in METRIC_SOURCES.items() if not key)
"""sources that every launch has"""

_KEYED = "|".join(name for name, key in METRIC_SOURCES.items() if key)
PATTERN = rf"^({'|'.join(UNKEYED)}|({_KEYED}):[A-Za-z_][\w.-]*)$"
WRITTEN = tuple(f"{name}:{key}" if key else name for name, key in METRIC_SOURCES.items())
"""the sources as they are typed"""


def given_by(source: str) -> str:
    """What makes a launch give a metric of this source; empty: of no source yet."""
    name, _, key = source.partition(":")
    if name == "output":
        return f'let it print a line such as {{"{key}": 1.5}}'
    if name == "explain":
        return "no profiler could be loaded into it, or the disk was full"
    return f"{name} is only a lower bound here" if name else "--metric adds one"
