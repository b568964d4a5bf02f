# SPDX-License-Identifier: Apache-2.0
"""`corescale calibrate`: what it writes, the lab and the library read; what cannot be written is said before."""

import contextlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from corescale import native
from corescale.calibration import CONSTANTS, LOOPS_VARIABLE, VARIABLE, Calibration, file_text, parse, standard_file
from corescale.cli.calibrate import calibrate
from corescale.conclude.block_size.recorded import BEGINS, recorded
from corescale.errors import ExitCode
from corescale.machine import Machine
from corescale.observe import constants
from support import commands


def corescale(*words: str) -> subprocess.CompletedProcess[str]:
    return commands.corescale(*words, cwd=Path("/"), also={"COLUMNS": "400"})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    file = tmp_path_factory.mktemp("calibrated folder") / "calibration"
    done = corescale("calibrate", "--output", str(file))
    doubtful = "doubtful: " in done.stdout
    assert done.returncode == (ExitCode.INCONCLUSIVE if doubtful else ExitCode.OK), done.stderr
    return file, done.stdout


def test_the_file_is_bound_to_this_machine(written: tuple[Path, str]) -> None:
    file, said = written
    found = parse(file.read_text(), str(file))
    assert found.machine == Machine.here().fingerprint()
    assert {"claim_own", "byte", "operation", "clock_ghz", "memory_ns"} <= set(found.values)
    assert found.values["clock_ghz"] < 8, "an operation of several a cycle is none that waits for the one before"
    assert {"claim_own", "byte", "memory_ns"} <= set(found.spreads) <= set(found.values)
    assert bool(found.warning) == ("doubtful: " in written[1]), "what ran beside it is in the file and on the terminal"
    assert f"export {VARIABLE}={file}" in said.replace("\n", "")


def test_the_table_says_what_each_is_for_and_what_follows(written: tuple[Path, str]) -> None:
    file, said = written
    found = parse(file.read_text(), str(file)).values
    assert all(constant.name in said for constant in CONSTANTS if constant.name in found)
    assert "million blocks a second" in said


def test_a_busy_machine_is_calibrated_in_doubt(tmp_path: Path) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            done = corescale("calibrate", "--output", str(tmp_path / "calibration"))
        finally:
            busy.kill()
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    assert "doubtful: other programs used" in done.stdout or "doubtful: the hypervisor took" in done.stdout


def test_a_doubtful_calibration_replaces_a_good_one_only_if_its_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file, here = standard_file(), Machine.here()
    good = Calibration(here.fingerprint(), {"clock_ghz": 1.0}, here.cpus_in_words)

    def written(warning: str, output: Path | None = None) -> tuple[str, float]:
        found = replace(good, values={"clock_ghz": 2.0}, warning=warning)
        monkeypatch.setattr(constants, "measure", lambda machine, said: found)
        with pytest.raises(typer.Exit) if warning else contextlib.nullcontext() as ended:
            calibrate(output, quiet=True)
        assert ended is None or ended.value.exit_code == ExitCode.INCONCLUSIVE
        return capsys.readouterr().out, parse(file.read_text(), "").values["clock_ghz"]

    assert written("busy")[1] == 2.0, "better than none"
    file.write_text(file_text(replace(good, warning="busy"), ""))
    assert written("busy")[1] == 2.0, "the one there is doubtful too"
    file.write_text(file_text(replace(good, machine="another"), ""))
    assert written("busy")[1] == 2.0, "the one there is of another machine"
    file.write_text(file_text(good, ""))
    said, clock = written("busy")
    assert clock == 1.0 and f"kept {file}" in said and "wrote" not in said
    assert written("busy", file)[1] == 2.0
    file.write_text(file_text(good, ""))
    assert written("")[1] == 2.0, "a good one replaces anything"


def test_an_option_of_the_training_alone_is_refused() -> None:
    done = corescale("calibrate", "--out", "folder")
    assert done.returncode == ExitCode.USAGE
    assert "--out: no effect without --train" in done.stderr


