# SPDX-License-Identifier: Apache-2.0
"""The constants of the race: few, and the page has them as they are."""

import dataclasses
import re
from pathlib import Path

from corescale.conclude.race.options import OPTIONS

PAGE = (Path(__file__).parents[4] / "docs" / "race.md").read_text()


def test_the_page_has_every_constant_as_it_is() -> None:
    table = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    assert [(name, float(value)) for name, value in table] == [
        (field.name, float(getattr(OPTIONS, field.name))) for field in dataclasses.fields(OPTIONS)
    ]
    assert len(table) <= 16
    assert PAGE.count("\n") <= 150
