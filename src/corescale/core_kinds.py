# SPDX-License-Identifier: Apache-2.0
"""Processors whose cores are of several kinds: fast and thrifty ones tell different times for the same work."""

from collections import defaultdict
from pathlib import Path

from corescale.topology import cpu_list, read


def core_kinds(root: Path = Path("/")) -> dict[str, tuple[int, ...]]:
    """The CPUs of each kind by its name, fastest first; empty where all are alike or the kernel does not tell.

    Intel's kinds are performance counter units of their own (cpu_core, cpu_atom); Arm's have a relative capacity.
    """
    return _of_units(root) or _of_capacities(root)


def _of_units(root: Path) -> dict[str, tuple[int, ...]]:
    texts = {name: read(root / f"sys/devices/{name}/cpus") for name in ("cpu_core", "cpu_atom", "cpu_lowpower")}
    found = {name: cpu_list(text) for name, text in texts.items() if text}
    return found if len(found) > 1 else {}


def _of_capacities(root: Path) -> dict[str, tuple[int, ...]]:
    by_capacity: dict[int, list[int]] = defaultdict(list)
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpu_capacity"):
        if (text := read(path)).isdecimal():
            by_capacity[int(text)].append(int(path.parent.name[3:]))
    if len(by_capacity) < 2:
        return {}
    return {f"capacity {of}": tuple(sorted(by_capacity[of])) for of in sorted(by_capacity, reverse=True)}
