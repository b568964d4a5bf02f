# SPDX-License-Identifier: Apache-2.0
"""doctor: what is found, what is refused, what is noisy, and how it is shown."""

import dataclasses
import io
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from corescale import native
from corescale.declare.catalogue import allocators, elf
from corescale.errors import CorescaleError, UnavailableError, UsageError
from corescale.machine import Cpu, Machine
from corescale.observe.doctor import (
    Diagnosis,
    Doubt,
    Installed,
    doctor,
    doubts,
    installed,
    permissions,
    quietness,
    startable,
)
from corescale.observe.doctor.quietness import Quietness
from corescale.observe.launchers.direct import Direct
from corescale.show.doctor import render, to_json

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def shared_object(folder: Path, name: str) -> Path:
    path = folder / name
    source = "#include <stddef.h>\nvoid *malloc(size_t n) { (void)n; return NULL; }\n"
    command = [str(COMPILER), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=source.encode(), check=True)
    return path


@pytest.mark.parametrize("name", allocators.ALLOCATORS)
def test_every_allocator_is_found_or_says_how_to_get_it(name: str) -> None:
    found = allocators.find(name)
    if found is not None:
        assert elf.refusal(found) is None
        assert allocators.locate(name) == found
    elif name != "system":
        with pytest.raises(UnavailableError, match=r"apt-get install|build"):
            allocators.locate(name)


@needs_compiler
@pytest.mark.parametrize("name", [name for name in allocators.ALLOCATORS if name != "system"])
def test_an_allocator_is_found_by_its_soname_in_the_library_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shared_object(tmp_path, allocators.ALLOCATORS[name].libraries[0].replace("*", ""))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nonexistent:{tmp_path}")
    assert allocators.find(name) == library.resolve()


@needs_compiler
def test_a_broken_library_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "libhoard.so").write_text("INPUT(libhoard.so.1)")
    (tmp_path / "b").mkdir()
    library = shared_object(tmp_path / "b", "libhoard.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert allocators.locate("Hoard") == library.resolve()


@needs_compiler
def test_any_path_of_a_shared_object_will_do(tmp_path: Path) -> None:
    library = shared_object(tmp_path, "my_allocator.so")
    assert allocators.locate(str(library)) == library


def test_a_path_that_ld_preload_cannot_carry_is_a_usage_error(tmp_path: Path) -> None:
    library = shared_object(tmp_path, "my allocator.so")
    with pytest.raises(UsageError, match="blank or colon"):
        allocators.locate(str(library))


@pytest.mark.parametrize("path", ["/bin/true", "/etc/passwd", "/", "/nonexistent/liba.so", "liba.so"])
def test_a_path_of_no_shared_object_is_a_usage_error(path: str) -> None:
    with pytest.raises(UsageError, match=r"\.so file"):
        allocators.locate(path)


@pytest.mark.parametrize("name", ["mimaloc", "system", "", "nothing"])
def test_a_name_of_no_allocator_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError):
        allocators.locate(name)


def test_the_nearest_allocator_is_suggested() -> None:
    with pytest.raises(CorescaleError, match="did you mean mimalloc"):
        allocators.locate("mimaloc")


@needs_compiler
@pytest.mark.parametrize("cut", [3, 5, 16, 40, 63, 64, 100, 5000])
def test_a_truncated_shared_object_is_none(tmp_path: Path, cut: int) -> None:
    content = shared_object(tmp_path, "libx.so").read_bytes()
    (tmp_path / "cut.so").write_bytes(content[:cut])
    assert elf.refusal(tmp_path / "cut.so") == "no shared object"


@needs_compiler
def test_a_shared_object_of_another_machine_is_refused(tmp_path: Path) -> None:
    content = bytearray(shared_object(tmp_path, "libx.so").read_bytes())
    content[18] ^= 0x55
    (tmp_path / "other.so").write_bytes(content)
    assert elf.refusal(tmp_path / "other.so") == "a shared object for another kind of machine"


def test_a_folder_of_ldconfig_counts_once() -> None:
    listing = "2 libs found\n\tlibx.so.1 (libc6,x86-64) => /a/libx.so.1\n\tliby.so (libc6) => /a/liby.so\n\tz => /b/z\n"
    assert allocators.ldconfig_folders(listing) == (Path("/a"), Path("/b"))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("mpirun (Open MPI) 4.1.4", "4.1.4"),
        ("HYDRA build details:\n    Version:    4.0.2\n", "4.0.2"),
        ("slurm 22.05.8", "22.05.8"),
        ("nothing", None),
    ],
)
def test_version_in(text: str, version: str | None) -> None:
    assert installed.version_in(text) == version


@pytest.mark.parametrize(
    ("debian", "plain"),
    [("1:14.0.6-12", "14.0.6"), ("2.0.9+ds-2", "2.0.9"), ("5.3.0-1", "5.3.0"), ("2.10", "2.10")],
)
def test_plain_version(debian: str, plain: str) -> None:
    assert installed.plain_version(debian) == plain


