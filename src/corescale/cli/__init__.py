# SPDX-License-Identifier: Apache-2.0
"""The command line: one file for each verb. Only this package exits and writes standard output."""

import sys

try:
    import contextlib
    import errno
    import mmap
    import os
    import time
    import traceback
    from pathlib import Path

    from corescale.cli import interruptions
    from corescale.errors import CorescaleError, ExitCode, spelt
except KeyboardInterrupt:  # these imports are most of the time before main
    sys.stderr.write("corescale: interrupted\n")
    sys.exit(130)

LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""error numbers of a system that has no more files, memory or processes"""

INTERRUPTED = "interrupted"
KEPT = f"{INTERRUPTED}; what was measured is kept"

HALF = 700
"""characters of each half of an error that is shortened"""

_began: list[float] = []
_measured: list[bool] = []


def began() -> float | None:
    """The start of this process by the monotonic clock, from which budgets count; None if another program imported
    this."""
    return _began[0] if _began else None


def measured() -> None:
    """From now on, an error that ends the command says that what was measured is kept."""
    _measured.append(True)


def kept() -> str:
    """What an error adds if something was measured by now."""
    return "; what was measured is kept (corescale report)" if _measured else ""


def main() -> None:
    """Entry point of `corescale`; every error a person can cause is one line and a documented exit code."""
    try:
        _began.append(time.monotonic())
        _have_one_thread()
        sys.set_int_max_str_digits(0)  # numbers of any length are read, and refused with a reason
        interruptions.install()
        _must_have_room()
        sys.exit(_run(sys.argv[1:]))
    except KeyboardInterrupt as end:
        fail(_interrupted(), interruptions.exit_code(end))
    except Exception as error:
        if os.strerror(errno.ENOENT) in str(error) and _folder_is_gone():
            fail("the working folder was removed; cd to a folder that is there", ExitCode.STORE)
        if isinstance(error, CorescaleError):
            fail(str(error), error.exit_code)
        if isinstance(error.__cause__, KeyboardInterrupt):  # as typer passes it on
            fail(_interrupted(), interruptions.exit_code(error.__cause__))
        if isinstance(error, ImportError):
            remedy = "raise ulimit -v, or install corescale again"
            fail(f"a part cannot be loaded: {error}; {remedy}", ExitCode.UNAVAILABLE)
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in LACKING):
            why = error.strerror if isinstance(error, OSError) else os.strerror(errno.ENOMEM)
            remedy = "raise the limit (ulimit -a shows all), or end other programs"
            fail(f"the system gives no more: {why}; {remedy}", ExitCode.UNAVAILABLE)
        fail(_defect(error), ExitCode.INTERNAL)


def _folder_is_gone() -> bool:
    """Whether the working folder was removed, so that no path in it is known."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


ROOM = 256 << 20
"""bytes of address space that must be free; loading the libraries takes somewhat more"""


def _must_have_room() -> None:
    """Raises OSError if there is less: OpenBLAS would end this process with an exit code of its own."""
    mmap.mmap(-1, ROOM, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ).close()


def _have_one_thread() -> None:
    """Makes OpenBLAS, which is loaded later, start no threads: if it could not start them, it would interrupt this
    process.

    Only the C library's copy of the environment is changed. Programs are started with `os.environ`, which stays as the
    shell gave it.
    """
    os.putenv("OPENBLAS_NUM_THREADS", "1")


def _run(words: list[str]) -> int:
    """The exit status of a command line. A Ctrl-C may come during the imports, because they take long."""
    from corescale.cli import streams, usage_errors  # noqa: PLC0415
    from corescale.cli.app import app  # noqa: PLC0415
    from corescale.declare.request import joined  # noqa: PLC0415

    streams.install(kept)
    try:
        code = app(args=joined(words), prog_name="corescale", standalone_mode=False)
        sys.stdout.flush()
    except usage_errors.Unreadable as error:
        if not error.format_message():  # only a group of verbs was typed: its help was printed
            return ExitCode.USAGE
        fail(usage_errors.line(error, words), ExitCode.USAGE)
    if code == ExitCode.INTERRUPTED:  # typer's code for a KeyboardInterrupt
        raise interruptions.last()
    return int(code or 0)


def _interrupted() -> str:
    """The message of an interruption before or after a run; InterruptedRunError has the one within a run."""
    return KEPT if _measured else INTERRUPTED


def _defect(error: Exception) -> str:
    """What happened and where, for a bug report. (Python's own exit code 1 would mean a regression.)"""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"a defect in corescale: {what} (at {where}); please report it with the command"


def _short(line: str) -> str:
    """The line, without its middle if a long argument makes it fill the screen. Reason and remedy are kept."""
    return line if len(line) <= 2 * HALF else f"{line[:HALF]} ... {line[-HALF:]}"


def fail(line: str, code: ExitCode) -> None:
    """Say one line on stderr and exit."""
    with contextlib.suppress(OSError):
        printable = "".join(c if c.isprintable() else spelt(c) for c in _short(line).expandtabs(1))
        sys.stderr.write(f"corescale: {printable}\n")
    sys.exit(code)
