# SPDX-License-Identifier: Apache-2.0
"""Settings as factors, and thread counts that follow the machine."""

import dataclasses
from pathlib import Path

import pytest

from corescale.declare import command_line, factors
from corescale.declare.catalogue import allocators, settings
from corescale.declare.grid import configurations
from corescale.declare.request import TuneRequest
from corescale.errors import UsageError
from corescale.machine import Cpu, Machine
from corescale.records import INHERITED
from support.trees import recorded


@pytest.mark.parametrize("name", settings.SETTINGS)
def test_every_setting_is_a_variable_whose_first_level_changes_nothing(name: str) -> None:
    assert factors.kind_of(name, frozenset()) == "variable"
    levels, left_out = settings.auto(name)
    assert levels[0] == INHERITED
    assert (len(levels) > 1) != bool(left_out)
    assert settings.SETTINGS[name].allocator in (None, *allocators.ALLOCATORS)
    assert not any("," in level for level in settings.SETTINGS[name].levels)


def test_automatic_levels_reach_the_experiment() -> None:
    request = TuneRequest(threads="1", factor=["MALLOC_ARENA_MAX=auto", "OMP_WAIT_POLICY=auto"])
    experiment = command_line.tune(request, ["x"], Machine.here())
    assert [f.levels for f in experiment.factors[1:]] == [
        ("inherited", "1", "2", "4"),
        ("inherited", "active", "passive"),
    ]


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="MALLOC_ARENA_MAX"):
        settings.auto("MALLOC_ARENAS_MAX")


@pytest.mark.parametrize(
    ("version", "known"), [("1.7", "RESET"), ("1.8", "PURGE"), ("2.0", "RESET"), ("2.1", "PURGE"), ("3.0", "PURGE")]
)
def test_mimalloc_settings_by_version(version: str, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocators, "find", lambda name: Path(f"/nowhere/libmimalloc.so.{version}"))
    assert len(settings.auto(f"MIMALLOC_{known}_DELAY")[0]) > 1
    other = {"RESET": "PURGE", "PURGE": "RESET"}[known]
    assert settings.auto(f"MIMALLOC_{other}_DELAY")[0] == [INHERITED]


@pytest.mark.parametrize(
    ("transparent", "reserved", "tried"),
    [
        ("always madvise [never]", "0", set()),
        ("always [madvise] never", "0", {"GLIBC_TUNABLES", "MALLOC_CONF", "MIMALLOC"}),
        ("[always] madvise never", "0", {"TBB_MALLOC_USE_HUGE_PAGES"}),
        ("always madvise [never]", "64", {"MIMALLOC", "TBB_MALLOC_USE_HUGE_PAGES"}),
        (None, None, set()),
    ],
)
def test_huge_pages_are_tried_where_the_kernel_gives_them_so_and_not_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transparent: str | None, reserved: str | None, tried: set[str]
) -> None:
    monkeypatch.setattr(allocators, "find", lambda name: Path("/nowhere/lib.so"))
    for name, text in (("TRANSPARENT", transparent), ("RESERVED", reserved)):
        monkeypatch.setattr(settings, name, tmp_path / name)
        if text is not None:
            (tmp_path / name).write_text(f"{text}\n")
    huge = [level for level, said in settings.SHORT.items() if said == settings.HUGE]
    found = {level: settings.auto(level.partition("=")[0]) for level in huge}
    with_them = {level.partition("=")[0] for level in huge if level.partition("=")[2] in found[level][0]}
    assert {"MIMALLOC" if name.startswith("MIMALLOC") else name for name in with_them} == tried
    assert all(
        any(why.startswith(f"{level}: ") for why in found[level][1])
        for level in found
        if level.partition("=")[0] not in with_them
    )


def test_a_tunable_that_this_glibc_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "glibc", lambda: (2, 34))
    monkeypatch.setattr(settings, "huge_pages", lambda: {"madvise"})
    levels, left_out = settings.auto("GLIBC_TUNABLES")
    assert not any("hugetlb" in level for level in levels)
    assert left_out == ["GLIBC_TUNABLES=glibc.malloc.hugetlb=1: glibc 2.34 has no glibc.malloc.hugetlb"]


