# SPDX-License-Identifier: Apache-2.0
"""Scripts of the repository, run in this process: what they import is loaded once for all tests."""

import contextlib
import io
import runpy
import sys
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock


def script(file: Path, *words: str) -> CompletedProcess[str]:
    """The script with these arguments, and how it ended; raises what it does not catch itself."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        with (
            mock.patch.object(sys, "argv", [str(file), *words]),
            mock.patch.object(sys, "path", [str(file.parent), *sys.path]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        err.write("" if isinstance(end.code, int | None) else f"{end.code}\n")
    return CompletedProcess([str(file), *words], code, out.getvalue(), err.getvalue())
