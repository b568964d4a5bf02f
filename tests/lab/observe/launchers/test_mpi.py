# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one launcher, by real ranks)
"""Ranks by a real mpirun: bound, proved and accounted one by one, and gone when the launch is over."""

import dataclasses
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from corescale.conclude.answers.scaling import scan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.errors import PreloadError, ProgramError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.observe.launchers.mpi import Mpi
from corescale.observe.launchers.spawning import STOPPED
from corescale.observe.run import run
from corescale.observe.watcher import Watcher
from corescale.records import Record
from support.mpi import compiled, needs_mpi
from support.policies import blocks
from support.processes import FIXTURE

Make = Callable[..., Experiment]
SHARED = Path("/dev/shm")
PATIENCE = 120
"""seconds for what takes one or two on a machine that does nothing else"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("mpi"))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither a file of Open MPI's nor a process, whatever the test did. Its session would be in TMPDIR by itself."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(SHARED.iterdir())
    yield
    left = {path for path in set(SHARED.iterdir()) - before if "vader" in path.name or "corescale" in path.name}
    end = time.monotonic() + PATIENCE
    while any(path.exists() for path in left) and time.monotonic() < end:
        time.sleep(0.1)  # somebody else's ranks, on a machine that others test on too
    assert not [path for path in left if path.exists()]
    assert not list(tmp_path.glob("ompi.*"))


def measured(e: Experiment, machine: Machine, count: int = 1, watcher: Watcher | None = None) -> Sequence[Record]:
    return run(e, store.Memory(), Mpi(e, machine), blocks(e, count), watcher)


def failing(e: Experiment, by: Machine | Direct) -> Record:
    """What one launch gave that is not to succeed."""
    held = store.Memory()
    with pytest.raises(ProgramError):
        run(e, held, by if isinstance(by, Direct) else Mpi(e, by), blocks(e, 1))
    (record,) = held.abandoned
    return record


class Notes(Watcher):
    """What is said to a person."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def by_layout(records: Sequence[Record]) -> dict[str, Record]:
    return {str(r.configuration.layout): r for r in records}


@needs_mpi
def test_ranks_are_started_and_distinguishable(experiment: Make, two_cores: Machine, program: str) -> None:
    records = measured(experiment(program, levels={"ranks": (1, 2)}), two_cores)
    one, two = (by_layout(records)[layout] for layout in ("1x1x1", "1x2x1"))
    assert (one.status, two.status) == ("ok", "ok")
    assert (one.metrics["ranks"], two.metrics["ranks"], two.metrics["sum"]) == (1, 2, 1)
    assert (one.threads_asked, two.threads_asked) == (1, 2)
    assert [p.rank for p in two.processes] == [0, 1]
    assert [(r.name, r.rank, r.calls) for r in two.regions] == [("reduce", 0, 1), ("reduce", 1, 1)]
    assert two.work == 2
    first, second = two.processes
    assert second.peak_memory - first.peak_memory == pytest.approx(8 << 20, rel=0.25)
    assert all(0 < p.user + p.system < two.user + two.system for p in two.processes)
    assert {Path(p.executable) for p in two.processes} == {Path(program)}


