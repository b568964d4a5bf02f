# SPDX-License-Identifier: Apache-2.0
"""The calibration file: what block policies need to know of a machine, bound to that machine.

Lines `name = value`; `#` begins a comment. The C++ library passes over names that begin with `lab.`: the machine's
fingerprint, and constants that models and the simulator use.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corescale.errors import UsageError

FORMAT = 2
"""the format of the library's reader, runtime/src/parallel_for/calibration.cpp"""


VARIABLE = "CORESCALE_CALIBRATION"
"""names the file to the library and to the lab"""

LAB = "lab."
"""before the names that only the lab reads"""

SPREAD = "spread_"
"""before the name of a constant: what the middle half of its runs differ by, over its value"""


@dataclass(frozen=True, slots=True)
class Constant:
    """One row of the table."""

    name: str
    unit: str
    meaning: str
    follows: tuple[str, float, int]
    """what follows from it for a loop: a sentence of `factor * value ** power`, with factor and power"""
    read_by_loops: bool = False

    def limit(self, value: float) -> str:
        """The sentence."""
        said, factor, power = self.follows
        return said.format(factor * value**power)


_WAITED = ("an iteration with k dependent misses takes at least {:.3g} k ns", 1, 1)
_HANDED_OVER = (
    "a counter that goes from core to core at each claim serves at most {:.3g} million blocks a second",
    1000,
    -1,
)

PAIRS: Mapping[str, str] = {
    "near": "a core of the group",
    "far": "another L3 domain",
    "smt": "the core's other thread",
    "socket": "another socket",
}
"""Classes of pairs of cores, and who the other one is."""


def _claimed_by(pair: str, whose: str) -> tuple[Constant, ...]:
    """The study's L = R + E + O of a claim where the other one is `whose`; E is claim_own."""
    both = f"a claim where {whose} only claims too: each keeps the line for many in a row"
    return (
        Constant(
            f"claim_handed_{pair}",
            "ns",
            f"L: a claim in turn with {whose}",
            ("measured, such a counter serves {:.3g} million blocks a second", 1000, -1),
        ),
        Constant(
            f"acquire_modified_{pair}",
            "ns",
            f"R: fetching a line that {whose} wrote",
            ("a claim loses less than a tenth to it where a block takes at least {:.3g} ns", 10, 1),
        ),
        Constant(
            f"acquire_shared_{pair}",
            "ns",
            f"R: owning a line that {whose} has read too",
            ("a claim loses less than a tenth to it where a block takes at least {:.3g} ns", 10, 1),
        ),
        Constant(
            f"other_{pair}",
            "ns",
            "O: L without R of a shared line and E, such as seeing whose turn it is",
            ("a counter that is handed over costs {:.3g} ns more than R + E say", 1, 1),
        ),
        Constant(
            f"claim_contended_{pair}",
            "ns",
            both,
            ("two threads that only claim get at most {:.3g} million blocks a second together", 1000, -1),
        ),
    )


