# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster, read from TOML (docs/cluster.md) and written for SimGrid.

A core's rate is relative to a core of this machine, because the program's computing is timed here during the
simulation.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from corescale.declare.base import Model
from corescale.declare.study_file.faults import read
from corescale.machine import Machine
from corescale.records import Layout

CORE_FLOPS = 1e9
"""flops that represent one second of a core of this machine; simulated_loop.cpp uses the same number"""

GUIDE = "docs/cluster.md"

Rate = Annotated[float, Field(ge=1e-6, le=1e6)]
"""a rate; within these bounds, SimGrid can calculate with all resulting times"""
Count = Annotated[int, Field(ge=1, le=65_536, strict=True)]


class Link(Model):
    """The cost of a message."""

    latency: Annotated[float, Field(ge=0, le=10)]
    """seconds"""
    bandwidth: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    """bytes a second"""


Cores = Annotated[int, Field(ge=1)]
Table = Annotated[Mapping[Cores, Annotated[float, Field(ge=0, allow_inf_nan=False)]], Field(min_length=1)]
"""values at some numbers of cores, which are the keys; interpolated linearly, and constant outside"""


class Platform(Model):
    """Equal nodes on one network; docs/cluster.md has every key."""

    nodes: Count = 1
    cores: Count
    rate: Annotated[Mapping[Cores, Rate], Field(min_length=1)] = {1: 1.0}
    collectives: Literal["ompi", "mpich", "mvapich2", "impi"] = "ompi"
    network: Link
    memory: Link
    fork_join: Mapping[Literal["default", "spin", "tbb", "ports"], Table] = {}
    """by threading system, which `loop_systems` of simulated_loop.cpp lists; `default`: for all others"""

    @field_validator("rate")
    @classmethod
    def _must_be_of_a_node(cls, rate: Mapping[int, float], known: ValidationInfo) -> Mapping[int, float]:
        """Raises ValueError if the table has more busy cores than a node has."""
        most, cores = max(rate), known.data.get("cores", math.inf)
        if most > cores:
            raise ValueError(f"{most} cores cannot be busy in a node of {cores}; leave them out, or change cores")
        return rate

    @classmethod
    def read(cls, path: Path) -> Self:
        """The platform of a file; raises UsageError."""
        return read(cls, path, GUIDE)

    def machine(self, here: Machine) -> Machine:
        """One of its nodes as a machine whose cores share nothing and compute like those of `here`."""
        name = f"simulated by {here.cpu_model}"
        return here.elsewhere("simulated", name, cores=self.cores, nodes=self.nodes, source="platform")

    def xml(self, layout: Layout, *, threaded: bool) -> str:
        """SimGrid's platform for launches of this layout.

        `threaded`: the program itself accounts for the time of its threads. If it does not, a single core that is t
        times as fast represents the t cores of a rank.
        """
        fused = 1 if threaded else min(layout.threads_per_rank, self.cores)
        speed = CORE_FLOPS * fused * at(self.rate, min(layout.of_node, self.cores))
        network, memory = self.network, self.memory
        return (
            "<?xml version='1.0'?>\n"
            '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            f'<platform version="4.1"><cluster id="nodes" prefix="node-" suffix="" radical="0-{self.nodes - 1}"'
            f' speed="{speed:.9g}f" core="{max(1, self.cores // fused)}"'
            f' bw="{network.bandwidth:.9g}Bps" lat="{network.latency / 2:.9g}s" sharing_policy="SPLITDUPLEX"'
            f' loopback_bw="{memory.bandwidth:.9g}Bps" loopback_lat="{memory.latency:.9g}s"/></platform>\n'
        )

    def in_words(self) -> str:
        """The assumptions of this platform, which are printed with its numbers."""
        said = f"{self.nodes} x {self.cores} cores, network {self.network.latency * 1e6:.3g} us and "
        return f"{said}{self.network.bandwidth / 1e9:.3g} GB/s, collectives as {self.collectives}"


def at(table: Mapping[int, float], cores: int) -> float:
    """The value of a table at a number of cores."""
    known = sorted(table)
    return float(np.interp(cores, known, [table[number] for number in known]))
