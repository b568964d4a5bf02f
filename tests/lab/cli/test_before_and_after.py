# SPDX-License-Identifier: Apache-2.0
"""What is checked before anything is measured, and how the command ends from outside."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from corescale.cli.dry_run import dry_run
from corescale.cli.output import NO_WIDTH, console
from corescale.declare import command_line
from corescale.declare.request import ScanRequest
from corescale.errors import ExitCode, ProgramError, StoreError, UsageError
from corescale.machine import Machine
from corescale.observe import hooks
from corescale.show import files
from support.commands import ROOT


@pytest.mark.parametrize("option", ["input", "output"])
def test_a_dry_run_checks_the_files_of_the_launches(tmp_path: Path, option: str) -> None:
    request = ScanRequest(threads="1", **{option: str(tmp_path / "no" / "where")})  # type: ignore[arg-type]
    experiment = command_line.scan(request, ["cat"], Machine.here())
    with pytest.raises(UsageError, match=f"--{option} .*: no such f"):
        dry_run(experiment, request, Machine.here())


@pytest.mark.parametrize("hook", ["setup", "prepare", "conclude", "cleanup"])
def test_a_dry_run_looks_for_the_programs_of_hooks(tmp_path: Path, hook: str) -> None:
    request = ScanRequest(threads="1", out=str(tmp_path), **{hook: "no-such-hook at all"})  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=f"--{hook} no-such-hook at all: cannot be started: No such file"):
        dry_run(command_line.scan(request, ["cat"], Machine.here()), request, Machine.here())


def test_a_hook_that_setup_makes_is_not_looked_for(tmp_path: Path) -> None:
    request = ScanRequest(threads="1", setup="true", prepare="./made-by-setup")
    hooks.must_start(command_line.scan(request, ["cat"], Machine.here()))


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/none"])
def test_a_dry_run_says_that_no_run_can_be_kept_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    request = ScanRequest(threads="1", out=out)
    with pytest.raises(StoreError, match=f"{out}: cannot be written: "):
        dry_run(command_line.scan(request, ["cat"], Machine.here()), request, Machine.here())


def forbidden(**_: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_an_export_to_a_file_in_a_folder_that_may_not_be_written_is_refused_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put in the place of the file, which needs the folder."""
    target = tmp_path / "there.csv"
    target.write_text("")
    files.must_be_writable(str(target))
    monkeypatch.setattr(tempfile, "TemporaryFile", forbidden)
    with pytest.raises(UsageError, match=r"there\.csv: cannot be written: Permission denied"):
        files.must_be_writable(str(target))
    for stream in ("-", "/dev/stdout", "/dev/null"):
        files.must_be_writable(stream)


ENDED = """
import os, signal, sys
from corescale import cli
from corescale.cli import app
app.typer.echo = lambda *_: os.kill(os.getpid(), signal.{name})
{before}
sys.argv = ["corescale", "version"]
cli.main()
"""


@pytest.mark.parametrize(
    ("before", "said"), [("", "interrupted"), ("cli.measured()", "interrupted; what was measured is kept")]
)
@pytest.mark.parametrize(
    ("name", "code"),
    [("SIGTERM", ExitCode.TERMINATED), ("SIGHUP", ExitCode.HANGUP), ("SIGINT", ExitCode.INTERRUPTED)],
)
def test_a_signal_outside_of_a_run_is_said_and_has_its_code(name: str, code: ExitCode, before: str, said: str) -> None:
    """While corescale starts, in a verb that keeps no run, and while a report is drawn behind one."""
    done = subprocess.run(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
         "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # under nohup it is ignored, and stays so
         + ENDED.format(name=name, before=before)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stderr == f"corescale: {said}\n"


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            "OSError(errno.EMFILE, 'Too many open files')",
            ExitCode.UNAVAILABLE,
            "the system gives no more: Too many open files; raise the limit",
        ),
        ("RuntimeError('wrong')", ExitCode.INTERNAL, "a defect in corescale: RuntimeError: wrong (at "),
    ],
)
def test_what_a_system_lacks_is_no_defect_and_a_defect_has_its_code(raised: str, code: ExitCode, said: str) -> None:
    full = (
        ENDED.replace("os.kill(os.getpid(), signal.{name})", "fail()")
        .replace("{before}", "")
        .replace(
            "import os, signal, sys",
            f"import errno, os, sys\ndef fail(): raise {raised}",
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", full],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(f"corescale: {said}")


def test_a_terminal_that_knows_no_width_has_a_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert console().width == console(stderr=True).width == NO_WIDTH
