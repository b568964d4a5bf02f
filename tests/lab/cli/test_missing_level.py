# SPDX-License-Identifier: Apache-2.0
"""A study on a machine that lacks what one of its levels needs: the other levels are measured."""

import json
from pathlib import Path

import pytest

from corescale.errors import ExitCode
from support.commands import corescale

STUDY = """\
title = "One system is missing"
command = "env {system} 0.01"
[factors]
system = ["no_such_program", "sleep"]
[stop]
rule = "replicates"
replicates = 6
[[finding]]
name = "missing"
statement = "The missing one is slower"
a = { system = "no_such_program" }
b = { system = "sleep" }
claim = "> 1"
[[finding]]
name = "there"
statement = "Sleeping takes less than a minute"
a = { system = "sleep" }
claim = "< 60"
"""


@pytest.mark.parametrize("first", ["no_such_program", "sleep"])
def test_the_levels_that_are_there_are_measured(tmp_path: Path, first: str) -> None:
    other = {"no_such_program": "sleep", "sleep": "no_such_program"}[first]
    text = STUDY.replace('["no_such_program", "sleep"]', f'["{first}", "{other}"]')
    (tmp_path / "study.toml").write_text(text)
    done = corescale("study", "run", "study.toml", "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    found = json.loads(done.stdout)["conclusion"]["findings"]
    assert [one["verdict"] for one in found] == ["not on this machine", "holds"]
    shown = corescale("report", str(next(tmp_path.glob("corescale-runs/*/1"))), cwd=tmp_path)
    assert "system=no_such_program" in shown.stdout + shown.stderr and "No such file" in shown.stdout + shown.stderr


def test_a_study_of_which_nothing_is_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace('"sleep"', '"nor_this_one"'))
    done = corescale("study", "run", "study.toml", cwd=tmp_path)
    assert done.returncode == ExitCode.PROGRAM and "no configuration succeeded" in done.stderr
