# SPDX-License-Identifier: Apache-2.0
"""What the spawner is asked, and the words of its command line that ask it."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """One program to start once. Seconds and bytes throughout."""

    argv: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """changes to the inherited environment, for the program alone; None unsets"""
    affinity: tuple[int, ...] = ()
    """CPUs; empty for the inherited ones"""
    timeout: float | None = None
    grace: float = 0.0
    """between SIGTERM and SIGKILL, for launchers that must end processes on other machines"""
    limit_memory: int | None = None
    """memory of the tree where a memory group can be made, else private data of each process"""
    limit_cpu: int | None = None
    """CPU seconds of each process"""
    stdin: Path | None = None
    """None: /dev/null"""
    stdout: Path | None = None
    """None: /dev/null, unless the output is counted or hashed"""
    stderr: Path | None = None
    """None: only its tail is kept"""
    cwd: Path | None = None
    scratch: Path | None = None
    """where unnamed files for output go; None: the system's temporary directory"""
    tail_bytes: int = 4096
    count_output: bool = False
    hash_output: bool = False
    """both write standard output to a file, which costs the program what writing to a file costs"""
    sample_ms: int = 100
    """between looks at the tree; the spawner stretches it to stay below half a percent of a core; 0: never"""
    prove: bool = False
    """trace it: its times are those of a traced program, and only the main process is accounted"""
    memory_group: bool = True
    """accounts by control groups where they can be made, for memory and CPU time"""
    inherited: tuple[int, ...] = ()
    """descriptors that the program keeps, beside the first three"""


def options(request: SpawnRequest, report: str, output: str | None = None) -> Iterator[str]:
    """The words behind the spawner's name: where the report goes, and standard output if not as requested."""
    yield from ("--report", report)
    for name, value in request.environment.items():
        yield from ("--unset", name) if value is None else ("--env", f"{name}={value}")
    if request.affinity:
        yield from ("--affinity", ",".join(map(str, request.affinity)))
    for option, setting in _settings(request).items():
        if setting is not None:
            yield from (option, f"{setting:f}" if isinstance(setting, float) else str(setting))
    if output is not None:
        yield from ("--stdout", output)
    elif request.count_output and request.stdout is None:
        yield "--count-output"
    for file in request.inherited:
        yield from ("--inherit", str(file))
    if request.prove:
        yield "--prove"
    yield from ("--", *request.argv)


def _settings(request: SpawnRequest) -> dict[str, str | float | Path | None]:
    return {
        "--timeout": request.timeout,
        "--grace": request.grace,
        "--limit-memory": request.limit_memory,
        "--limit-cpu": request.limit_cpu,
        "--stdin": request.stdin,
        "--stdout": request.stdout,
        "--stderr": request.stderr,
        "--cwd": request.cwd,
        "--scratch": request.scratch or Path(tempfile.gettempdir()),
        "--tail": request.tail_bytes,
        "--sample-ms": request.sample_ms,
        "--cgroup": "auto" if request.memory_group else "off",
    }
