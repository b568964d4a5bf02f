# SPDX-License-Identifier: Apache-2.0
"""The control groups of this process, version 1, version 2 or both at once, and their limits of CPUs and memory.

The quotas of all groups above also apply, so the tightest of all counts. Inside a container, the groups above its own
are hidden, so a quota set there cannot be seen.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from corescale.topology import read


@dataclass(frozen=True, slots=True)
class Place:
    """The place of this process in one hierarchy."""

    folder: Path
    """its own group, or the nearest group above that this mount shows"""
    mount: Path
    version: int

    def upwards(self) -> list[Path]:
        """Its group and every visible one above it."""
        return [folder for folder in (self.folder, *self.folder.parents) if folder.is_relative_to(self.mount)]


def place(controller: str, root: Path = Path("/")) -> Place | None:
    """The group that governs `controller`: version 1 if that has it, else version 2, else None."""
    groups = [line.split(":", 2) for line in read(root / "proc/self/cgroup").splitlines() if line.count(":") >= 2]
    first = next((path for _, names, path in groups if controller in names.split(",")), None)
    unified = next((path for number, names, path in groups if number == "0" and not names), None)
    mounts = [_mount(line) for line in read(root / "proc/self/mountinfo").splitlines() if " - " in line]
    for version, kind, path in ((1, "cgroup", first), (2, "cgroup2", unified)):
        for mount in mounts:
            fits = mount.kind == kind and (version == 2 or controller in mount.options)
            if path is not None and fits:
                return _place(mount, path, version, root)
    return None


def quota_cores(root: Path = Path("/")) -> float | None:
    """The tightest CPU quota of its own group and all above, in cores; None if there is none."""
    here = place("cpu", root)
    quotas = [_quota(folder, here.version) for folder in here.upwards()] if here else []
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit(root: Path = Path("/")) -> float:
    """The tightest memory limit of its own group and all above, in bytes; infinite if there is none."""
    here = place("memory", root)
    name = "memory.max" if here and here.version == 2 else "memory.limit_in_bytes"
    limits = [read(folder / name) for folder in here.upwards()] if here else []
    return min((float(limit) for limit in limits if limit.isdecimal()), default=math.inf)


@dataclass(frozen=True, slots=True)
class _Mount:
    root: str
    point: str
    kind: str
    options: frozenset[str]


def _mount(line: str) -> _Mount:
    front, _, back = line.partition(" - ")
    fields, (kind, _, options) = front.split(), back.split(maxsplit=2)
    return _Mount(_unescaped(fields[3]), _unescaped(fields[4]), kind, frozenset(options.split(",")))


def _unescaped(text: str) -> str:
    """mountinfo writes a space as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _place(mount: _Mount, path: str, version: int, root: Path) -> Place:
    """Containers name groups that their mount does not show; the nearest one that it does show counts."""
    point = root / mount.point.lstrip("/")
    inside = PurePosixPath(path)
    if inside.is_relative_to(mount.root):
        inside = inside.relative_to(mount.root)
    folder = point if ".." in inside.parts else point / str(inside).lstrip("/")
    while folder != point and not folder.is_dir():
        folder = folder.parent
    return Place(folder, point, version)


def _quota(folder: Path, version: int) -> float | None:
    if version == 2:
        quota, _, period = read(folder / "cpu.max").partition(" ")
    else:
        quota, period = read(folder / "cpu.cfs_quota_us"), read(folder / "cpu.cfs_period_us")
    bounded = quota.isdecimal() and period.isdecimal() and int(period) > 0 and int(quota) > 0
    return int(quota) / int(period) if bounded else None
