# SPDX-License-Identifier: Apache-2.0
"""The circumstances under which records are taken, and how those of two runs differ."""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from corescale import __version__
from corescale.declare import paths
from corescale.declare.catalogue import settings
from corescale.declare.factors import THREAD_VARIABLES
from corescale.declare.programs import VARIANTS, WORKLOADS
from corescale.errors import ProgramError
from corescale.machine import Machine

_RELEVANT = re.compile(
    r"^(OMP|OMPI_MCA|PRTE_MCA|UCX|KMP|GOMP|LIBOMP|LD|MALLOC|GLIBC|MIMALLOC|JE_MALLOC|TCMALLOC|TBB|MKL|OPENBLAS|BLIS|JAVA|JDK|PYTHON|RAYON|GO|LC)_"
    r"|^(CORESCALE_MALLOC|MALLOC_CONF|SCUDO_OPTIONS|PYTHONMALLOC|GODEBUG|GOGC|LANG|LANGUAGE|"
    + "|".join(THREAD_VARIABLES)
    + ")$"
)
"""Inherited variables that change how a program uses cores or memory."""

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""Values of LC_CTYPE that Python sets by itself."""

_BOUND = ("machine", "subject", "variables")
"""The parts that must not change within a run."""


def inherited() -> dict[str, str]:
    """The variables with which this process was started, so that its children get the same ones.

    They differ from os.environ if there is no locale: Python then sets LC_CTYPE=C.UTF-8 (PEP 538), which makes sed and
    grep slower.
    """
    started = {variable.partition("=")[0] for variable in _own_environment().split("\0")}
    ours = os.environ.get("LC_CTYPE") in _COERCED and "LC_CTYPE" not in started
    return {name: value for name, value in os.environ.items() if not (ours and name == "LC_CTYPE")}


def _own_environment() -> str:
    """This process's environment at its start, as the kernel keeps it."""
    try:
        return os.fsdecode(Path("/proc/self/environ").read_bytes())
    except OSError:
        return "\0".join(os.environ)


def describe(machine: Machine, subject: Mapping[str, Any]) -> dict[str, Any]:
    """environment.json: the machine, the subject (what is measured and by which probes) and inherited variables."""
    return {
        "corescale": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "huge_pages": sorted(settings.huge_pages()),
        "created": time.time(),
        "fingerprint": machine.fingerprint(),
        "machine": _plain(machine.identity()),
        "description": TypeAdapter(Machine).dump_python(machine, mode="json"),
        "subject": dict(subject),
        "variables": relevant(),
    }


