# SPDX-License-Identifier: Apache-2.0
"""The permissions that measuring needs, and whether this account has them. Each is tried if that is harmless, and
otherwise read from the kernel's settings."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from corescale import cgroup
from corescale.topology import read


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission. `lost` says what does not work without it."""

    name: str
    allowed: bool
    detail: str
    lost: str
    remedy: str


def survey(root: Path = Path("/")) -> tuple[Permission, ...]:
    """Checks each permission; the one that is tried takes some 50 ms."""
    return (_ptrace(), _memory_group(root), _counters(root))


_BE_TRACED = "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0"


def _ptrace() -> Permission:
    """Tries to trace a child that asks for it; some containers and hardened kernels refuse even that."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _BE_TRACED], stderr=subprocess.DEVNULL, timeout=20, check=False
        )
        allowed = done.returncode == 0
    except (OSError, subprocess.SubprocessError):
        allowed = False
    return Permission(
        "ptrace",
        allowed,
        "child tracing works" if allowed else "refused by the kernel or the container",
        "it cannot be verified that every process of a program loaded an allocator",
        "docker run --cap-add=SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=1",
    )


def _memory_group(root: Path) -> Permission:
    place = cgroup.place("memory", root)
    allowed = place is not None and os.access(place.folder, os.W_OK)
    if place is not None and place.version == 2:
        allowed = allowed and "memory" in read(place.folder / "cgroup.controllers").split()
    return Permission(
        "memory cgroup",
        allowed,
        f"version {place.version}" if place and allowed else "not writable" if place else "no such controller",
        "peak memory of a program of several processes is sampled: a lower bound",
        "run within `systemd-run --user --scope -p Delegate=yes`, or as root",
    )


def _counters(root: Path) -> Permission:
    """Hardware counters. Level 2 allows a program its own counters, which is enough; 3 and above allow none."""
    level = read(root / "proc/sys/kernel/perf_event_paranoid")
    allowed = os.geteuid() == 0 or (level.lstrip("-").isdecimal() and int(level) <= 2)
    detail = f"perf_event_paranoid {level}" if level else "the kernel has no perf events"
    return Permission(
        "perf events", allowed and bool(level), detail, "no call sites", "sysctl kernel.perf_event_paranoid=2"
    )