CONSTANTS: tuple[Constant, ...] = (
    Constant(
        "claim_own",
        "ns",
        "a claim from a counter that nobody else touches (E: execute)",
        ("a thread claims at most {:.3g} million blocks a second from a counter of its own", 1000, -1),
        True,
    ),
    Constant("line_near", "ns", "a line is handed over by store and load within an L3 domain", _HANDED_OVER, True),
    Constant("line_far", "ns", "a line is handed over between L3 domains", _HANDED_OVER, True),
    Constant(
        "fork_hot",
        "ns",
        "fork and join of two threads that spin",
        ("a loop that takes less than {:.3g} ns on one thread is not forked", 1, 1),
        True,
    ),
    Constant(
        "fork_thread",
        "ns",
        "each further thread adds this to a fork",
        ("a fork of 64 threads takes {:.3g} us longer than one of two", 62e-3, 1),
        True,
    ),
    Constant(
        "fork_cold",
        "ns",
        "fork and join of two threads that sleep",
        ("after a pause, a loop of less than {:.3g} us is not forked", 1e-3, 1),
        True,
    ),
    Constant(
        "byte",
        "ns",
        "reading or writing a byte of the study's task, in cache",
        ("a task of 1 KiB read and 1 KiB written takes at least {:.3g} ns", 2048, 1),
        True,
    ),
    Constant(
        "operation",
        "ns",
        "an addition that waits for the one before",
        ("a task of 2^20 additions, one after the other, takes {:.3g} us", 2**20 / 1000, 1),
        True,
    ),
    Constant("line_smt", "ns", "a line is handed over between threads of a core", _HANDED_OVER),
    Constant("line_socket", "ns", "a line is handed over between sockets", _HANDED_OVER),
    *(constant for pair, whose in PAIRS.items() for constant in _claimed_by(pair, whose)),
    Constant(
        "clock_ghz",
        "GHz",
        "the clock while one core works",
        ("an instruction that waits for the one before takes at least {:.3g} ns", 1, -1),
    ),
    Constant("l1_ns", "ns", "a load from L1", _WAITED),
    Constant("l2_ns", "ns", "a load from L2", _WAITED),
    Constant("l3_ns", "ns", "a load from L3", _WAITED),
    Constant("memory_ns", "ns", "a load from memory", _WAITED),
    Constant(
        "bytes_per_ns",
        "B/ns",
        "one core reads memory in order",
        ("an iteration that streams 1 KiB from memory takes at least {:.3g} ns", 1024, -1),
    ),
)
"""What a calibration may hold, in the order of the file. Those of absent kinds of core pairs are left out."""

_BY_NAME: Mapping[str, Constant] = {constant.name: constant for constant in CONSTANTS}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants of one machine, by name."""

    machine: str
    """its fingerprint"""
    values: Mapping[str, float]
    cpus: str = ""
    """Machine.cpus_in_words, which the library compares; empty where the file does not say"""
    spreads: Mapping[str, float] = field(default_factory=dict)
    """what the middle half of the runs of a constant differ by, over its value"""
    warning: str = ""
    """what else ran while it was measured; empty where the machine was quiet"""


def file_text(calibration: Calibration, words: str) -> str:
    """The file, for a machine that is `words` to a person."""
    lines = [f"# corescale calibrate: {words}", f"format = {FORMAT}", f"{LAB}machine = {calibration.machine}"]
    told = {"cpus": calibration.cpus, f"{LAB}warning": calibration.warning}
    lines += [f"{name} = {said}" for name, said in told.items() if said]
    for constant in CONSTANTS:
        if (value := calibration.values.get(constant.name)) is not None:
            lines.append(f"{'' if constant.read_by_loops else LAB}{constant.name} = {value:.6g}")
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
            versioned = _checked_format(value, f"{where}:{number}")
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


def _checked_format(value: str, where: str) -> bool:
    if value != str(FORMAT):
        raise UsageError(f"is of format {value}, this version reads {FORMAT}", where=where, remedy="calibrate again")
    return True


def _value(name: str, text: str, where: str) -> float:
    if name.removeprefix(SPREAD) not in _BY_NAME:
        raise UsageError(f"no constant is named {name!r}", where=where, remedy="calibrate again")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and (value > 0 or name.startswith(SPREAD))):
        raise UsageError(f"{name} is {text}, it must be above 0", where=where, remedy="calibrate again")
    return value


def standard_file() -> Path:
    """Where `corescale calibrate` writes unless another file is named."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "corescale" / "calibration"


def of_machine(fingerprint: str) -> tuple[Calibration | None, str]:
    """The calibration of this machine, or None; and why there is none, in a sentence.

    It is that of the file that VARIABLE names, or else of the standard file. One of another machine is not used; raises
    UsageError for a broken one.
    """
    file = Path(os.environ.get(VARIABLE) or standard_file())
    try:
        found = parse(file.read_text(errors="replace"), str(file))
    except OSError:
        return None, "this machine is not calibrated (corescale calibrate)"
    if found.machine != fingerprint:
        return None, f"{file} is of another machine, or of this one before it changed (corescale calibrate)"
    return found, ""
