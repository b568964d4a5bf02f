# SPDX-License-Identifier: Apache-2.0
"""doctor: what is found, what is refused, what is noisy, and how it is shown."""

import dataclasses
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from corescale import native
from corescale.calibration import VARIABLE, Calibration, file_text
from corescale.errors import UnavailableError
from corescale.machine import Cpu, Machine
from corescale.observe.doctor import (
    Diagnosis,
    DoctorWarning,
    Installed,
    doctor,
    quietness,
    startable,
    warnings,
)
from corescale.observe.doctor.quietness import Quietness
from corescale.observe.launchers.direct import Direct
from corescale.show.doctor import render, to_json

SILENT = Quietness(0.002, 0.001, 0.0001, 0.0, 0.0, 2.0, 0.1, 1.01)


def test_silence_is_quiet() -> None:
    assert SILENT.level == "quiet"
    assert SILENT.verdict == "quiet: expect about 0.1% per launch of 1 s, 0.2% of 20 ms"


FIELDS = ("launch_noise", "longest_gap", "steal", "others", "switches", "slowdown")


@pytest.mark.parametrize(("field", "rule"), list(zip(FIELDS, quietness.RULES, strict=True)))
def test_each_rule_alone_decides(field: str, rule: quietness.Rule) -> None:
    numbers = (rule.quiet, rule.usable, rule.usable * 1.01)
    levels = [dataclasses.replace(SILENT, **{field: x}).level for x in numbers]
    assert levels == ["quiet", "usable", "noisy"]


def run(*pieces: float, start: float = 0.0) -> quietness._Run:
    ends = [start]
    for piece in pieces:
        ends.append(ends[-1] + piece)
    return quietness._Run(tuple(ends), 0, 1.0)


def test_equal_pieces_do_not_vary() -> None:
    even = run(*[0.001] * 400)
    assert even.variation(0.02) == pytest.approx(0, abs=1e-9)
    assert even.longest_gap == pytest.approx(0, abs=1e-9)
    assert quietness.launch_noise([even]) == pytest.approx(0, abs=1e-9)


def test_variation_and_gap_of_a_known_series() -> None:
    """Windows of 20 ms and 40 ms in turn: mean 30, standard deviation 10 sqrt(n/(n-1))."""
    series = run(*([0.001] * 20 + [0.002] * 19 + [0.002]) * 10 + [0.001] * 20)
    windows = 21
    mean = (11 * 20 + 10 * 40) / windows
    deviation = math.sqrt((11 * (20 - mean) ** 2 + 10 * (40 - mean) ** 2) / (windows - 1))
    assert series.variation(0.02) == pytest.approx(deviation / mean)
    assert run(*[0.001] * 50, 0.031, *[0.001] * 50).longest_gap == pytest.approx(0.030)


def test_noise_of_too_few_pieces_for_the_window_is_not_none() -> None:
    assert quietness.launch_noise([run(0.02, 0.06, 0.02)]) > 0.01


def test_independent_noise_shrinks_with_the_root_of_time() -> None:
    """Pieces of 10 ms with 10% noise: 1 s has 100 of them, so 1%."""
    import random  # noqa: PLC0415

    draw = random.Random(7)
    noisy = run(*(max(0.001, draw.gauss(0.01, 0.001)) for _ in range(5000)))
    assert quietness.launch_noise([noisy]) == pytest.approx(0.01, rel=0.15)


def test_slowdown_of_two_that_share_one_core() -> None:
    alone = {0: run(*[0.001] * 100), 1: run(*[0.001] * 100)}
    shared = {0: run(*[0.002] * 100, start=5.0), 1: run(*[0.002] * 100, start=5.01)}
    assert quietness.slowdown(alone, shared) == pytest.approx(2.0)
    assert quietness.slowdown(alone, {0: alone[0], 1: run(0.001, start=9.0)}) == 1.0  # never at once


