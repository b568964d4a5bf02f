# SPDX-License-Identifier: Apache-2.0
"""A command line loads the verb that it names, and no other one."""

import subprocess
import sys

import pytest

from corescale.cli.app import VERBS, Verb

LOADED = (
    "import sys; from corescale.cli import main\ntry: main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
)


def loaded(*words: str) -> set[str]:
    """Modules of the lab that this line loads."""
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    return {name for name in done.stderr.split() if name.startswith("corescale")}


@pytest.mark.parametrize(("words", "most"), [(["--help"], 15), (["scan", "--help"], 190), (["tune", "--help"], 190)])
def test_a_line_loads_only_what_it_uses(words: list[str], most: int) -> None:
    modules = loaded(*words)
    assert len(modules) <= most
    assert {f"corescale.cli.{name}" for name in VERBS} & modules == {f"corescale.cli.{words[0]}"} - {
        "corescale.cli.--help"
    }


@pytest.mark.parametrize("name", VERBS)
def test_the_list_of_verbs_says_of_each_what_its_own_help_does(name: str) -> None:
    own = Verb(name).loaded
    assert VERBS[name] == (own.callback.__doc__ if name != "study" else own.help)


def test_a_run_that_is_not_there_is_refused_before_pages_and_charts_are_loaded() -> None:
    modules = loaded("report", "nosuch")
    assert not {name for name in modules if name.startswith(("corescale.show.html", "corescale.show.charts"))}