def run_loop(file: Path, policy: str = "fixed") -> subprocess.CompletedProcess[str]:
    command = [str(native.find("unit_task")), "--threads", "2", "--affinity", "free", "--repeat-for", "1"]
    command += ["--policy", policy] if policy != "fixed" else []
    environment = os.environ | {VARIABLE: str(file)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_library_reads_it(written: tuple[Path, str]) -> None:
    done = run_loop(written[0])
    assert (done.returncode, done.stderr) == (0, "")


def test_the_library_does_not_use_another_machines_and_says_so(written: tuple[Path, str], tmp_path: Path) -> None:
    here = Machine.here().cpus_in_words
    foreign = tmp_path / "foreign"
    foreign.write_text(written[0].read_text().replace(f"cpus = {here}", "cpus = 4096 x a CPU"))
    done = run_loop(foreign)
    assert done.returncode == 0
    assert f"calibration file {foreign}: is of 4096 x a CPU and not of {here}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_library_refuses_a_broken_one(written: tuple[Path, str], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(written[0].read_text().replace("claim_own = ", "claim_own = -"))
    done = run_loop(broken)
    assert done.returncode == ExitCode.USAGE
    assert f"{broken}:" in done.stderr
    assert done.stderr.count("\n") == 1


def test_trained_weights_are_added_to_the_file_that_is_in_use(written: tuple[Path, str], tmp_path: Path) -> None:
    file = tmp_path / "calibration"
    file.write_text(written[0].read_text())
    loops = [f"--levels={one}" for one in ("threads=2", "read=64", "write=64", "operations=256", "n=64,1024")]
    words = ["calibrate", "--train", "-r", "1", "--quiet", "--out", str(tmp_path), *loops]
    done = commands.corescale(*words, cwd=Path("/"), also={"COLUMNS": "400", VARIABLE: str(file)})
    assert done.returncode == 0, done.stderr
    before, after = (parse(one.read_text(), str(one)).values for one in (written[0], file))
    assert {*after} - {*before} == {"trained_near", "trained_spread"} and before.items() <= after.items()
    assert all(row in done.stdout for row in ("trained", "N / B L + O(N) / T", "line travel", "held out by case"))
    assert run_loop(file).returncode == 0, "the library reads them"


def test_a_program_records_its_loops_and_weights_are_trained_on_them(written: tuple[Path, str], tmp_path: Path) -> None:
    """Two commands: the program with the variable, and calibrate --train with the file; then `trained` reads them."""
    loops, file = tmp_path / "loops.csv", tmp_path / "calibration"
    file.write_text(written[0].read_text())
    program = [str(native.find("unit_task")), "--threads", "2", "--affinity", "free", "--policy", "auto"]
    for n in ("64", "1024"):
        words = [*program, "--n", n, "--operations", "256", "--read", "64", "--write", "64", "--repeat-for", "100"]
        subprocess.run(words, env=os.environ | {LOOPS_VARIABLE: str(loops)}, check=True, capture_output=True)
    seen = recorded(loops.read_text(), str(loops), Machine.here().cpus_in_words, 1)
    assert {(column.platform, column.case.iterations) for column in seen.columns} == {
        ("unit_task", 64),
        ("unit_task", 1024),
    }
    done = commands.corescale(
        "calibrate", "--train", str(loops), cwd=Path("/"), also={"COLUMNS": "400", VARIABLE: str(file)}
    )
    assert done.returncode == 0, done.stderr
    before, after = (parse(one.read_text(), str(one)).values for one in (written[0], file))
    assert {*after} - {*before} == {"trained_near", "trained_spread"} and before.items() <= after.items()
    assert all(row in done.stdout for row in ("unit_task", "N / B L + O(N) / T", "line travel", "held out by case"))
    assert "published" not in done.stdout, "the bytes of an iteration are not known"
    assert run_loop(file, "trained").returncode == 0, "the library reads them"


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["calibrate", "LOOPS"], "", "LOOPS: no effect without --train"),
        (["calibrate", "--train", "LOOPS"], None, f"run your program with {LOOPS_VARIABLE}="),
        (["calibrate", "--train", "LOOPS"], "a,b\n", "has no recorded loops"),
        (["calibrate", "--train", "LOOPS", "-r", "2"], "", "is not launched"),
        (["calibrate", "--train", "LOOPS"], f"{BEGINS}4096 x a CPU\n", "record the loops on the machine"),
    ],
)
def test_loops_that_cannot_be_trained_on_are_refused(
    words: list[str], text: str | None, said: str, tmp_path: Path
) -> None:
    loops = tmp_path / "loops.csv"
    if text is not None:
        loops.write_text(text)
    done = corescale(*(str(loops) if word == "LOOPS" else word for word in words))
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = corescale("calibrate", "--output", str(tmp_path / "file" / "calibration"))
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "file") in done.stderr
