# SPDX-License-Identifier: Apache-2.0
"""Warnings about this machine that make results doubtful, each with its remedy."""

import os
import resource
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corescale import calibration
from corescale.errors import UsageError
from corescale.machine import Machine, format_cpu_list
from corescale.observe.doctor.permissions import Permission
from corescale.observe.doctor.quietness import RULES, Quietness
from corescale.topology import core_types


@dataclass(frozen=True, slots=True)
class DoctorWarning:
    """A warning in one line, and its remedy."""

    what: str
    remedy: str


def collect(
    machine: Machine,
    allowed: Sequence[Permission],
    seen: Quietness | None,
    environment: Mapping[str, str],
) -> tuple[DoctorWarning, ...]:
    """All warnings, the gravest first: limits, noise, the machine, the shell's variables, missing permissions."""
    refused = [
        DoctorWarning(f"{one.name}: {one.detail}; without it {one.lost}", one.remedy)
        for one in allowed
        if not one.allowed
    ]
    return (
        *_of_limits(machine),
        *_of_noise(seen),
        *_of_machine(machine),
        *_of_calibration(machine),
        *_of_environment(machine, environment),
        *refused,
    )


ROOM = 4 << 20
"""bytes of disk space that the reports of a launch may take"""
SPARE = 128
"""processes needed besides a program's threads: a shell, corescale, its spawner, and all that already run"""


def _of_limits(machine: Machine) -> Iterator[DoctorWarning]:
    """Limits that make launches fail with a misleading error."""
    try:
        folder = tempfile.gettempdir()
        space = os.statvfs(folder)
        if space.f_bavail * space.f_frsize < ROOM or space.f_favail == 0 < space.f_files:
            yield DoctorWarning(f"no room in {folder}: what a launch reports is lost", "free some, or set TMPDIR")
    except OSError:
        yield DoctorWarning("no folder for temporary files can be written", "set TMPDIR to one with room")
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.geteuid() != 0 and most != resource.RLIM_INFINITY and most < machine.default_max_threads + SPARE:
        what = f"ulimit -u is {most}: programs of many threads fail, and say that a resource is temporarily unavailable"
        yield DoctorWarning(what, f"ulimit -u {machine.default_max_threads + 8 * SPARE}, or ask an administrator")


def _of_noise(seen: Quietness | None) -> Iterator[DoctorWarning]:
    for rule in RULES if seen is not None else ():
        if seen is not None and rule.level(seen) != "quiet":
            yield DoctorWarning(rule.says(rule.number(seen)), rule.remedy)


def _of_machine(machine: Machine) -> Iterator[DoctorWarning]:
    quota, most = machine.quota_cores, machine.default_max_threads
    if quota is not None and quota < len(machine.affinity):
        what = f"a CPU quota of {quota:g} cores on {len(machine.affinity)} CPUs: more threads than {most} are throttled"
        yield DoctorWarning(what, "raise it (docker run --cpus, Kubernetes limits.cpu), or stay within it")
    if machine.smt_active:
        cores = len({cpu.core for cpu in machine.usable})
        what = f"{len(machine.usable)} CPUs share {cores} cores: the last doubling of threads gains less"
        yield DoctorWarning(what, "try -f smt=on,off")
    if kinds := core_types():
        said = ", ".join(f"{name} {format_cpu_list(cpus)}" for name, cpus in kinds.items())
        yield DoctorWarning(
            f"cores of {len(kinds)} kinds ({said}): where a thread runs decides its time", "try -f affinity=auto"
        )
    if machine.governor not in (None, "performance"):
        what = f"the frequency governor is {machine.governor}: short launches run at a lower clock"
        yield DoctorWarning(what, "cpupower frequency-set -g performance")
    if machine.turbo:
        what = "turbo is on: one busy core runs at a higher clock than all, which lowers speedup"
        yield DoctorWarning(what, "keep it and report it, or write 0 to /sys/devices/system/cpu/cpufreq/boost")


def _of_calibration(machine: Machine) -> Iterator[DoctorWarning]:
    """A warning if the calibration cannot be read, or was measured while other programs ran."""
    try:
        found, _ = calibration.of_machine(machine.fingerprint())
    except UsageError as error:
        yield DoctorWarning(f"{error.where}: {error.what}", error.remedy)
        return
    if found is not None and found.warning:
        yield DoctorWarning(
            f"while this machine was calibrated, {found.warning}", "corescale calibrate, when it is quiet"
        )


def _of_environment(machine: Machine, environment: Mapping[str, str]) -> Iterator[DoctorWarning]:
    asked = environment.get("SLURM_CPUS_PER_TASK", "")
    if asked.isdecimal() and int(asked) != len(machine.affinity):
        what = f"Slurm was asked for {asked} CPUs for each task, but {len(machine.affinity)} are allowed here"
        yield DoctorWarning(what, f"srun --cpus-per-task={asked}: srun does not always take it from sbatch")
    if environment.get("LD_PRELOAD"):
        what = f"LD_PRELOAD={environment['LD_PRELOAD']} is set: the baseline inherits it"
        yield DoctorWarning(what, "unset LD_PRELOAD, unless it belongs there")