def relevant() -> dict[str, str]:
    """The inherited variables that change how a program uses cores or memory."""
    return {name: value for name, value in sorted(inherited().items()) if _RELEVANT.match(name)}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The reasons why records of `new` may not be added to those of `old`, one phrase each."""
    return [
        phrase
        for part in _BOUND
        for phrase in _different(part, "", _plain(old.get(part, {})), _plain(new.get(part, {})))
    ]


def identity(file: Path) -> dict[str, Any]:
    """Identifies a file by its content, or by its time if it may not be read."""
    seen = file.stat()
    try:
        with file.open("rb") as opened:
            version: dict[str, Any] = {"sha256": hashlib.file_digest(opened, "sha256").hexdigest()}
    except PermissionError:  # a program may be executable without being readable
        version = {"modified": seen.st_mtime_ns}
    return {"path": str(file), "size": seen.st_size} | version


def locate(program: str) -> Path:
    """The executable file that execvp would find by PATH, with symbolic links resolved; raises ProgramError."""
    found = shutil.which(program)
    if found is not None and paths.is_file(found):  # reading a pipe would block
        if _names_an_interpreter_with_cr(Path(found)):
            what = "its first line ends in CR LF, so the kernel finds no interpreter"
            raise ProgramError(what, where=program, remedy=f"sed -i 's/\\r$//' {shlex.quote(found)}")
        return Path(found).resolve()
    if "/" not in program:
        raise ProgramError("no such program", where=program, remedy=_how_to_name(program))
    if paths.is_folder(program):
        raise ProgramError("is a folder, not a program", where=program, remedy="name a program in it")
    if paths.exists(program):
        if paths.is_file(program) and _is_program(Path(program)):
            raise ProgramError("may not be executed", where=program, remedy=f"chmod +x {program}")
        raise ProgramError("is not a program", where=program, remedy=f"write what reads it first, as in cat {program}")
    raise ProgramError("no such file", where=program, remedy=f"looked for {Path(program).absolute()}")


def libraries(program: Path) -> list[Path]:
    """The shared libraries that ld.so loads with it; none for a script or a static program."""
    return [Path(found) for found in re.findall(r" => (/.+) \(0x", said("ldd", str(program)))]


def _is_program(path: Path) -> bool:
    """Whether a file begins like a script or a binary; a file that cannot be read is taken for a program."""
    try:
        with path.open("rb") as file:
            return file.read(4).startswith((b"#!", b"\x7fELF"))
    except OSError:
        return True


def _names_an_interpreter_with_cr(path: Path) -> bool:
    """Whether the interpreter of a script is a name that ends in a carriage return."""
    try:
        with path.open("rb") as file:
            line = file.readline(4096)
    except OSError:
        return False
    words = line.rstrip(b"\n").split(b" ")
    return line.startswith(b"#!") and words[-1].endswith(b"\r") and (len(words) == 1 or words[0].endswith(b"/env"))


SHELL_OF = {
    **dict.fromkeys(("!", ".", "alias", "break", "case", "cd", "eval", "exec", "exit", "export", "for", "if"), "sh"),
    **dict.fromkeys(("local", "read", "return", "set", "shift", "times", "trap", "ulimit", "umask", "unset"), "sh"),
    **dict.fromkeys(("until", "wait", "while", "{"), "sh"),
    **dict.fromkeys(("[[", "declare", "function", "let", "mapfile", "popd", "pushd", "select", "shopt"), "bash"),
    **dict.fromkeys(("source", "typeset"), "bash"),
}
"""commands that are no programs, each with the smallest shell that has it"""


def _how_to_name(program: str) -> str:
    if program in (*WORKLOADS, *VARIANTS):
        return "this workload of corescale is not built here: run scripts/setup"
    if re.match(r"[A-Za-z_]\w*=", program):
        return f"a variable before a program is for a shell: write env {program} and the program"
    if shell := SHELL_OF.get(program):
        return f"only a shell has it: write {shell} -c '{program} ...'"
    first, *rest = program.split() or [""]
    if rest and shutil.which(first):
        return f"quotes make one word of it: write {program} without them, behind --"
    if paths.is_file(program):
        after = "" if os.access(program, os.X_OK) else f", after chmod +x {program}"
        here = f"no folder of PATH has it, and this folder has: write ./{program}{after}"
        may_be = not after or _is_program(Path(program))
        return here if may_be else f"it is a file: write what reads it first, as in cat {program}"
    return "no folder of PATH has it: check the spelling, or give its path"


def said(*command: str) -> str:
    """The output of a command, of both streams; empty if it cannot be run."""
    null, pipe, both = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    try:
        done = subprocess.run(command, stdin=null, stdout=pipe, stderr=both, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def programs(argv: Iterable[str]) -> list[str]:
    """The first word, and all others that are executable files: in `taskset -c 0 ./solver`, both programs."""
    first, *rest = argv
    return [first, *(word for word in rest if "/" in word and paths.is_file(word) and os.access(word, os.X_OK))]


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _different(part: str, name: str, old: Any, new: Any) -> list[str]:
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        if "sha256" in keys:
            return [f"another build of {name.partition('.')[2]}"]
        return [one for key in keys for one in _different(part, f"{name}.{key}".strip("."), old.get(key), new.get(key))]
    return [f"{part} {name}: was {_short(old)}, is {_short(new)}"]


def _short(value: Any) -> str:
    return "unset" if value is None else str(value)[:60]
