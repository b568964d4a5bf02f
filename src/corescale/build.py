# SPDX-License-Identifier: Apache-2.0
"""Which build of corescale this is: its commit, and where its native programs come from."""

import importlib.metadata
import re
import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from corescale import __version__, native
from corescale.errors import UnavailableError

_PACKAGE = Path(__file__).resolve().parent
_SOURCES = _PACKAGE.parents[1]


def described() -> str:
    """One line: version, commit, and the tag of the wheel or the folder of the build, with its compiler."""
    return f"corescale {__version__} (commit {_commit()}; {_native()})"


def _commit() -> str:
    """The commit that the build recorded, else the commit of the source tree; `unknown` if there is neither."""
    written = _PACKAGE / "commit"
    if written.is_file():
        return written.read_text().strip()
    if not (_SOURCES / ".git").exists():
        return "unknown"
    asked = ["git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(asked, cwd=_SOURCES, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _native() -> str:
    try:
        spawner = native.find("corescale-spawn")
    except UnavailableError:
        return "without native programs"
    return f"{_home(spawner)}, {compiler(spawner)}"


def _home(program: Path) -> str:
    """The wheel's tag for a program of the package, else the folder that it was built in."""
    if not program.is_relative_to(_PACKAGE):
        return str(program.parents[1])
    wheel = importlib.metadata.distribution("corescale").read_text("WHEEL") or ""
    tags = re.findall(r"^Tag: (.*)$", wheel, re.MULTILINE)
    return tags[0] if tags else "no wheel"


def compiler(program: Path) -> str:
    """The compiler as recorded in the program, such as `GCC 12.2.0`. A record of clang takes precedence, because every
    program also has that of GCC, which compiled the C library's start code."""
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".comment")
        said = section.data().decode(errors="replace") if section else ""
    for name in ("clang", "GCC"):
        if found := re.search(name + r"\b.*?(\d+\.\d+\.\d+)", said):
            return f"{name} {found[1]}"
    return "unknown compiler"
