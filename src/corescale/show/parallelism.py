# SPDX-License-Identifier: Apache-2.0
"""How a number of threads and ranks is written: `4 threads`, `2 ranks`, `layout=2x2x1`."""

from corescale.records import Configuration
from corescale.show import text

MAKERS = ("threads", "ranks", "layout")
"""factors that make p"""


def counted(configuration: Configuration) -> str:
    """`4 threads`, `1 rank`; the levels themselves where p alone does not tell them apart."""
    makers = _makers(configuration)
    if _mixed(makers):
        return text.clean(" ".join(f"{name}={level}" for name, level in makers.items()))
    return text.count(configuration.layout.p, "rank" if "ranks" in makers else "thread")


def below(configuration: Configuration) -> tuple[str, ...]:
    """What stands beneath p in a table: the layout, where two rows may have the same p."""
    return (f"layout={configuration.layout}",) if _mixed(_makers(configuration)) else ()


def _makers(configuration: Configuration) -> dict[str, object]:
    return {name: level for name, level in configuration.levels if name in MAKERS}


def _mixed(makers: dict[str, object]) -> bool:
    return "layout" in makers or len(makers) > 1