def test_owner_of() -> None:
    assert installed.owner_of("libx1:amd64, libx1:i386: /usr/lib/libx.so") == ("/usr/lib/libx.so", "libx1")


def program(folder: Path, name: str, says: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_two_mpis_under_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpirun = program(tmp_path, "mpirun", "mpirun (Open MPI) 4.1.4")
    hydra = program(tmp_path, "mpiexec.hydra", "HYDRA build details: Version: 4.0.2")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {item.name: (item.path, item.version) for item in installed.survey()}
    assert found["Open MPI"] == (mpirun, "4.1.4")
    assert found["MPICH"] == (hydra, "4.0.2")


def test_every_component_is_here_or_says_how_to_get_it() -> None:
    names = [item.name for item in installed.survey()]
    assert names == [*allocators.ALLOCATORS, *(one.name for one in installed.COMPONENTS), *installed.NATIVE]
    for item in installed.survey():
        assert (item.path is None) == (item.remedy is not None)
        assert item.path is None or item.path.exists()


def test_counters_follow_the_kernels_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    level = tmp_path / "proc/sys/kernel/perf_event_paranoid"
    level.parent.mkdir(parents=True)
    allowed = {}
    for text in ("-1", "2", "3"):
        level.write_text(text)
        allowed[text] = permissions.survey(tmp_path)[2].allowed
    assert allowed == {"-1": True, "2": True, "3": False}


def test_a_read_only_memory_group_is_not_allowed(tmp_path: Path) -> None:
    assert not permissions.survey(tmp_path)[1].allowed


SILENT = Quietness(0.002, 0.001, 0.0001, 0.0, 0.0, 2.0, 0.1, 1.01, (0, 1))


def test_silence_is_quiet() -> None:
    assert SILENT.level == "quiet"
    assert SILENT.verdict == "quiet: expect about 0.1% per launch of 1 s, 0.2% of 20 ms"


FIELDS = ("launch_noise", "longest_gap", "steal", "others", "switches", "slowdown")


@pytest.mark.parametrize(("field", "rule"), list(zip(FIELDS, quietness.RULES, strict=True)))
def test_each_rule_alone_decides(field: str, rule: quietness.Rule) -> None:
    numbers = (rule.quiet, rule.usable, rule.usable * 1.01)
    levels = [dataclasses.replace(SILENT, **{field: x}).level for x in numbers]  # type: ignore[arg-type]
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
        ({"quota_cores": 1.5}, {}, "not a whole number"),
        ({}, {}, "16 CPUs share 8 cores"),
        ({"governor": "powersave"}, {}, "governor is powersave"),
        ({"turbo": True}, {}, "turbo is on"),
        ({}, {"SLURM_CPUS_PER_TASK": "4"}, "asked for 4 CPUs for each task, but 16"),
        ({}, {"LD_PRELOAD": "libx.so"}, "LD_PRELOAD=libx.so"),
    ],
)
def test_doubts(changes: dict[str, object], environment: dict[str, str], says: str) -> None:
    found = doubts.collect(machine(**changes), (), SILENT, environment)
    assert [doubt for doubt in found if says in doubt.what and doubt.remedy]


def test_a_plain_machine_leaves_no_doubt() -> None:
    plain = dataclasses.replace(machine(), affinity=(0, 2, 4, 6))
    assert doubts.collect(plain, (), SILENT, {"SLURM_CPUS_PER_TASK": "4"}) == ()


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    return doctor()


def test_the_whole_doctor(diagnosis: Diagnosis) -> None:
    seen = diagnosis.quietness
    assert seen is not None
    assert set(seen.cores_tried) <= set(diagnosis.machine.affinity)
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
    render(diagnosis, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_one_screen_names_what_is_missing(diagnosis: Diagnosis) -> None:
    gone = Installed("MPI", "Open MPI", "launching ranks", None, None, "apt-get install openmpi-bin")
    text = shown(dataclasses.replace(diagnosis, installed=(gone,), doubts=()))
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
        doubts=(Doubt(evil, evil),),
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
    assert doubts.collect(machine(), (), SILENT, {})[0].what == "no room in /full: what a launch reports is lost"


def test_no_folder_for_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert doubts.collect(machine(), (), SILENT, {})[0].what == "no folder for temporary files can be written"


@pytest.mark.parametrize(("most", "user", "doubtful"), [(64, 1000, True), (64, 0, False), (60_000, 1000, False)])
def test_few_processes_for_this_user_are_named(
    most: int, user: int, doubtful: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (most, most))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    said = [doubt.what for doubt in doubts.collect(machine(), (), SILENT, {})]
    assert any(what.startswith("ulimit -u is 64: ") for what in said) is doubtful


def test_a_wheel_without_native_parts_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORESCALE_NATIVE", raising=False)
    monkeypatch.setattr(native, "_PACKAGE", tmp_path / "site-packages" / "corescale")
    with pytest.raises(UnavailableError, match="installed without its native parts; install it by its wheel"):
        native.find("corescale-spawn")
