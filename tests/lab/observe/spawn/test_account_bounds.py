# SPDX-License-Identifier: Apache-2.0
"""The page on formats says of each figure what the code sets."""

from pathlib import Path

from corescale.observe.spawn import SpawnReport, bounds
from corescale.observe.spawn.report import RULES
from corescale.records import Noise, Record

PAGE = Path(__file__).parents[4] / "docs" / "results_format.md"


def test_the_page_has_the_rules() -> None:
    rows = (f"| {' '.join(f'`{name}`' for name in rule.figures)} | {rule.bound} | {rule.when} |" for rule in RULES)
    assert "\n".join(["| figure | bound | if |", "|---|---|---|", *rows]) in PAGE.read_text()


def test_every_figure_is_one_of_a_record() -> None:
    known = {*Record.__dataclass_fields__, *(f"noise.{name}" for name in Noise.__dataclass_fields__)}
    assert {figure for rule in RULES for figure in rule.figures} <= known


def test_every_key_of_a_record_is_on_the_page() -> None:
    keys = {*Record.__dataclass_fields__, *(f"noise.{name}" for name in Noise.__dataclass_fields__)} - {"noise"}
    assert not [key for key in sorted(keys) if f"`{key}`" not in PAGE.read_text()]


def test_a_lower_bound_goes_before_an_upper_one() -> None:
    assert bounds(SpawnReport("ok", cpu_kind="sampled", leftovers=1))["user"] == "lower"
    assert bounds(SpawnReport("ok", leftovers=1))["user"] == "upper"
    assert bounds(SpawnReport("ok")) == {}