def machine(**changes: object) -> Machine:
    here = Machine.here(Path("/nonexistent"))
    cpus = tuple(Cpu(c, c // 2, 0, 0, 0) for c in range(16))
    return dataclasses.replace(here, cpus=cpus, affinity=tuple(range(16)), **changes)  # type: ignore[arg-type]


def test_cores_are_tried_one_thread_each_and_at_most_four() -> None:
    assert quietness._chosen(machine()) == [0, 4, 8, 12]
    siblings = dataclasses.replace(machine(), affinity=(6, 7))
    assert quietness._chosen(siblings) == [6, 7]


@pytest.mark.parametrize(
    ("changes", "environment", "says"),
    [
        ({"quota_cores": 1.5}, {}, "more threads than 1 are throttled"),
        ({}, {}, "16 CPUs share 8 cores"),
        ({"governor": "powersave"}, {}, "governor is powersave"),
        ({"turbo": True}, {}, "turbo is on"),
        ({}, {"SLURM_CPUS_PER_TASK": "4"}, "asked for 4 CPUs for each task, but 16"),
        ({}, {"LD_PRELOAD": "libx.so"}, "LD_PRELOAD=libx.so"),
    ],
)
def test_warnings(changes: dict[str, object], environment: dict[str, str], says: str) -> None:
    found = warnings.collect(machine(**changes), (), SILENT, environment)
    assert [warning for warning in found if says in warning.what and warning.remedy]


def test_a_plain_machine_leaves_no_warning() -> None:
    plain = dataclasses.replace(machine(), affinity=(0, 2, 4, 6))
    assert warnings.collect(plain, (), SILENT, {"SLURM_CPUS_PER_TASK": "4"}) == ()


def test_a_calibration_beside_other_programs_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, file = dataclasses.replace(machine(), affinity=(0, 2, 4, 6)), tmp_path / "calibration"
    monkeypatch.setenv(VARIABLE, str(file))
    made = Calibration(plain.fingerprint(), {"claim_own": 8.0}, warning="other programs used 1.32 cores")
    file.write_text(file_text(made, "a machine"))
    (warning,) = warnings.collect(plain, (), SILENT, {})
    assert warning.what == "while this machine was calibrated, other programs used 1.32 cores"
    file.write_text("format = 9\n")
    (broken,) = warnings.collect(plain, (), SILENT, {})
    assert "is of format 9" in broken.what and "calibrate" in broken.remedy


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    return doctor()


def test_the_whole_doctor(diagnosis: Diagnosis) -> None:
    seen = diagnosis.quietness
    assert seen is not None
    assert (seen.slowdown is None) == (len(diagnosis.machine.affinity) == 1)
    assert 0 <= seen.steal <= 1
    assert seen.variation > 0
    assert seen.longest_gap > 0


def test_progress_rises_to_one() -> None:
    seen: list[float] = []
    quietness.measure(Machine.here(), lambda what, done: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_without_the_noise_test() -> None:
    assert doctor(noise=False).quietness is None


def test_a_busy_second_core_is_seen() -> None:
    """Two hogs on every allowed CPU displace the work, which no quiet machine does."""
    here = Machine.here()
    hog = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    hogs = [subprocess.Popen([sys.executable, "-c", hog, str(cpu)]) for cpu in here.affinity[:4] * 2]
    try:
        seen = quietness.measure(dataclasses.replace(here, affinity=here.affinity[:4]))
    finally:
        for one in hogs:
            one.kill()
            one.wait()
    assert seen.level == "noisy"
    assert seen.others > 0.5
    assert seen.longest_gap > 0.001


def shown(diagnosis: Diagnosis, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render(diagnosis))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_one_screen_names_what_is_missing(diagnosis: Diagnosis) -> None:
    gone = Installed("MPI", "Open MPI", "launching ranks", None, None, "apt-get install openmpi-bin")
    text = shown(dataclasses.replace(diagnosis, installed=(gone,), warnings=()))
    assert "apt-get install openmpi-bin" in text
    assert len(text.splitlines()) <= 40
    assert all(len(line) <= 100 for line in text.splitlines())


def test_what_can_be_started_is_for_the_launchers_to_say(diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagnosis.launchers["direct"] == ("threads",)
    assert "direct (threads)" in shown(diagnosis)
    assert "fake" not in diagnosis.launchers
    monkeypatch.setattr(Direct, "cannot", classmethod(lambda _, layout: "no" if layout.p > 1 else None))
    assert startable()["direct"] == ()
    assert "direct (nothing)" in shown(dataclasses.replace(diagnosis, launchers=startable()))


def test_foreign_text_is_never_obeyed(diagnosis: Diagnosis) -> None:
    evil = "[red]x[/red] \x1b[2J\n"
    bad = dataclasses.replace(
        diagnosis,
        machine=dataclasses.replace(diagnosis.machine, hostname=evil, cpu_model=evil, governor=evil),
        installed=(
            Installed("tools", evil, "", Path("/x"), evil, None),
            Installed("MPI", evil, evil, None, None, evil),
        ),
        slurm={"SLURM_JOB_ID": evil},
        warnings=(DoctorWarning(evil, evil),),
    )
    text = shown(bad)
    assert "\x1b" not in text
    assert "[red]x[/red]" in text
    assert json.loads(to_json(bad))["machine"]["hostname"] == evil


def test_json_holds_everything(diagnosis: Diagnosis) -> None:
    values = json.loads(to_json(diagnosis))
    assert values["machine"]["fingerprint"] == diagnosis.machine.fingerprint()
    assert values["machine"]["default_max_threads"] == diagnosis.machine.default_max_threads
    assert diagnosis.quietness is not None
    assert values["quietness"]["verdict"] == diagnosis.quietness.verdict
    assert [item["name"] for item in values["installed"]] == [item.name for item in diagnosis.installed]


def test_a_full_folder_for_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.statvfs_result((4096, 4096, 1000, 0, 0, 1000, 1000, 1000, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/full")
    assert warnings.collect(machine(), (), SILENT, {})[0].what == "no room in /full: what a launch reports is lost"


def test_no_folder_for_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert warnings.collect(machine(), (), SILENT, {})[0].what == "no folder for temporary files can be written"


@pytest.mark.parametrize(("most", "user", "doubtful"), [(64, 1000, True), (64, 0, False), (60_000, 1000, False)])
def test_few_processes_for_this_user_are_named(
    most: int, user: int, doubtful: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (most, most))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    said = [warning.what for warning in warnings.collect(machine(), (), SILENT, {})]
    assert any(what.startswith("ulimit -u is 64: ") for what in said) is doubtful


def test_a_wheel_without_native_parts_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORESCALE_NATIVE", raising=False)
    monkeypatch.setattr(native, "_PACKAGE", tmp_path / "site-packages" / "corescale")
    with pytest.raises(UnavailableError, match="installed without its native parts; install it by its wheel"):
        native.find("corescale-spawn")
