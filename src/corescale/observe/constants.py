# SPDX-License-Identifier: Apache-2.0
"""The constants of this machine, by workloads/machine_constants."""

import json
import subprocess
from collections.abc import Callable

from corescale import native
from corescale.errors import ProgramError

PROGRAM = "machine_constants"


def measure(said: Callable[[str], None]) -> dict[str, float]:
    """Each constant that is above 0, in the units of corescale/calibration.py. `said` gets a line before each step.

    Takes some 5 s on a machine of one core group. Raises UnavailableError where the program is not built, ProgramError
    where it fails.
    """
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
    found = {name: value for name, value in json.loads(output).items() if isinstance(value, int | float)}
    return {name: float(value) for name, value in found.items() if value > 0}
