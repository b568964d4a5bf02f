# SPDX-License-Identifier: Apache-2.0
"""Interactive charts in a page, without any network: the scripts that draw them, bundled, and what they draw.

Both packages are optional (the extra `interactive`); without them a page shows the pictures of static.py.
"""

import base64
import functools
import gzip
import importlib.util
from typing import Any

from corescale.show.charts.model import Chart

MODULES = ("altair", "vl_convert")
"""Of the packages altair and vl-convert-python."""

VEGA_LITE = "6.4"
"""The schema of altair 6, and what is bundled to compile it."""


def available() -> bool:
    """Whether a page can be made interactive here."""
    return all(importlib.util.find_spec(module) is not None for module in MODULES)


@functools.cache
def scripts() -> str:
    """Vega, Vega-Lite and vega-embed as one script: gzip, as base64, some 0.4 MB. Takes 2 s, once a process."""
    import vl_convert  # noqa: PLC0415  optional

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return base64.b64encode(gzip.compress(bundle.encode(), 9, mtime=0)).decode("ascii")


def specification(chart: Chart) -> dict[str, Any]:
    """The chart as Vega-Lite, data included, as JSON values. Colours are the page's CSS variables."""
    from corescale.show.charts import vega  # noqa: PLC0415  optional

    return vega.specification(chart)
