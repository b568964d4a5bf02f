# SPDX-License-Identifier: Apache-2.0
"""A record and its line."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from corescale.declare.experiment import Experiment
from corescale.records import Configuration, Layout, Noise, Process, Record, Region, decode, encode

Make = Callable[..., Experiment]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
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
    format=st.just(1),
)


@given(RECORDS)
def test_a_record_survives_its_line(made: Record) -> None:
    line = encode(made)
    assert "\n" not in line
    assert decode(line) == made
    assert encode(decode(line)) == line
