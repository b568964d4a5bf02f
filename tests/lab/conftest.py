# SPDX-License-Identifier: Apache-2.0
"""A machine that is the same wherever the tests run, and experiments on it."""

import dataclasses
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from numpy.random import mtrand

from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Command, Experiment, Factor, Verb
from corescale.machine import Machine
from corescale.observe import store
from support import tries
from support.commands import typed

Make = Callable[..., Experiment]
OF_A_KIND = ("threads", "ranks", "layout", "allocator", "bind")

# Other load slows any example down.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

# A shell starts what runs in its background with Ctrl-C ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def two_cores() -> Machine:
    """This machine with two allowed cores."""
    return dataclasses.replace(Machine.here(), affinity=(0, 1), quota_cores=None)


@pytest.fixture
def experiment() -> Make:
    """Of a command and the levels of its parameters, or of a kind in OF_A_KIND where a name is one."""

    def make(*argv: str, verb: Verb = "tune", shell: bool = False, **rest: Any) -> Experiment:
        levels = rest.pop("levels", {"threads": (1, 2)})
        factors = tuple(
            Factor(
                name=name,
                kind=name if name in OF_A_KIND else "parameter",
                levels=tuple(of),
            )
            for name, of in levels.items()
        )
        command = Command(name="main", argv=argv or ("true",), shell=shell)
        return Experiment(verb=verb, commands=(command,), factors=factors, **rest)

    return make


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], str]:
    """The path of an executable Python program with this text."""

    def make(text: str) -> str:
        path = tmp_path / f"program-{len(list(tmp_path.iterdir()))}"
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have no pictures, which take longer to draw than all else of a page."""
    monkeypatch.setattr("corescale.show.charts.drawing.svg", lambda _: "<svg></svg>")


@pytest.fixture(scope="module")
def tries_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the lines of a table of tries follow each other, behind the table's FIRST, if it has one."""
    folder = typed(tmp_path_factory.mktemp("tries")).parent
    done = tries.done(getattr(request.module, "FIRST", ""), folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def open_run(two_cores: Machine, tmp_path: Path) -> Callable[..., Any]:
    """Opens the run folder of an experiment."""
    return lambda experiment, **options: store.open_run(experiment, two_cores, tmp_path / "runs", **options)


@pytest.fixture
def every_allocator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For machines that are made up, so that nothing is preloaded: any shared library will do under each name."""
    (folder := tmp_path / "allocators").mkdir()
    for allocator in allocators.ALLOCATORS.values():
        for name in allocator.libraries[:1]:
            (folder / name.replace("*", "")).symlink_to(mtrand.__file__)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
