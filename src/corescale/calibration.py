# SPDX-License-Identifier: Apache-2.0
"""The calibration file: what block policies need to know of a machine, bound to that machine.

Lines `name = value`; `#` begins a comment. The C++ library passes over names that begin with `lab.`: the machine's
fingerprint, and constants that models and the simulator use.
"""

import importlib.resources
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corescale import documents
from corescale.errors import UsageError

FORMAT = 2
"""the format of the library's reader, runtime/src/parallel_for/calibration.cpp"""


VARIABLE = "CORESCALE_CALIBRATION"
"""names the file to the library and to the lab"""

LOOPS_VARIABLE = "CORESCALE_LOOPS"
"""names the file to which a program's loops are added, for `calibrate --train`"""

LAB = "lab."
"""prefix of names that only the lab reads"""

SPREAD = "spread_"
"""prefix of a constant's name for its spread: the interquartile range of its runs, over its value"""


@dataclass(frozen=True, slots=True)
class Constant:
    """One row of the table."""

    name: str
    unit: str
    meaning: str
    follows: str
    """what the constant means for a loop: a sentence with the number `factor * value ** power`"""
    factor: float
    power: int
    loops: bool = False
    """whether the library's loops read it"""

    def limit(self, value: float) -> str:
        """The sentence."""
        return self.follows.format(self.factor * value**self.power)


_FILE = importlib.resources.files("corescale") / "calibration_constants.toml"
CONSTANTS = tuple(Constant(name, **row) for name, row in tomllib.loads(_FILE.read_text(encoding="utf-8")).items())
"""What a calibration may hold, in the order of the file."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants of one machine, by name."""

    machine: str
    """its fingerprint"""
    values: Mapping[str, float]
    cpus: str = ""
    """Machine.cpus_in_words, which the library compares; empty if the file does not say"""
    spreads: Mapping[str, float] = field(default_factory=dict)
    """interquartile range of a constant's runs, over its value"""
    warning: str = ""
    """what else ran while it was measured; empty if the machine was quiet"""


def file_text(calibration: Calibration, words: str) -> str:
    """The file, for a machine that is `words` to a person."""
    lines = [f"# corescale calibrate: {words}", f"format = {FORMAT}", f"{LAB}machine = {calibration.machine}"]
    facts = {"cpus": calibration.cpus, f"{LAB}warning": calibration.warning}
    lines += [f"{name} = {said}" for name, said in facts.items() if said]
    for constant in CONSTANTS:
        if (value := calibration.values.get(constant.name)) is not None:
            lines.append(f"{'' if constant.loops else LAB}{constant.name} = {value:.6g}")
        if (spread := calibration.spreads.get(constant.name)) is not None:
            lines.append(f"{LAB}{SPREAD}{constant.name} = {spread:.3g}")
    return "\n".join(lines) + "\n"


def parse(text: str, where: str) -> Calibration:
    """The calibration in the text of a file; raises UsageError, which names the line and the remedy."""
    said = {"machine": "", "cpus": "", "warning": ""}
    versioned, values, spreads = False, dict[str, float](), dict[str, float]()
    for number, line in enumerate(text.splitlines(), start=1):
        name, value = _line(line, f"{where}:{number}")
        if name in said:
            said[name] = value
        elif name == "format":
            if value != str(FORMAT):
                what = f"is of format {value}, this version reads {FORMAT}"
                raise UsageError(what, where=f"{where}:{number}", remedy="calibrate again")
            versioned = True
        elif name.startswith(SPREAD):
            spreads[name.removeprefix(SPREAD)] = _value(name, value, f"{where}:{number}")
        elif name:
            values[name] = _value(name, value, f"{where}:{number}")
    if not versioned:
        raise UsageError(f"has no line `format = {FORMAT}`", where=where, remedy="write it by corescale calibrate")
    return Calibration(values=values, spreads=spreads, **said)


def _line(line: str, where: str) -> tuple[str, str]:
    said = line.partition("#")[0].strip()
    if not said:
        return "", ""
    name, equals, value = (part.strip() for part in said.partition("="))
    if not equals or not value:
        raise UsageError("is no `name = value`", where=where, remedy="write it by corescale calibrate")
    return name.removeprefix(LAB), value


def _value(name: str, text: str, where: str) -> float:
    if name.removeprefix(SPREAD) not in {constant.name for constant in CONSTANTS}:
        raise UsageError(f"no constant is named {name!r}", where=where, remedy="calibrate again")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and (value > 0 or name.startswith(SPREAD))):
        raise UsageError(f"{name} is {text}, it must be above 0", where=where, remedy="calibrate again")
    return value


def standard_file() -> Path:
    """The file that `corescale calibrate` writes unless another one is named."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "corescale" / "calibration"


def file_in_use() -> Path:
    """The file that VARIABLE names, or else the standard one."""
    return Path(os.environ.get(VARIABLE) or standard_file())


def of_machine(fingerprint: str) -> tuple[Calibration | None, str]:
    """The calibration of this machine, or None, and a sentence that says why there is none.

    The calibration of another machine is not used. Raises UsageError if the file is broken.
    """
    file = file_in_use()
    try:
        found = parse(documents.content(file).decode(errors="replace"), str(file))
    except OSError:
        return None, "this machine is not calibrated (corescale calibrate)"
    if found.machine != fingerprint:
        return None, f"{file} is of another machine, or of this one before it changed (corescale calibrate)"
    return found, ""