def test_thread_counts_follow_l3_domains_cores_and_quota() -> None:
    cpus = tuple(Cpu(cpu=k, core=k % 12, socket=k % 12 // 6, numa_node=0, l3_domain=k % 12 // 3) for k in range(24))
    machine = dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(24)), quota_cores=None)
    assert factors.KINDS["threads"].auto("threads", machine)[0] == (1, 2, 4, 6, 8, 12, 16, 24)
    limited = dataclasses.replace(machine, quota_cores=7.5)
    levels, left_out = factors.KINDS["threads"].auto("threads", limited)
    assert levels == (1, 2, 4, 6, 7)
    assert left_out == ["threads above 7: the CPU quota is 7.5 of 24 cores"]


@pytest.mark.parametrize(
    ("name", "quota", "counts"),
    [
        ("two_l3_domains", None, (1, 2, 4, 8, 16)),
        ("two_l3_domains", 6.5, (1, 2, 4, 6)),
        (
            "two_sockets_smt",
            None,
            (1, 2, 4, 8, 10, 16, 20, 32, 40),
        ),  # 5 cores an L3 domain, 10 a socket, 2 threads each
        ("two_sockets_smt", 12.0, (1, 2, 4, 8, 10, 12)),
        ("two_sockets_smt", 0.5, (1,)),
        ("arm_without_l3", None, (1, 2, 4)),
        ("kvm_guest", None, (1, 2)),
    ],
)
def test_thread_counts_on_recorded_machines(
    name: str, quota: float | None, counts: tuple[int, ...], tmp_path: Path
) -> None:
    cpus = recorded(tmp_path, name)
    allowed = tuple(cpu.cpu for cpu in cpus)
    machine = dataclasses.replace(Machine.here(), cpus=cpus, affinity=allowed, quota_cores=quota)
    levels, left_out = factors.KINDS["threads"].auto("threads", machine)
    assert levels == counts
    assert bool(left_out) == (quota is not None)


def test_an_allocator_that_is_preloaded_already_is_not_tried_twice_and_reads_its_own_settings(
    monkeypatch: pytest.MonkeyPatch, two_cores: Machine
) -> None:
    monkeypatch.setattr(allocators, "find", lambda name: Path(f"/usr/lib/lib{name}.so") if name != "system" else None)
    monkeypatch.setenv("LD_PRELOAD", "/opt/other.so:/usr/lib/libjemalloc.so.2")
    levels, left_out = factors.KINDS["allocator"].auto("allocator", two_cores)
    assert levels[:2] == ["inherited", "system"]
    assert "jemalloc" not in levels
    assert "jemalloc: LD_PRELOAD has it already, as inherited" in left_out
    asked = TuneRequest(factor=["allocator=inherited", "MALLOC_CONF=a,b", "GLIBC_TUNABLES=a,b"], threads="2")
    varied = {
        name
        for c in configurations(command_line.tune(asked, ["x"], two_cores))
        for name, level in c.levels
        if level == "b"
    }
    assert varied == {"MALLOC_CONF"}
    monkeypatch.setenv("LD_PRELOAD", "/opt/other.so")
    assert len(configurations(command_line.tune(asked, ["x"], two_cores))) == 5, "the baseline sets neither"
    assert not settings.idle("GLIBC_TUNABLES", {}, one_thread=False)


@pytest.mark.parametrize("name", ["allocator", "bind", "numa", "MALLOC_CONF"])
def test_auto_among_listed_levels_is_refused_where_it_has_a_meaning(name: str, two_cores: Machine) -> None:
    with pytest.raises(UsageError, match=rf"auto means all levels of {name}; write {name}=auto alone"):
        command_line.tune(TuneRequest(factor=[f"{name}=auto,x"]), ["x"], two_cores)


def test_auto_is_a_value_of_a_variable_that_no_table_has(two_cores: Machine) -> None:
    experiment = command_line.tune(TuneRequest(factor=["OMP_SCHEDULE=auto,static"]), ["x"], two_cores)
    assert experiment.factors[1].levels == ("auto", "static")


def test_what_follows_from_an_experiment_is_remembered_of_it_alone(two_cores: Machine) -> None:
    experiment = command_line.tune(TuneRequest(threads="1,2", factor=["A=1,2"]), ["x"], two_cores)
    assert configurations(experiment) is configurations(experiment)
    narrower = experiment.model_copy(update={"factors": experiment.factors[:1]})
    assert len(configurations(narrower)) < len(configurations(experiment))
