# SPDX-License-Identifier: Apache-2.0
"""`-f block=auto`: powers of two around the model's prediction, with the constants of this machine where it has
them."""

import re
from pathlib import Path

import pytest

from corescale.calibration import VARIABLE, Calibration, file_text
from corescale.declare.catalogue import blocks
from corescale.declare.factors.program import Parameter
from corescale.errors import UsageError
from corescale.machine import Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """This one, not calibrated."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "calibration"))
    return Machine.here()


def calibrated(machine: Machine, path: Path, fingerprint: str = "", **values: float) -> None:
    written = Calibration(fingerprint or machine.fingerprint(), values)
    (path / "calibration").write_text(file_text(written, machine.in_words))


def test_levels_are_powers_of_two_and_the_prediction_comes_first(machine: Machine) -> None:
    levels, _ = blocks.auto(machine)
    numbers = [int(level) for level in levels]
    assert all(number >= 1 and number & (number - 1) == 0 for number in numbers)
    assert len(set(numbers)) == len(numbers) > blocks.REACH
    assert numbers[1:3] == [numbers[0] // 2, numbers[0] * 2]


def test_the_defaults_are_the_librarys() -> None:
    header = Path(__file__).parents[3] / "runtime/include/corescale/parallel_for/calibration.hpp"
    said = dict(re.findall(r"double (\w+) = ([\d.']+);", header.read_text()))
    assert {name: float(said[name]) for name in blocks.CLAIM} == blocks.CLAIM


def test_dearer_lines_want_larger_blocks_and_more_threads_smaller_ones() -> None:
    near = blocks.predicted(8, 1, blocks.CLAIM)
    assert blocks.predicted(8, 4, blocks.CLAIM) > near > blocks.predicted(128, 1, blocks.CLAIM)
    assert blocks.predicted(1 << 20, 1, blocks.CLAIM) == 1


def test_an_uncalibrated_machine_is_said(machine: Machine) -> None:
    [note] = blocks.auto(machine)[1]
    assert "not calibrated" in note
    assert "corescale calibrate" in note


def test_the_constants_of_this_machine_are_used(machine: Machine, tmp_path: Path) -> None:
    typical = blocks.auto(machine)[0][0]
    calibrated(machine, tmp_path, line_near=80 * 64.0, line_far=200 * 64.0, claim_own=10 * 64.0)
    found, notes = blocks.auto(machine)
    assert found[0] != typical
    assert not notes


def test_those_of_another_machine_are_ignored_with_a_note(machine: Machine, tmp_path: Path) -> None:
    typical = blocks.auto(machine)[0]
    calibrated(machine, tmp_path, "another", line_near=80 * 64.0, line_far=200 * 64.0, claim_own=10 * 64.0)
    found, notes = blocks.auto(machine)
    assert found == typical
    assert "another machine" in notes[0]


def test_a_broken_file_is_refused(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "calibration").write_text("format = 2\nline_near = -1\n")
    with pytest.raises(UsageError, match="calibration:2: line_near is -1"):
        blocks.auto(machine)


def test_other_parameters_have_no_automatic_levels(machine: Machine) -> None:
    assert Parameter().keyword("block")
    assert not Parameter().keyword("size")
    with pytest.raises(UsageError, match="no automatic levels; list them: "):
        Parameter().auto("size", machine)