@needs_mpi
def test_each_rank_has_cores_of_its_own_as_the_line_that_is_shown_binds_them(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    e = experiment("sh", "-c", "taskset -p $$ >&2", levels={"layout": ("1x2x1", "2x1x1", "2x2x1")}, timeout=60)
    launcher = Mpi(e, two_cores)
    records = by_layout(run(e, store.Memory(), launcher, blocks(e, 1)))
    bound = {layout: [p.affinity for p in r.processes] for layout, r in records.items()}
    assert bound == {"1x2x1": [(0,), (1,)], "2x1x1": [(0, 1)], "2x2x1": [(0, 1), (0, 1)]}
    assert {layout: r.oversubscribed for layout, r in records.items()} == {
        "1x2x1": False,
        "2x1x1": False,
        "2x2x1": True,
    }
    for chosen in configurations(e):
        said = subprocess.run(["sh", "-c", launcher.line(chosen)], capture_output=True, text=True, check=True)
        masks = sorted(line.split(": ")[1] for line in said.stderr.splitlines() if "affinity mask" in line)
        wanted = sorted(f"{sum(1 << cpu for cpu in cpus):x}" for cpus in bound[str(chosen.layout)])
        assert masks == wanted


@needs_mpi
def test_a_mask_is_kept_which_mpirun_by_itself_leaves_out(experiment: Make, two_cores: Machine) -> None:
    masked = dataclasses.replace(two_cores, affinity=(1,))
    e = experiment("sh", "-c", "taskset -p $$ >&2", levels={"ranks": (1,)})
    launcher = Mpi(e, masked)
    (record, *_) = run(e, store.Memory(), launcher, blocks(e, 1))
    assert [p.affinity for p in record.processes] == [(1,)]
    said = subprocess.run(["sh", "-c", launcher.line(configurations(e)[0])], capture_output=True, text=True, check=True)
    assert said.stderr.strip().endswith(": 2")


@needs_mpi
def test_the_environment_reaches_the_ranks_alone(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    """And not mpirun: what is to be tried on the program must not slow what starts it."""
    script = (
        'test "$OMP_NUM_THREADS" = 2 || exit 3;'
        "pid=$$; while test $pid -gt 1; do pid=$(cut -d' ' -f4 /proc/$pid/stat);"
        " case $(tr '\\0' ' ' < /proc/$pid/cmdline) in *mpirun*) break;; esac; done;"
        "tr '\\0' '\\n' < /proc/$pid/environ | grep -q ^OMP_NUM_THREADS= && exit 4; exit 0"
    )
    e = experiment("sh", "-c", script, levels={"threads": (2,), "ranks": (1,)})
    assert {r.status for r in measured(e, two_cores)} == {"ok"}


@needs_mpi
def test_a_preload_is_proved_in_every_rank(experiment: Make, two_cores: Machine, program: str) -> None:
    e = experiment(program, levels={"ranks": (2,), "allocator": ("system", "jemalloc")})
    records = measured(e, two_cores)
    inside = {r.configuration["allocator"]: [p.preload for p in r.processes] for r in records}
    assert inside["system"] == [None, None]
    assert [["jemalloc" in library for library in each or ()] for each in inside["jemalloc"]] == [[True], [True]]
    assert {r.sources for r in records} == {("witness",)}


@needs_mpi
def test_a_rank_without_the_preload_is_refused(experiment: Make, two_cores: Machine, program: str) -> None:
    script = f"test $OMPI_COMM_WORLD_RANK = 1 && unset LD_PRELOAD; exec {program}"
    e = experiment("sh", "-c", script, levels={"ranks": (2,), "allocator": ("system", "jemalloc")})
    with pytest.raises(PreloadError, match=r"jemalloc.* is not in the program: .*ranks was started without it"):
        measured(e, two_cores)


@needs_mpi
@pytest.mark.parametrize(
    ("how", "status", "code"), [("fail", "failed", 7), ("signal", "signal", -11), ("abort", "failed", 9)]
)
def test_a_rank_that_dies_is_a_recorded_failure_with_its_number_and_last_words(
    experiment: Make, two_cores: Machine, program: str, how: str, status: str, code: int
) -> None:
    record = failing(experiment(program, how, levels={"ranks": (2,)}, ignore_failure=True), two_cores)
    assert (record.status, record.exit_code) == (status, code)
    last = [line for line in record.tail.splitlines() if "MPI_ABORT" not in line]
    assert f"rank 1: the last one says {how}" in last
    assert how == "abort" or last[-1] == f"rank 1: the last one says {how}"
    assert not record.ok


@needs_mpi
@pytest.mark.parametrize("blow", ["KILL", "TERM"])
def test_a_rank_that_kills_its_spawner_is_said_to(
    experiment: Make, two_cores: Machine, tmp_path: Path, blow: str
) -> None:
    """Its program ends with it, what that started too."""
    pid = tmp_path / "pid"
    kill = f"sleep 1000 & echo $! > {pid}; kill -{blow} $PPID; sleep 1000"
    words = ("sh", "-c", f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && sleep 1; {kill}')
    record = failing(experiment(*words, levels={"ranks": (2,)}, ignore_failure=True), two_cores)
    assert record.status == "failed"
    assert "rank 1: the spawner that measured it was killed" in record.tail
    assert not Path(f"/proc/{int(pid.read_text())}").exists()


@needs_mpi
def test_a_killed_mpirun_is_not_the_program(experiment: Make, two_cores: Machine) -> None:
    kill = "read -r _ _ _ leaf _ </proc/$PPID/stat; read -r _ _ _ mpirun _ </proc/$leaf/stat; kill -9 $mpirun; sleep 99"
    record = failing(experiment("sh", "-c", kill, levels={"ranks": (1,)}, ignore_failure=True), two_cores)
    assert (record.status, record.tail[:39]) == ("signal", "what started the ranks was killed: by t")


@needs_mpi
def test_what_mpirun_itself_refuses_is_told_in_its_words(
    experiment: Make, two_cores: Machine, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_ess", "nosuch")
    record = failing(experiment(program, levels={"ranks": (2,)}, ignore_failure=True), two_cores)
    assert record.status == "failed"
    last = record.tail.splitlines()[-1]
    assert last.startswith("mpirun: A requested component was not found, or was unable to be opened. This means")


@needs_mpi
def test_a_time_out_leaves_no_rank(experiment: Make, two_cores: Machine, program: str) -> None:
    e = experiment(program, "hang", levels={"ranks": (2,)}, timeout=2.0, ignore_failure=True)
    record = failing(e, two_cores)
    assert record.status == "timeout"
    assert record.wall == pytest.approx(2.0, abs=0.5)
    assert not running(program)


@needs_mpi
def test_a_time_out_keeps_the_last_words_and_the_account_of_every_rank(experiment: Make, two_cores: Machine) -> None:
    script = "echo words of $OMPI_COMM_WORLD_RANK >&2; sleep 1000"
    record = failing(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=1.5), two_cores)
    assert record.status == "timeout"
    assert record.wall == pytest.approx(1.5, abs=0.4)
    assert record.tail == "rank 0: words of 0\nrank 1: words of 1\n"
    assert {process.rank for process in record.processes} == {0, 1}


@needs_mpi
def test_what_ranks_say_on_standard_error_is_kept_if_they_succeed(experiment: Make, two_cores: Machine) -> None:
    script = "echo words of $OMPI_COMM_WORLD_RANK >&2"
    (record,) = measured(experiment("sh", "-c", script, levels={"ranks": (2,)}), two_cores)
    assert (record.status, record.tail) == ("ok", "rank 0: words of 0\nrank 1: words of 1\n")


@needs_mpi
def test_peak_memory_is_of_the_largest_rank_and_not_of_what_starts_it(experiment: Make, two_cores: Machine) -> None:
    script = "test $OMPI_COMM_WORLD_RANK = 0 || head -c 20M /dev/zero | tail -c 20M >/dev/null"
    (record,) = measured(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=60), two_cores)
    assert record.peak_memory == max(process.peak_memory for process in record.processes)
    assert 20 << 20 < record.peak_memory < 24 << 20
    assert record.peak_memory_kind == "process"
    assert record.bounds["user"] == "upper"


@needs_mpi
def test_ranks_that_mpirun_ends_because_one_failed_were_not_stopped(experiment: Make, two_cores: Machine) -> None:
    """mpirun continues every process before it ends them."""
    script = "test $OMPI_COMM_WORLD_RANK = 0 || exit 3; exec sleep 60"
    record = failing(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=float(PATIENCE)), two_cores)
    assert (record.exit_code, record.bounds.get("wall")) == (3, None)
    assert STOPPED not in record.warnings


@needs_mpi
def test_a_typed_mpirun_that_does_not_end_takes_its_session_along(
    experiment: Make, two_cores: Machine, program: str
) -> None:
    """`nothing_is_left` looks for the session."""
    root = ("--allow-run-as-root",) * (os.geteuid() == 0)
    e = experiment(
        "mpirun", *root, "--oversubscribe", "-n", "2", program, "hang", levels={"threads": (1,)}, timeout=3.0
    )
    assert failing(e, Direct(e, two_cores)).status == "timeout"


def running(word: str) -> list[int]:
    """Processes with this word in their command line; a zombie has none."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if word in line and "corescale\0scan" not in line:
                found.append(int(folder.name))
    return found


@needs_mpi
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_kill_leave_no_mpirun_no_rank_and_no_shared_memory(
    program: str, tmp_path: Path, blow: signal.Signals
) -> None:
    """After kill -9 the folders stay until the next launch sweeps them, the processes do not."""
    words = [sys.executable, "-m", "corescale", "scan", "--ranks", "2", "--out", str(tmp_path / "runs"), "--", program]
    lab = subprocess.Popen([*words, "hang"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while len([pid for pid in running(program) if Path(f"/proc/{pid}/exe").resolve() == Path(program)]) < 2:
        assert time.monotonic() < end, "no rank was ever started"
        time.sleep(0.02)
    while not (shared := shared_by(lab.pid)) or not any(any(folder.iterdir()) for folder in shared):
        assert time.monotonic() < end, "MPI_Init made no files"
        time.sleep(0.02)
    lab.send_signal(blow)
    said = lab.communicate(timeout=PATIENCE)[1].decode()
    if blow == signal.SIGINT:
        assert "interrupted" in said
        assert lab.returncode == 130
        assert not running(program)
        assert not [folder for folder in shared if folder.exists()]
        return
    while running(program):
        assert time.monotonic() < end, "still running after the kill"
        time.sleep(0.02)
    for folder in shared:
        assert folder.name.startswith("corescale-launch-"), "of its own, where the next sweep finds it"
        shutil.rmtree(folder, ignore_errors=True)  # a run beside this one may have swept it


def shared_by(pid: int) -> list[Path]:
    """The folders of shared memory that a corescale holds."""
    held = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return [Path(path) for path in held if path.startswith(f"{SHARED}/")]


@needs_mpi
def test_what_a_rank_leaves_running_is_killed_and_counted(experiment: Make, two_cores: Machine) -> None:
    mark = f"41.{os.getpid():07}"
    e = experiment("sh", "-c", f"setsid sleep {mark} & sleep 0.1", levels={"ranks": (2,)})
    (record,) = measured(e, two_cores)
    assert (record.status, record.leftovers) == ("ok", 2)
    assert not running(f"sleep\0{mark}")


@needs_mpi
def test_more_ranks_than_cores_are_started_and_labelled(experiment: Make, two_cores: Machine, program: str) -> None:
    (record,) = measured(experiment(program, levels={"ranks": (3,)}), two_cores)
    assert (record.status, record.metrics["sum"], record.oversubscribed) == ("ok", 3, True)


@needs_mpi
def test_standard_input_is_rank_0s(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("7\n")
    script = 'read -r number; test "$number" = "$((7 * (OMPI_COMM_WORLD_RANK == 0)))" -o -z "$number"'
    e = experiment("sh", "-c", script, levels={"ranks": (2,)}, input=str(tmp_path / "in"))
    assert {r.status for r in measured(e, two_cores)} == {"ok"}


@needs_mpi
def test_standard_output_of_all_ranks_is_kept_where_it_is_wanted(experiment: Make, two_cores: Machine) -> None:
    script = 'test $OMPI_COMM_WORLD_RANK = 0 && sleep 0.3 && echo "{\\"n\\": 5}" || echo rank 1'
    e = experiment("sh", "-c", script, levels={"ranks": (2,)}, metrics={"n": "output:n", "size": "stdout-size"})
    (record,) = measured(e, two_cores)
    assert record.metrics == {"n": 5, "size": len('rank 1\n{"n": 5}\n')}


@needs_mpi
def test_what_mpirun_takes_for_itself_is_a_warning(experiment: Make, two_cores: Machine, program: str) -> None:
    (record,) = measured(experiment(program, levels={"ranks": (1,)}), two_cores)
    assert any("--response region:NAME leaves that out" in warning for warning in record.warnings)


@needs_mpi
def test_a_rank_has_the_variables_that_no_shell_passes_on(
    experiment: Make, two_cores: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As exported functions of bash have: module of clusters."""
    monkeypatch.setenv("BASH_FUNC_module%%", "() { echo loaded; }")
    e = experiment("bash", "-c", "module", levels={"ranks": (1,)}, output=str(tmp_path / "out"))
    assert measured(e, two_cores)[0].ok
    assert (tmp_path / "out").read_text() == "loaded\n"


@needs_mpi
def test_a_ranks_memory_is_a_lower_bound_where_a_child_ended_without_a_sign(
    experiment: Make, two_cores: Machine
) -> None:
    (record,) = measured(experiment(FIXTURE, "unreaped-quietly", "0.5", levels={"ranks": (1,)}), two_cores)
    if record.cpu_kind == "group":
        assert record.bounds.get("peak_memory") == "lower"
    assert math.isnan(record.response("memory")) == (record.bounds.get("peak_memory") == "lower")


@needs_mpi
@pytest.mark.parametrize(
    ("words", "knows"), [(("sleep", "0.01"), False), (("sh", "-c", "echo $PMIX_RANK"), True), (None, True)]
)
def test_a_program_whose_ranks_do_not_ask_for_their_number_is_said(
    experiment: Make, two_cores: Machine, program: str, words: tuple[str, ...] | None, knows: bool
) -> None:
    e = experiment(*(words or (program,)), levels={"ranks": (1, 2)}, verb="scan")
    records = measured(e, two_cores)
    (warmed,) = [record for record in records if record.phase == "warmup"]
    assert warmed.reads is not None
    assert scan(records, e).unread == ("" if knows else "ranks")


@needs_mpi
def test_root_is_allowed_and_nobody_else_needs_it(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    e = experiment("true", levels={"ranks": (1, 2)})
    for user, expected in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert ("--allow-run-as-root" in Mpi(e, two_cores).line(configurations(e)[0])) == expected


@needs_mpi
def test_a_rank_whose_program_stops_its_parent_ends_all_the_same(experiment: Make, two_cores: Machine) -> None:
    script = '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || kill -STOP $PPID; exit 0'
    chosen = experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=float(PATIENCE))
    for record in measured(chosen, two_cores):
        assert (record.status, record.bounds["wall"]) == ("ok", "upper")


@needs_mpi
def test_a_pipe_in_the_place_of_a_ranks_report_is_none(experiment: Make, two_cores: Machine) -> None:
    script = 'cd "${CORESCALE_RESULT%/result*}/ranks" && rm rank.1 && mkfifo rank.1; exit 0'
    record = failing(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=float(PATIENCE)), two_cores)
    assert (record.status, record.bounds["peak_memory"]) == ("failed", "lower")


@needs_mpi
def test_a_rank_that_deletes_the_folder_of_reports_is_said_to(experiment: Make, two_cores: Machine) -> None:
    script = 'rm -r "${CORESCALE_RESULT%/result*}/ranks"; exit 0'
    record = failing(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=float(PATIENCE)), two_cores)
    assert (record.status, record.tail.splitlines()[0].partition(":")[0]) == (
        "failed",
        "the folder in which ranks report was deleted",
    )


@needs_mpi
def test_a_rank_that_deletes_its_own_report_is_said_to(experiment: Make, two_cores: Machine) -> None:
    script = 'test $OMPI_COMM_WORLD_RANK = 0 || rm "${CORESCALE_RESULT%/result*}/ranks/rank.1"; exit 0'
    record = failing(experiment("sh", "-c", script, levels={"ranks": (2,)}, timeout=float(PATIENCE)), two_cores)
    assert (record.status, record.tail.partition(": by")[0]) == ("failed", "rank 1: its report was deleted")
