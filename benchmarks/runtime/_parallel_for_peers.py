# SPDX-License-Identifier: Apache-2.0
"""The contenders of benchmarks/runtime/parallel_for.py: one table, and how each is compiled."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "parallel_for"
RUNTIME = Path("build/release/runtime/src")
LOOPS = [
    "g++",
    "-std=c++20",
    "-O2",
    "-DNDEBUG",
    "-falign-functions=64",
    "-Iruntime/include",
    "-Iworkloads",
    "-c",
    str(HERE / "loops.cpp"),
    "-o",
]
"""how bodies and serial loops are compiled, once for all contenders; most bodies are the workload's"""


@dataclass(frozen=True)
class Peer:
    """One contender: how it is compiled, and where it comes from."""

    name: str
    header: str
    default: str
    """the way of looping that its users get without a choice"""
    flags: tuple[str, ...] = ()
    compiler: str = "g++"
    package: str = ""
    """of Debian, for the message where it does not compile"""
    sources: str = ""
    """OWNER+NAME below --peers; empty for what is in Debian"""
    include: str = ""
    """below that folder"""
    units: tuple[str, ...] = ()
    """globs of what is compiled with it"""


def our_flags() -> tuple[str, ...]:
    """The runtime that scripts/bench has built."""
    folders = [(RUNTIME / name).resolve() for name in ("parallel_for", "team", "machine")]
    search = [flag for folder in folders for flag in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    libraries = [f"-lcorescale_{folder.name}" for folder in folders]
    return (*search, *libraries)


PEERS = (
    Peer("corescale", "corescale.hpp", "auto", our_flags()),
    Peer("libgomp", "openmp.hpp", "static", ("-fopenmp", '-DOPENMP_NAME="libgomp"'), package="libgomp1"),
    Peer("libomp", "openmp.hpp", "static", ("-fopenmp", '-DOPENMP_NAME="libomp"'), "clang++", "libomp-dev"),
    Peer("oneTBB", "tbb.hpp", "auto", ("-ltbb",), package="libtbb-dev"),
    Peer("std::thread", "std_thread.hpp", "slices"),
    Peer("Eigen", "eigen.hpp", "cost model", package="libeigen3-dev"),
    Peer(
        "Taskflow", "taskflow.hpp", "guided", ('-DTASKFLOW_NAME="Taskflow"',), sources="taskflow+taskflow", include="."
    ),
    Peer(
        "Taskflow 3.2",
        "taskflow.hpp",
        "guided",
        ('-DTASKFLOW_NAME="Taskflow 3.2"',),
        sources="taskflow+taskflow-3.2",
        include=".",
    ),
    Peer(
        "fork_union",
        "fork_union.hpp",
        "slices",
        ('-DFORK_UNION_NAME="fork_union"', "-DFORK_UNION_WAIT=standard_yield_t"),
        sources="ashvardanian+fork_union",
        include="include",
    ),
    Peer(
        "fork_union that pauses",
        "fork_union.hpp",
        "slices",
        ('-DFORK_UNION_NAME="fork_union that pauses"', "-DFORK_UNION_WAIT=x86_pause_t"),
        sources="ashvardanian+fork_union",
        include="include",
    ),
    Peer("BS::thread_pool", "bs_thread_pool.hpp", "blocks", sources="bshoshany+thread-pool", include="include"),
    Peer("parlaylib", "parlaylib.hpp", "default", sources="cmuparlay+parlaylib", include="include"),
    Peer(
        "dispenso",
        "dispenso.hpp",
        "adaptive",
        ("-Idispenso/third-party", "-Idispenso/third-party/moodycamel"),
        sources="facebookincubator+dispenso",
        include=".",
        units=("dispenso/*.cpp", "dispenso/detail/*.cpp"),
    ),
)


def folder_of(peer: Peer, peers: Path | None) -> Path | None:
    """Where its sources are; None where they are not there."""
    names = (peer.sources, peer.sources.partition("+")[2])
    found = [peers / name for name in names if peers and (peers / name).is_dir()]
    return found[0] if found else None


def build_loops(into: Path) -> Path:
    """The bodies of all loops as one object, compiled where it is older than its sources."""
    built = into / "loops.o"
    sources = [HERE / "loops.cpp", HERE / "loops.hpp", *Path("workloads/unit_task").glob("*.hpp")]
    if not built.exists() or any(path.stat().st_mtime > built.stat().st_mtime for path in sources):
        subprocess.run([*LOOPS, str(built)], check=True)
    return built


def build(peer: Peer, peers: Path | None, into: Path, loops: Path) -> Path | None:
    """Its program, compiled where it is older than its sources; None, and a line of why, where it cannot be."""
    folder = folder_of(peer, peers) if peer.sources else Path()
    if folder is None:
        print(f"absent: {peer.name} (no folder {peer.sources} in --peers)")
        return None
    program = into / peer.name.replace(" ", "-").replace("::", "-")
    own = [HERE / "contender.cpp", loops, HERE / "loops.hpp", HERE / "peers" / peer.header, HERE / "peers/ranges.hpp"]
    own += Path("runtime/include").rglob("*.hpp") if peer.name == "corescale" else []
    if program.exists() and all(path.stat().st_mtime < program.stat().st_mtime for path in own):
        return program
    flags = [f"-I{folder / flag[2:]}" if peer.sources and flag.startswith("-I") else flag for flag in peer.flags]
    flags += ["-w", f"-I{folder / peer.include}"] if peer.sources else []
    units = [str(path) for glob in peer.units for path in sorted(folder.glob(glob))]
    command = [peer.compiler, "-std=c++20", "-O2", "-DNDEBUG", "-pthread", f"-I{HERE}", "-Iruntime/include", str(loops)]
    command += [f'-DCONTENDER="peers/{peer.header}"', str(HERE / "contender.cpp"), *units, *flags, "-o", str(program)]
    if shutil.which(peer.compiler) and subprocess.run(command, check=False, capture_output=True).returncode == 0:
        return program
    print(f"absent: {peer.name} (does not compile; {peer.package or peer.sources} is needed)")
    return None
