# SPDX-License-Identifier: Apache-2.0
"""The command line: one file for each verb. Only this room composes the others, and only it exits."""

import contextlib
import os
import sys

from corescale.errors import CorescaleError, ExitCode


def main() -> None:
    """Entry point of `corescale`; every error a person can cause is one line and a documented exit code."""
    try:
        from corescale.cli.app import app  # noqa: PLC0415  takes long enough for a Ctrl-C
        from corescale.declare.request import joined  # noqa: PLC0415

        app(args=joined(sys.argv[1:]))
    except CorescaleError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        fail("interrupted; what was measured is kept; the same command continues", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)


def fail(line: str, code: ExitCode) -> None:
    """Say one line on stderr and exit."""
    with contextlib.suppress(OSError):
        printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)
        sys.stderr.write(f"corescale: {printable}\n")
    sys.exit(code)
