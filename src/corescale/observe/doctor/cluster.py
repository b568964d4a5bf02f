# SPDX-License-Identifier: Apache-2.0
"""Surveys a Slurm cluster: its partitions, and the options that an allocation may use."""

import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from corescale.observe.launchers import slurm
from corescale.observe.launchers.allocation import asked

SECONDS = 3.0
"""seconds within which a working cluster answers"""


@dataclass(frozen=True, slots=True)
class Partition:
    """Nodes that share options."""

    name: str
    is_default: bool
    state: str
    """up; in another state, no job starts"""
    nodes: int
    usable: int
    """nodes that accept jobs, now or after other jobs; the rest are down or drained, or their partition is not up"""
    cores: int
    """cores of the node with the fewest"""
    memory_megabytes: int
    """memory of the node with the least"""
    time_limit: str
    """the time limit as Slurm writes it"""
    constraints: Mapping[str, int]
    """features that -C takes, each with the number of usable nodes that have it"""
    accounts: tuple[str, ...]
    """accounts that may use it; empty if all may"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that answers."""

    name: str
    mpi: str
    """how ranks of a launch find each other"""
    accounting: bool
    """whether Slurm keeps accounts; corescale needs none"""
    partitions: tuple[Partition, ...]


def survey() -> Cluster | None:
    """The cluster; None without Slurm. Raises UnavailableError if none answers."""
    if not shutil.which("sinfo"):
        return None
    config = asked("scontrol", "show", "config", seconds=SECONDS)
    lines = asked("sinfo", "-h", "-N", "-o", "%P|%N|%t|%z|%m|%l|%f|%a", seconds=SECONDS).splitlines()
    nodes = [line.split("|") for line in lines]
    names = sorted({node[0] for node in nodes}, key=lambda name: (not name.endswith("*"), name))  # sinfo's order varies
    return Cluster(
        name=_said(config, "ClusterName"),
        mpi=slurm.mpi(),
        accounting=not _said(config, "AccountingStorageType").endswith("none"),
        partitions=tuple(_partition(name, [node for node in nodes if node[0] == name]) for name in names),
    )


def _partition(name: str, nodes: list[list[str]]) -> Partition:
    bare = name.rstrip("*")
    allowed = _said(asked("scontrol", "show", "partition", bare, seconds=SECONDS), "AllowAccounts")
    state = nodes[0][7]
    usable = [node for node in nodes if state == "up" and slurm.USABLE.match(node[2])]
    features = Counter(word for node in usable for word in node[6].split(","))
    return Partition(
        name=bare,
        is_default=name.endswith("*"),
        state=state,
        nodes=len(nodes),
        usable=len(usable),
        cores=min(slurm.cores_of(node[3]) for node in nodes),
        memory_megabytes=min(int(node[4].rstrip("+")) for node in nodes),
        time_limit=nodes[0][5],
        constraints={word: features[word] for word in sorted({*features} - {"(null)", ""})},
        accounts=() if allowed in ("", "ALL") else tuple(allowed.split(",")),
    )


def _said(text: str, key: str) -> str:
    found = re.search(rf"(?:^|\s){key}\s*=\s*(\S*)", text)
    return found[1] if found else ""
