# SPDX-License-Identifier: Apache-2.0
"""The calibration file: what is written reads back, by the lab and by the library; what is broken is one line."""

import re
from pathlib import Path

import pytest

from corescale.calibration import CONSTANTS, Calibration, file_text, parse
from corescale.errors import UsageError
from corescale.observe.constants import doubtful
from corescale.observe.doctor.quietness import Account

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "runtime" / "src" / "parallel_for" / "calibration.cpp"
PROGRAM = ROOT / "workloads" / "machine_constants" / "main.cpp"


def test_what_is_written_reads_back() -> None:
    values = {constant.name: 1.5 + k for k, constant in enumerate(CONSTANTS)}
    spreads = {"line_near": 0.25, "claim_own": 0.0}
    written = Calibration("0123456789abcdef", values, "2 x a CPU", spreads, "other programs used 1.32 cores")
    assert parse(file_text(written, "some machine"), "file") == written


def test_what_ran_beside_a_calibration_is_said_of_it() -> None:
    quiet = Account(busy=10, steal=0, own=10)
    assert doubtful(Account(0, 0, 0), quiet, 5) == ""
    loaded = doubtful(Account(0, 0, 0), Account(busy=9, steal=1, own=4), 5)
    assert loaded == "the hypervisor took 10.0% of the CPU time, other programs used 1.00 cores"


def test_the_library_reads_exactly_the_constants_that_are_said_to_be_read() -> None:
    known = re.findall(r'calibration_constant\{"(\w+)"', LIBRARY.read_text())
    assert known == [constant.name for constant in CONSTANTS if constant.loops]


def test_the_table_has_exactly_the_constants_that_the_program_measures_and_training_fits() -> None:
    text = PROGRAM.read_text()
    whole = re.findall(r'(?:say\(result, |metric\(|level\()"(\w+)"[,)]', text)
    of_pairs = re.findall(r'"(\w+_)" \+ one\.name', text)
    classes = re.findall(r'"(\w+)"', text.partition("class_of(")[2].partition("}")[0])
    measured = [*whole, *(name + kind for name in of_pairs for kind in classes)]
    fitted = [constant.name for constant in CONSTANTS if constant.name.startswith("trained_")]
    assert sorted([*measured, *fitted]) == sorted(constant.name for constant in CONSTANTS)


def test_what_the_library_does_not_know_begins_with_lab() -> None:
    text = file_text(Calibration("0123456789abcdef", {"l1_ns": 1.0, "claim_own": 8.0}), "some machine")
    read = [line for line in text.splitlines() if not line.startswith(("#", "lab."))]
    assert read == ["format = 2", "claim_own = 8"]


def test_every_limit_says_something_of_its_value() -> None:
    assert CONSTANTS
    for constant in CONSTANTS:
        assert constant.limit(20.0) != constant.limit(40.0), constant.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no line `format = 2`"),
        ("claim_own = 8\n", "has no line `format = 2`"),
        ("format = 1\n", "file:1: is of format 1, this version reads 2"),
        ("format = 2\nclaim_own 8\n", "file:2: is no `name = value`"),
        ("format = 2\nclaim_own = 0\n", "file:2: claim_own is 0, it must be above 0"),
        ("format = 2\nclaim_own = nan\n", "it must be above 0"),
        ("format = 2\nclaim_own = x\n", "claim_own is x"),
        ("format = 2\nclaim_won = 8\n", "no constant is named 'claim_won'"),
        ("format = 2\nlab.spread_claim_won = 8\n", "no constant is named 'spread_claim_won'"),
        ("format = 2\nlab.spread_claim_own = inf\n", "spread_claim_own is inf"),
    ],
)
def test_a_broken_file_is_one_line_that_names_place_and_remedy(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text, "file")
    assert said in str(refused.value)
    assert "calibrate" in str(refused.value)
    assert "\n" not in str(refused.value)
