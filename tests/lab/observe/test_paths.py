# SPDX-License-Identifier: Apache-2.0
"""Paths that cannot be looked at, and programs that cannot be read, as any argument may name one."""

import os
from pathlib import Path

import pytest

from corescale.declare import paths
from corescale.errors import StoreError
from corescale.observe import environment, store

UNSEEN = [f"/{'x' * 300}", "a\0b", "x" * 10_000]


@pytest.mark.parametrize("path", UNSEEN)
def test_a_path_that_cannot_be_looked_at_names_nothing(path: str) -> None:
    assert not paths.exists(path)
    assert not paths.is_file(path)
    assert not paths.is_folder(path)
    assert environment.programs(("true", path)) == ["true"]


def test_a_folder_that_may_not_be_searched_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refused)
    assert environment.programs(("true", "/closed/a")) == ["true"]
    monkeypatch.setattr(Path, "iterdir", refused)
    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(StoreError, match="Permission denied"):
        store.load(Path("/closed/run"))


def test_a_program_that_may_be_launched_and_not_read_is_told_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    program = environment.locate("true")
    monkeypatch.setattr(Path, "open", refused)
    told = environment.identity(program)
    assert told.keys() == {"path", "size", "modified"}


def test_paths_that_are_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert paths.is_file(file)
    assert paths.is_folder(tmp_path)
    assert not paths.is_file(tmp_path)
    assert not paths.exists(tmp_path / "none")
