# SPDX-License-Identifier: Apache-2.0
"""`tune --more`: what it refuses, and for how long it goes on."""

import dataclasses

import pytest

from corescale.declare.command_line.checks import must_go_on
from corescale.declare.request import TuneRequest
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.observe import store


@pytest.mark.parametrize(
    ("option", "flag"),
    [({"threads": "1"}, "-t"), ({"factor": ["a=1,2"]}, "-f"), ({"shell": True}, "--shell")],
)
def test_what_would_make_another_run_is_refused(option: dict[str, object], flag: str) -> None:
    with pytest.raises(UsageError, match=f"--more: goes on with the launches of the last run, and takes no {flag}; "):
        must_go_on(dataclasses.replace(TuneRequest(more=True), **option))  # type: ignore[arg-type]


def test_what_is_only_shown_otherwise_goes_on() -> None:
    must_go_on(TuneRequest(more=True, budget="9m", json=True, quiet=True, out="here", report="r.html"))


@pytest.mark.parametrize(
    ("made", "wanted", "then"),
    [
        (Stop(rule="race", budget=300), None, {"budget": 600}),
        (Stop(rule="race", launches=50), None, {"launches": 100}),
        (Stop(rule="race", launches=50), "60x", {"launches": 60, "budget": None}),
        (Stop(rule="race", budget=300), "1h", {"budget": 3600}),
        (Stop(rule="race"), None, {"max_blocks": 80}),
    ],
)
def test_for_how_long(made: Stop, wanted: str | None, then: dict[str, float | None]) -> None:
    longer = made.longer(wanted)
    assert {name: getattr(longer, name) for name in then} == then
    assert store.goes_further(made, longer)


def test_less_than_the_run_had_is_not_further() -> None:
    made = Stop(rule="race", launches=50)
    assert not store.goes_further(made, made.longer("20x"))
    assert not store.goes_further(made, made.longer("5m"))
    assert made.in_words == "--budget 50x"
