# SPDX-License-Identifier: Apache-2.0
"""Measures the constants of this machine with workloads/machine_constants, and notes what else ran meanwhile."""

import json
import subprocess
import time
from collections.abc import Callable

from corescale import native
from corescale.calibration import SPREAD, Calibration
from corescale.errors import ProgramError
from corescale.machine import Machine
from corescale.observe.doctor.quietness import RULES, Account, account

PROGRAM = "machine_constants"


def measure(machine: Machine, said: Callable[[str], None]) -> Calibration:
    """Each constant that is above 0, with its spread if it has one. `said` gets a line before each step.

    Takes some 5 s on a machine of one L3 domain. Raises UnavailableError if the program is not built, ProgramError
    if it fails.
    """
    before, started = account(machine), time.monotonic()
    found = _run(said)
    values = {name: value for name, value in found.items() if value > 0 and not name.startswith(SPREAD)}
    spreads = {name: found[SPREAD + name] for name in values if SPREAD + name in found}
    warning = doubtful(before, account(machine), time.monotonic() - started)
    return Calibration(machine.fingerprint(), values, machine.cpus_in_words, spreads, warning)


def doubtful(before: Account, after: Account, seconds: float) -> str:
    """A warning if doctor would call the machine noisy in that time; else empty."""
    seen = {"steal": after.steal_share(before), "others": max(0.0, after.others - before.others) / seconds}
    rules = [(rule, seen[rule.name]) for rule in RULES if rule.name in seen]
    return ", ".join(rule.says(number) for rule, number in rules if number > rule.usable)


def _run(said: Callable[[str], None]) -> dict[str, float]:
    with subprocess.Popen(
        [str(native.find(PROGRAM))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        last = ""
        try:
            for line in process.stderr:
                last = line.strip()
                said(last)
            output = process.stdout.read()
        except KeyboardInterrupt:
            process.kill()
            raise
    if process.returncode != 0:
        raise ProgramError(f"ended with {process.returncode}: {last}", where=PROGRAM, remedy="run it by itself")
    return {name: float(value) for name, value in json.loads(output).items() if isinstance(value, int | float)}
