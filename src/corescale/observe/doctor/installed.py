# SPDX-License-Identifier: Apache-2.0
"""What is installed: a table of components, and a survey that finds each with its version."""

import os
import re
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from corescale import native
from corescale.declare.catalogue import allocators
from corescale.declare.programs import WORKLOADS
from corescale.errors import UnavailableError
from corescale.observe import environment

Group = Literal["allocators", "threading", "MPI", "Slurm", "tools", "corescale"]


@dataclass(frozen=True, slots=True)
class Component:
    """Libraries or programs, of which the first that exists counts; a program's version text must match `says`."""

    group: Group
    name: str
    purpose: str
    package: str
    """package of Debian"""
    libraries: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    says: str = ""
    """regular expression, ignoring case"""


COMPONENTS = (
    Component("threading", "OpenMP (GCC)", "programs built with gcc -fopenmp", "libgomp1", ("libgomp.so.1",)),
    Component("threading", "OpenMP (LLVM)", "programs built with clang -fopenmp", "libomp-dev", ("libomp.so*",)),
    Component("threading", "oneTBB", "programs built on TBB", "libtbb12", ("libtbb.so.12", "libtbb.so*")),
    Component("threading", "Boost.Thread", "the team over it", "libboost-thread-dev", ("libboost_thread.so*",)),
    Component(
        "MPI",
        "Open MPI",
        "launching ranks",
        "openmpi-bin",
        programs=("mpirun.openmpi", "prterun", "orterun", "mpirun", "mpiexec"),
        says="open ?mpi|openrte|prrte",
    ),
    Component(
        "MPI",
        "MPICH",
        "launching ranks",
        "mpich",
        programs=("mpiexec.hydra", "mpirun.mpich", "mpirun", "mpiexec"),
        says="hydra|mpich",
    ),
    Component("MPI", "SimGrid", "simulating ranks", "libsimgrid-dev", programs=("smpirun",)),
    Component("Slurm", "sbatch", "submitting jobs", "slurm-client", programs=("sbatch",)),
    Component("Slurm", "srun", "launching in an allocation", "slurm-client", programs=("srun",)),
    Component("tools", "numactl", "the numa factor", "numactl", programs=("numactl",)),
    Component("tools", "hyperfine", "the benchmarks beside it", "hyperfine", programs=("hyperfine",)),
)

NATIVE = {
    "corescale-spawn": native.find,
    "libcorescale_witness.so": native.library,
    "libcorescale_env_reads.so": native.library,
    "libcorescale_profiler.so": native.library,
    **dict.fromkeys(WORKLOADS, native.find),
}


@dataclass(frozen=True, slots=True)
class Installed:
    """One thing that was looked for; `path` is None if it is not here, and `remedy` then says how to get it."""

    group: Group
    name: str
    purpose: str
    path: Path | None
    version: str | None
    remedy: str | None


def survey() -> tuple[Installed, ...]:
    """Everything looked for, found or not, in the order of the tables. Takes some 0.3 s."""
    with ThreadPoolExecutor(8) as pool:
        components = list(pool.map(_component, COMPONENTS))
    return _with_package_versions([*map(_allocator, allocators.ALLOCATORS), *components, *map(_native, NATIVE)])


def _allocator(name: str) -> Installed:
    if name == "system":
        libc = allocators.find_library(("libc.so.6", "libc.musl*.so*"))
        version = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
        return Installed("allocators", name, "the C library's own", libc, version, None)
    path = allocators.find(name)
    return Installed("allocators", name, "", path, None, None if path else allocators.remedy_for(name))


def _component(component: Component) -> Installed:
    path, version = allocators.find_library(component.libraries), None
    for program in map(shutil.which, component.programs):
        if program is None or path is not None:
            continue
        said = environment.said(program, "--version")
        if re.search(component.says, said, re.IGNORECASE):
            path, version = Path(program), version_in(said)
    remedy = None if path else f"apt-get install {component.package}"
    return Installed(component.group, component.name, component.purpose, path, version, remedy)


def _native(name: str) -> Installed:
    try:
        return Installed("corescale", name, "", NATIVE[name](name), None, None)
    except UnavailableError as error:
        return Installed("corescale", name, "", None, None, error.remedy)


def version_in(text: str) -> str | None:
    """The first dotted number in a program's version text."""
    found = re.search(r"\d+(?:\.\d+)+[\w.+~-]*", text)
    return found[0] if found else None


def _with_package_versions(found: Sequence[Installed]) -> tuple[Installed, ...]:
    """Adds versions to libraries, which do not state their own, from their packages on Debian and similar systems."""
    unknown = [item.path for item in found if item.path and item.version is None and item.group != "corescale"]
    versions = _package_versions(unknown) if unknown and shutil.which("dpkg-query") else {}
    return tuple(replace(item, version=item.version or versions.get(item.path)) for item in found)


def _package_versions(paths: Sequence[Path]) -> dict[Path | None, str]:
    """The versions of the packages that own these files. dpkg may know a file with or without the leading /usr."""
    names = {name: path for path in paths for name in (str(path), str(path).removeprefix("/usr"))}
    owners = dict(owner_of(line) for line in environment.said("dpkg-query", "-S", *names).splitlines() if ": /" in line)
    listing = environment.said("dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *sorted(set(owners.values())))
    versions = dict(line.split(" ", 1) for line in listing.splitlines() if line.count(" ") == 1)
    return {names[name]: plain_version(versions[owner]) for name, owner in owners.items() if owner in versions}


def owner_of(line: str) -> tuple[str, str]:
    """File and package of a line of `dpkg-query -S`: `libx:amd64: /usr/lib/libx.so`."""
    packages, _, file = line.partition(": ")
    return file, packages.split(",")[0].split(":")[0]


def plain_version(version: str) -> str:
    """A Debian version without epoch and packaging: 1:14.0.6-12 is 14.0.6."""
    return version.partition(":")[2].split("-")[0] if ":" in version else re.split(r"[-+~]", version)[0]
