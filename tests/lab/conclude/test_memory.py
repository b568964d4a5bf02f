# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one kind: figures that were taken in different ways are not compared."""

import dataclasses
from typing import Any

import pytest

from corescale.conclude.warnings import memory_kind, other_memory


def test_the_kind_of_most_launches_counts_and_the_others_are_told(of_kinds: Any) -> None:
    records = of_kinds("anonymous", "anonymous", "process", "none")
    assert memory_kind(records) == "anonymous"
    (line,) = other_memory(records)
    assert "1 of 4 launches" in line and "process, not anonymous" in line
    assert other_memory(of_kinds("process", "process", "none")) == []
    assert memory_kind(of_kinds("none", "none", "process")) == "process", "launches without a figure have no kind"
    assert (memory_kind([]), other_memory([])) == ("none", [])


@pytest.fixture
def of_kinds() -> Any:
    @dataclasses.dataclass
    class Told:
        peak_memory_kind: str

    return lambda *kinds: [Told(kind) for kind in kinds]
