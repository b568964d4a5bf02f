# SPDX-License-Identifier: Apache-2.0
"""Conclusions come from records alone: the same bytes on any machine, in any shell, also of runs written before."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corescale.conclude.conclusion import conclude
from corescale.conclude.frame import frame
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.declare.grid import configurations
from corescale.observe import store
from support import samples
from support.play import after
from support.runs import FIXTURES

ELSEWHERE = {
    "LD_PRELOAD": "/nowhere/libjemalloc.so.2",
    "LD_LIBRARY_PATH": "/nowhere",
    "LANG": "tr_TR.UTF-8",
    "TZ": "Asia/Tokyo",
    "OMP_NUM_THREADS": "1",
}
"""Another shell: the loader passes over a library that is not there."""

PYARROW = "PYARROW_"
"""Its own variables, which pandas' columns of texts ask for; none of ours has a time zone."""

SAY = """
import os, platform, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))} if sys.argv[1] == "elsewhere" else os.sched_getaffinity(0))
if sys.argv[1] == "elsewhere":
    os.cpu_count, platform.machine, platform.node = lambda: 128, lambda: "riscv64", lambda: "elsewhere"
from pathlib import Path
from corescale.conclude.conclusion import conclude
from corescale.observe import store
for folder in sys.argv[2:]:
    run = store.load(Path(folder))
    print(repr(conclude(run.records, run.experiment, {"time": 0.05})))
"""


def said(where: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    done = subprocess.run(
        [sys.executable, "-c", SAY, where, *map(str, FIXTURES.values())],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_conclusion_is_the_same_in_another_shell_and_on_another_machine() -> None:
    here = said("here")
    assert here.count("\n") == len(FIXTURES)
    assert said("elsewhere", **ELSEWHERE) == here


@contextmanager
def records_alone() -> Iterator[None]:
    """Whatever asks the environment, the file system or the machine fails, unless it imports a module."""

    def guarded(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            asked = [str(each) for each in arguments[:2]]
            assert importing() or asked[-1].startswith(PYARROW), f"{name} was asked for {asked}"
            return real(*arguments, **options)

        return call

    asked = [
        (os._Environ, ("__getitem__", "__iter__")),
        (os, ("open", "stat", "lstat", "access", "listdir", "scandir", "confstr", "cpu_count", "sched_getaffinity")),
        (platform, ("machine", "node", "uname")),
        (subprocess, ("Popen",)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        for holder, names in asked:
            for name in names:
                patch.setattr(holder, name, guarded(name, getattr(holder, name)))
        for place in ("builtins.open", "io.open"):
            patch.setattr(place, guarded("open", open))
        yield


def importing() -> bool:
    found = sys._getframe()
    while found.f_back is not None:
        if found.f_code.co_filename.startswith("<frozen importlib"):
            return True
        found = found.f_back
    return False


@pytest.mark.parametrize(
    "ask", [lambda: os.environ.get("X"), lambda: Path("/").exists(), lambda: Path("/x").read_text()]
)
def test_the_guard_sees_who_asks(ask: Callable[[], object]) -> None:
    with records_alone(), pytest.raises(AssertionError, match="was asked for"):
        ask()


@pytest.mark.parametrize("kind", FIXTURES)
def test_no_conclusion_and_no_policy_asks_anything_but_records(kind: str) -> None:
    run = store.load(FIXTURES[kind])
    with records_alone():
        assert configurations(run.experiment)
        for cut in {0, len(run.records) // 2, len(run.records)}:
            policies = [Race] if run.experiment.stop.rule == "race" else [Uniform]
            for policy in policies:
                after(policy(run.experiment), run.records[:cut])
        assert conclude(run.records, run.experiment, {"time": 0.05}).conclusion is not None
        assert len(frame(run.records, run.experiment)) > 0


@pytest.mark.parametrize("name", samples.RESULTS)
def test_no_sample_of_a_conclusion_does(name: str) -> None:
    result = samples.RESULTS[name]()
    with records_alone():
        assert repr(conclude(result.records, result.experiment).conclusion) != ""


def test_a_tune_measured_under_a_preload_has_the_configurations_that_were_tried() -> None:
    """Its plan is of before plans told the inherited allocator; the environment beside it does."""
    run = store.load(FIXTURES["preloaded"])
    assert run.experiment.baseline.allocator == "mimalloc"
    read_by = {c["allocator"] for c in configurations(run.experiment) if c["MALLOC_ARENA_MAX"] == "1"}
    assert read_by == {"system"}, "neither mimalloc, as inherited, nor jemalloc reads it"
    tried = {record.configuration for record in run.records}
    assert set(configurations(run.experiment)) == tried
