# SPDX-License-Identifier: Apache-2.0
"""A record and its line."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.declare.experiment import Experiment
from corescale.errors import StoreError
from corescale.records import (
    FORMAT,
    Configuration,
    Layout,
    Noise,
    Process,
    Record,
    Region,
    encode,
    from_dict,
    to_dict,
)
from support.play import record

Make = Callable[..., Experiment]


ONE = record(Configuration((("a", 1),)), 1.0, phase="confirm")
TEXT = st.binary(max_size=40).map(lambda code: code.decode("utf-16-le", "replace"))
"""any but lone surrogates; `st.text` first makes a table of all of Unicode, for seconds"""
NUMBER = st.floats(0, 1e9)
RECORDS = st.builds(
    Record,
    plan=TEXT,
    configuration=st.builds(
        Configuration,
        st.lists(st.tuples(TEXT, st.one_of(st.integers(-9, 9), NUMBER, TEXT)), max_size=3).map(tuple),
        st.builds(Layout, st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    ),
    wall=NUMBER,
    started=NUMBER,
    tail=TEXT,
    processes=st.lists(
        st.builds(
            Process, TEXT, NUMBER, NUMBER, st.integers(0, 2**40), affinity=st.just((0, 1)), preload=st.just(("a",))
        )
    ).map(tuple),
    regions=st.lists(st.builds(Region, TEXT, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), NUMBER)).map(
        tuple
    ),
    metrics=st.dictionaries(TEXT, NUMBER, max_size=3),
    checks=st.dictionaries(TEXT, st.booleans(), max_size=3),
    noise=st.builds(Noise, NUMBER, NUMBER, st.integers(0, 99), NUMBER),
    format=st.just(FORMAT),
)


@pytest.mark.parametrize("looks", [[0], [0, 0], [-3], [3, 1], [5, 5], [2.5], [1e300], ["x"], None])
def test_looks_that_nobody_can_have_planned_are_refused(looks: object) -> None:
    """From a first look at 0 blocks no later one would be found."""
    with pytest.raises(StoreError, match="not a record: looks"):
        from_dict(to_dict(ONE) | {"looks": looks})


@pytest.mark.parametrize("looks", [(), (2,), (5, 8), (10**30,)])
def test_looks_that_are_numbers_of_blocks_are_read(looks: tuple[int, ...]) -> None:
    assert from_dict(json.loads(encode(replace(ONE, looks=looks)))).looks == looks


@given(RECORDS)
def test_a_record_survives_its_line(made: Record) -> None:
    line = encode(made)
    assert "\n" not in line
    read = from_dict(json.loads(line))
    assert read == made
    assert encode(read) == line
