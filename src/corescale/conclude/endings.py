# SPDX-License-Identifier: Apache-2.0
"""How a launch that does not count ended, in words, with the last thing that it said."""

from corescale.records import Record

SPEAKING = ("failed", "signal", "not-started")
"""whose last line is likely to be the reason"""


def ending(record: Record) -> str:
    """`failed (exit 7): cannot open grid.dat`, `killed by signal 11`, `wrote another output than today's launch`."""
    said = next((line.strip() for line in reversed(record.tail.splitlines()) if line.strip()), "")
    return f"{_how(record)}: {said}" if said and record.status in SPEAKING else _how(record)


def _how(record: Record) -> str:
    broken = ", ".join(name for name, ok in record.checks.items() if not ok)
    return {
        "ok": "succeeded",
        "failed": f"failed (exit {record.exit_code})",
        "signal": f"killed by signal {abs(record.exit_code)}",
        "timeout": f"did not end within {record.wall:.3g} s",
        "not-started": "could not be started",
        "check": f"broke its own check {broken}".strip(),
        "output-differs": "wrote another output than today's launch",
        "capped": f"lost: killed after {record.wall:.3g} s",
    }[record.status]
