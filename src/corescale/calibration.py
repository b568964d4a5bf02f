# SPDX-License-Identifier: Apache-2.0
"""The calibration file: what block policies need to know of a machine, bound to that machine.

`name = value` lines are those that the C++ library reads; lines that begin with `#:` are comments to it and belong to
the lab: the machine's fingerprint, and constants that laws and the simulator use.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corescale.errors import UsageError

FORMAT = 1
"""the format of the library's reader, runtime/src/parallel_for/calibration.cpp"""


VARIABLE = "CORESCALE_CALIBRATION"
"""names the file to the library and to the lab"""

SPREAD = "spread_"
"""before the name of a constant: what the middle half of its runs differ by, over its value"""


@dataclass(frozen=True, slots=True)
class Constant:
    """One row of the table."""

    name: str
    unit: str
    meaning: str
    limit: Callable[[float], str]
    """what follows from it for a loop"""
    read_by_loops: bool = False


def _claims(ns: float) -> str:
    return f"a counter that goes from core to core at each claim serves at most {1000 / ns:.3g} million blocks a second"


def _unclaimed(ns: float) -> str:
    return f"a thread claims at most {1000 / ns:.3g} million blocks a second from a counter of its own"


def _forked(ns: float) -> str:
    return f"a loop that takes less than {ns:.3g} ns on one thread is not forked"


def _woken(ns: float) -> str:
    return f"after a pause, a loop of less than {ns / 1000:.3g} us is not forked"


def _added(ns: float) -> str:
    return f"a fork of 64 threads takes {62 * ns / 1000:.3g} us longer than one of two"


def _moved(ns: float) -> str:
    return f"a task of 1 KiB read and 1 KiB written takes at least {2048 * ns:.3g} ns"


def _added_up(ns: float) -> str:
    return f"a task of 2^20 additions, one after the other, takes {ns * 2**20 / 1000:.3g} us"


def _contended(ns: float) -> str:
    return f"two threads that only claim get at most {1000 / ns:.3g} million blocks a second together"


def _acquired(ns: float) -> str:
    return f"a claim loses less than a tenth to it where a block takes at least {10 * ns:.3g} ns"


def _handed(ns: float) -> str:
    return f"measured, such a counter serves {1000 / ns:.3g} million blocks a second"


def _other(ns: float) -> str:
    return f"a counter that is handed over costs {ns:.3g} ns more than R + E say"


def _cycle(ghz: float) -> str:
    return f"an instruction that waits for the one before takes at least {1 / ghz:.3g} ns"


def _streamed(rate: float) -> str:
    return f"an iteration that streams 1 KiB from memory takes at least {1024 / rate:.3g} ns"


def _waited(ns: float) -> str:
    return f"an iteration with k dependent misses takes at least {ns:.3g} k ns"


PAIRS: Mapping[str, str] = {
    "near": "a core of the group",
    "far": "another core group",
    "smt": "the core's other thread",
    "socket": "another socket",
}
"""Classes of pairs of cores, and who the other one is."""


def _claimed_by(pair: str, whose: str) -> tuple[Constant, ...]:
    """The study's L = R + E + O of a claim where the other one is `whose`; E is claim_own."""
    both = f"a claim where {whose} only claims too: each keeps the line for many in a row"
    return (
        Constant(f"claim_handed_{pair}", "ns", f"L: a claim in turn with {whose}", _handed),
        Constant(f"acquire_modified_{pair}", "ns", f"R: fetching a line that {whose} wrote", _acquired),
        Constant(f"acquire_shared_{pair}", "ns", f"R: owning a line that {whose} has read too", _acquired),
        Constant(
            f"other_{pair}", "ns", "O: L without R of a shared line and E, such as seeing whose turn it is", _other
        ),
        Constant(f"claim_contended_{pair}", "ns", both, _contended),
    )


CONSTANTS: tuple[Constant, ...] = (
    Constant("claim_own", "ns", "a claim from a counter that nobody else touches (E: execute)", _unclaimed, True),
    Constant("line_near", "ns", "a line is handed over by store and load within a core group", _claims, True),
    Constant("line_far", "ns", "a line is handed over between core groups", _claims, True),
    Constant("fork_hot", "ns", "fork and join of two threads that spin", _forked, True),
    Constant("fork_thread", "ns", "each further thread adds this to a fork", _added, True),
    Constant("fork_cold", "ns", "fork and join of two threads that sleep", _woken, True),
    Constant("byte", "ns", "reading or writing a byte of the study's task, in cache", _moved, True),
    Constant("operation", "ns", "an addition that waits for the one before", _added_up, True),
    Constant("line_smt", "ns", "a line is handed over between threads of a core", _claims),
    Constant("line_socket", "ns", "a line is handed over between sockets", _claims),
    *(constant for pair, whose in PAIRS.items() for constant in _claimed_by(pair, whose)),
    Constant("clock_ghz", "GHz", "the clock while one core works", _cycle),
    Constant("l1_ns", "ns", "a load from L1", _waited),
    Constant("l2_ns", "ns", "a load from L2", _waited),
    Constant("l3_ns", "ns", "a load from L3", _waited),
    Constant("memory_ns", "ns", "a load from memory", _waited),
    Constant("bytes_per_ns", "B/ns", "one core reads memory in order", _streamed),
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
    doubt: str = ""
    """what else ran while it was measured; empty where the machine was quiet"""


def file_text(calibration: Calibration, words: str) -> str:
    """The file, for a machine that is `words` to a person."""
    lines = [f"# corescale calibrate: {words}", f"#: machine = {calibration.machine}"]
    lines += [f"#: {name} = {said}" for name in ("cpus", "doubt") if (said := getattr(calibration, name))]
    lines += [f"format = {FORMAT}"]
    for constant in CONSTANTS:
        if (value := calibration.values.get(constant.name)) is not None:
            lines.append(f"{'' if constant.read_by_loops else '#: '}{constant.name} = {value:.6g}")
        if (spread := calibration.spreads.get(constant.name)) is not None:
            lines.append(f"#: {SPREAD}{constant.name} = {spread:.3g}")
    return "\n".join(lines) + "\n"


def parse(text: str, where: str) -> Calibration:
    """The calibration in the text of a file; raises UsageError, which names the line and the remedy."""
    said = {"machine": "", "cpus": "", "doubt": ""}
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
    said = (
        line.removeprefix("#:").partition("#")[0].strip() if line.startswith("#:") else line.partition("#")[0].strip()
    )
    if not said:
        return "", ""
    name, equals, value = (part.strip() for part in said.partition("="))
    if not equals or not value:
        raise UsageError("is no `name = value`", where=where, remedy="write it by corescale calibrate")
    return name, value


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
    """Where `corescale calibrate` writes unless it is told otherwise."""
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
