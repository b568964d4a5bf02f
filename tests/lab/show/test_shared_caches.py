# SPDX-License-Identifier: Apache-2.0
"""`corescale doctor --topology`: what CPUs share, as text and as a drawing."""

import json
from pathlib import Path

import pytest

from corescale import topology
from corescale.errors import ExitCode
from corescale.show.charts import topology as drawing
from corescale.show.doctor import topology as lines
from support.commands import corescale, refused
from support.trees import recorded_tree, sysfs, tree

TWO_SOCKETS = [
    "2 x socket, NUMA node: CPUs 0-9,20-29 | 10-19,30-39",
    "  2 x L3 32.0 MiB: CPUs 0-4,20-24 | 5-9,25-29",
    "    5 x L1i 32.0 KiB, core: CPUs 0,20 | 1,21 | ... | 4,24",
]


def test_what_is_alike_is_one_line(tmp_path: Path) -> None:
    assert list(lines(topology.parts(recorded_tree(tmp_path, "two_sockets_smt")))) == TWO_SOCKETS


def test_cores_that_share_less_stand_apart(tmp_path: Path) -> None:
    single = [str(c) for c in range(6)]
    root = sysfs(tmp_path, cores=single, packages=["0-5"], nodes=["0-5"], l3=["0-3"])
    tree(root, {"/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       2097152 kB\nNode 0 MemFree: 1 kB"})
    assert list(lines(topology.parts(root))) == [
        "socket, NUMA node 2.0 GiB: CPUs 0-5",
        "  L3 32.0 MiB: CPUs 0-3",
        "    4 x L1i 32.0 KiB, core: CPUs 0 | 1 | 2 | 3",
        "  2 x L1i 32.0 KiB, core: CPUs 4 | 5",
    ]


@pytest.mark.parametrize("name", ["kvm_guest", "two_l3_domains", "two_sockets_smt", "arm_without_l3"])
def test_every_part_is_in_the_drawing(name: str, tmp_path: Path) -> None:
    found = topology.parts(recorded_tree(tmp_path / "root", name))
    png, svg = drawing.write(found, "a machine", tmp_path)
    drawn, cores = svg.read_text(), {cpu.core for cpu in topology.here(tmp_path / "root").cpus}
    assert png.stat().st_size > 1000 and drawn.count(">core<") == len(cores) and "a machine" in drawn
    assert (">L3 32.0 MiB<" in drawn) == (name != "arm_without_l3")


def test_this_machine_is_shown_and_drawn(tmp_path: Path) -> None:
    done = corescale("doctor", "--topology", "--outputs", "drawn", cwd=tmp_path)
    assert done.returncode == ExitCode.OK and "core" in done.stdout, done.stderr
    assert {one.name for one in (tmp_path / "drawn").iterdir()} == {"topology.png", "topology.svg"}
    told = json.loads(corescale("doctor", "--topology", "--json", cwd=tmp_path).stdout)
    assert sorted(cpu for part in told for cpu in part["cpus"]) == [cpu.cpu for cpu in topology.here().cpus]
    refused(corescale("doctor", "--outputs", "drawn", cwd=tmp_path), ExitCode.USAGE, "--outputs", "--topology")
