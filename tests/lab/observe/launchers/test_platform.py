# SPDX-License-Identifier: Apache-2.0
"""The file of a simulated cluster: what follows from it, and one line for what is wrong with it."""

import os
from pathlib import Path

import pytest

from corescale.errors import UsageError
from corescale.observe.launchers.platform import Platform, at
from corescale.records import Layout
from support.simgrid import platform


def test_a_table_is_linear_between_its_numbers_and_constant_outside() -> None:
    table = {2: 1.0, 6: 3.0}
    assert [at(table, cores) for cores in (1, 2, 3, 6, 24)] == [1.0, 1.0, 1.5, 3.0, 3.0]


def test_ranks_of_a_program_that_does_not_charge_its_threads_are_t_times_as_fast(tmp_path: Path) -> None:
    read = Platform.read(platform(tmp_path, cores=8))
    assert 'speed="4e+09f" core="2"' in read.xml(Layout(4, 2, 1), threaded=False)
    assert 'speed="1e+09f" core="8"' in read.xml(Layout(4, 2, 1), threaded=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cores = 0", "cores: should be greater than or equal to 1"),
        ("nodes = 2", "cores: is missing"),
        ("cores = 2\nrate = {x = 1.0}", "rate.x: should be a whole number"),
        ("cores = true", "cores: should be a whole number"),
        ("cores = 2\nrate = {1 = 0.0}", "rate.1: should be greater than or equal to 0.000001"),
        ('cores = 2\ncollectives = "best"', "collectives: should be 'ompi'"),
        ("cores = 2\nrates = 3", "unknown key 'rates'; did you mean rate?"),
        ("cores = 2\nrate = {}", r"bad.toml:2: rate: is empty; write an entry, or leave it out"),
        ("cores = 2\nrate = {1 = 1.0, 99 = 0.5}", "toml:2: rate: 99 cores cannot be busy in a node of 2; leave them"),
        ("cores = 2\nfork_join = { tbb = {} }", "fork_join.tbb: is empty; write an entry"),
        ("cores = 2\n[fork_join.defualt]\n2 = 1.0", "toml:2: fork_join.defualt: .*; did you mean 'default'"),
        ("cores = [", "not TOML"),
    ],
)
def test_a_platform_that_says_nothing_of_use_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    links = (
        "" if text.endswith("[") else "\n[network]\nlatency = 0\nbandwidth = 1\n[memory]\nlatency = 0\nbandwidth = 1\n"
    )
    path.write_text(text + links)
    with pytest.raises(UsageError, match=said) as raised:
        Platform.read(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("absent", ["network", "memory"])
def test_a_platform_without_a_link_names_the_table_and_its_keys(absent: str, tmp_path: Path) -> None:
    path = platform(tmp_path)
    path.write_text(path.read_text().replace(f"[{absent}]", "[other]").partition("[other]")[0])
    if absent == "network":
        path.write_text(path.read_text() + "[memory]\nlatency = 0\nbandwidth = 1\n")
    said = rf"^{path}:1: {absent}: is missing; write \[{absent}\], and below it latency and bandwidth$"
    with pytest.raises(UsageError, match=said):
        Platform.read(path)


def test_a_platform_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    """A pipe could be read only once, and reading could wait for ever."""
    with pytest.raises(UsageError, match=f"no.toml: cannot be read: {os.strerror(2)}"):
        Platform.read(Path("no.toml"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe: cannot be read: is not a regular file"):
        Platform.read(tmp_path / "pipe")
