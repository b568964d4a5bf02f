# SPDX-License-Identifier: Apache-2.0
"""Another runtime of OpenMP in a launch: first in LD_PRELOAD, whatever else is there."""

import dataclasses
from pathlib import Path

import pytest

from corescale.api.explaining import _possible
from corescale.declare import command_line
from corescale.declare.catalogue import openmp
from corescale.declare.factors import KINDS, Launch
from corescale.declare.grid import configurations, launch
from corescale.declare.request import ScanRequest
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.profiled import Profiled
from corescale.observe.spawn import SpawnReport
from corescale.profile import SHARES, Profile, RegionTimes
from corescale.topology import Cpu

LIBRARY = Path("/lib/libomp.so.5")
SMT = dataclasses.replace(
    Machine.here(), cpus=tuple(Cpu(k, k % 2, 0, 0, 0) for k in range(4)), affinity=(0, 1, 2, 3), quota_cores=None
)
"""two cores of two CPUs each"""


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "find", lambda _: LIBRARY)


@pytest.mark.parametrize("inherited", ["", "/shim.so", "/usr/lib/libjemalloc.so.2"])
@pytest.mark.parametrize("allocator", [None, "system"])
@pytest.mark.parametrize("order", [1, -1])
def test_it_comes_first(inherited: str, allocator: str | None, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", inherited)
    machine, made = Machine.here(), Launch(("x",))
    given = {"openmp": "libomp"} | ({"allocator": allocator} if allocator else {})
    for name, level in list(given.items())[::order]:
        made = KINDS[name].apply(name, level, made, machine)
    kept = "" if allocator and "jemalloc" in inherited else inherited
    assert made.variables["LD_PRELOAD"] == ":".join(filter(None, (str(LIBRARY), kept)))
    assert made.preload == (LIBRARY,)


def test_the_inherited_runtime_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = KINDS["openmp"].apply("openmp", "inherited", Launch(("x",)), Machine.here())
    assert (made.variables, made.preload) == ({}, ())
    with pytest.raises(UsageError, match="inherited or libomp"):
        KINDS["openmp"].parse("libgomp", Machine.here())
    monkeypatch.setattr(openmp, "find", lambda _: None)
    levels, left_out = KINDS["openmp"].auto("openmp", Machine.here())
    assert levels == ["inherited"] and "libomp5" in left_out[0]


def seen(*regions: RegionTimes, modules: str = "") -> Profiled:
    shares = dict.fromkeys(SHARES, 0.0)
    one = Profile(1, "/p", 2, 1.0, finished=True, shares=shares, threads=(), lost_threads=0, stacks=(),
                  regions=regions, modules=modules)  # fmt: skip
    return Profiled(SpawnReport(status="ok"), 1.0, (one,))


REGION = RegionTimes(1, 1, 2.0, 1.0, 2.0, 1.0, 2.0)


@pytest.mark.parametrize(("launched", "swapped"), [
    (seen(REGION, modules="/lib/libgomp.so.1"), True),
    (seen(REGION, modules="/wheel/libgomp-a34b3233.so.1"), True),
    (seen(REGION, modules="/lib/libomp.so.5"), False),
    (seen(modules="/lib/libgomp.so.1"), False),
])  # fmt: skip
def test_the_runtime_is_swapped_if_regions_ran_on_the_one_that_can_be_replaced(
    launched: Profiled, swapped: bool
) -> None:
    machine = dataclasses.replace(SMT, affinity=(0, 1))
    experiment = command_line.scan(ScanRequest(threads="2"), ("sort", "x"), machine)
    assert ("openmp" in _possible(experiment, launched, machine)) == swapped


@pytest.mark.parametrize(("machine", "swapped"), [(SMT, True), (dataclasses.replace(SMT, affinity=(0, 1)), False)])
def test_smt_is_swapped_where_cores_have_several_cpus(machine: Machine, swapped: bool) -> None:
    experiment = command_line.scan(ScanRequest(threads="2"), ("sort", "x"), machine)
    assert ("smt" in _possible(experiment, seen(), machine)) == swapped


def test_without_smt_the_same_threads_have_one_cpu_of_each_core() -> None:
    made = command_line.swaps(ScanRequest(threads="4"), ("sort", "x"), SMT, ("smt",))
    masks = [launch(made, chosen, SMT).affinity for chosen in configurations(made)]
    assert masks == [None, (0, 1)]
