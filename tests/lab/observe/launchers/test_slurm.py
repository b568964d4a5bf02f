# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: all of it shares one cluster, which takes seconds to start)
"""Verbs through a real Slurm of two nodes: accounts of ranks, bad inputs in one line, and nothing left in the queue."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

import corescale
from corescale.api import measuring
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.errors import InconclusiveError, ProgramError, UnavailableError, UsageError
from corescale.observe import launchers
from corescale.observe.doctor import cluster, doctor
from corescale.observe.launchers import allocation as launcher
from corescale.observe.launchers import slurm as slurm_launcher
from corescale.show import doctor as show
from support import mpi, slurm
from support.processes import alive, eventually

pytestmark = pytest.mark.skipif(slurm.reason() is not None, reason=str(slurm.reason()))
CLI = (sys.executable, "-m", "corescale")


@pytest.fixture(scope="module", autouse=True)
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("slurm")
    with slurm.cluster(folder):
        yield folder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that nodes share; neither a folder of a launch nor a job is left in the end."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    if left := "" if slurm.emptied() else slurm.queue():
        slurm.said("scancel", "--me")  # it would hold the nodes of every later test
    assert not left
    assert not list(tmp_path.glob("corescale-launch-*"))


def begun(place: Path, *words: str, python: tuple[str, ...] = CLI[1:]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        (CLI[0], *python, *words),
        cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def test_a_scan_over_nodes_has_each_ranks_node_and_accounts(place: Path) -> None:
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo $SLURM_PROCID >>ran"
    made = corescale.scan(["sh", "-c", work], on="slurm", factor={"layout": ["1x1x1", "1x1x2", "1x2x2"]}, runs=1)
    found = {str(record.configuration.layout): record for record in made.result.records}
    assert {r.status for r in found.values()} == {"ok"}
    assert [[p.node for p in found[name].processes] for name in ("1x1x1", "1x1x2", "1x2x2")] == [
        ["n1"], ["n1", "n2"], ["n1", "n1", "n2", "n2"],
    ]  # fmt: skip
    assert sorted((place / "ran").read_text().split()) == sorted("0" + "0010123")  # once before it is measured
    for record in found.values():
        spent = sum(process.user + process.system for process in record.processes)
        assert record.user + record.system == pytest.approx(spent, abs=0.02)
        assert record.wall_kind == "rank"
        assert not record.oversubscribed
    assert found["1x2x2"].user > 2 * found["1x1x1"].user > 0


def test_ranks_of_an_mpi_program_meet_across_nodes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By TCP: else Open MPI would take two nodes of one host for one, whose ranks share memory."""
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    layouts = {"layout": ["1x2x1", "1x2x2"]}
    made = corescale.scan([mpi.compiled(place)], on="slurm", factor=layouts, runs=1, timeout=60)
    found = {str(record.configuration.layout): record.metrics for record in made.result.records}
    assert {name: (each["ranks"], each["sum"]) for name, each in found.items()} == {"1x2x1": (2, 1), "1x2x2": (4, 6)}


def test_tune_and_a_study_go_through_it_too(place: Path) -> None:
    levels = {"s": ["0.1", "0.01"]}
    tuned = corescale.tune(["sleep", "{s}"], on="slurm", allocation="-p debug", factor=levels, budget="20x", nodes=[1])
    assert tuned.answer.winner["s"] == 0.01
    assert tuned.result.lines[tuned.answer.winner].startswith("srun --exclusive -p debug ")
    study = 'title = "t"\ncommand = "sleep 0.0{ranks}"\n[factors]\nranks = [1, 2]\nnodes = [1, 2]\n'
    study += '[stop]\nrule = "replicates"\n'
    (place / "s.toml").write_text(study + "replicates = 1\n")
    done = begun(place, "study", "run", "s.toml", "--on", "slurm")
    said = done.communicate(timeout=120)[1]
    assert done.returncode in (0, 3), said
    (folder,) = (path for path in (place / "corescale-runs").glob("study-*/1"))
    layouts = {str(record.configuration.layout) for record in corescale.load(folder).result.records}
    assert layouts == {"1x1x1", "1x2x1", "1x1x2", "1x2x2"}


def test_launches_at_once_have_nodes_of_their_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits until there is another on the other node. Whether they disturb each other is tested elsewhere."""
    monkeypatch.setattr(measuring, "must_not_disturb", lambda *_: None)
    both = "until [ -e n1 ] && [ -e n2 ]; do i=$((i+1)); [ $i -lt 99 ] || exit {s}; sleep 0.1; done"
    meet = "touch $SLURMD_NODENAME; i=0; " + both
    made = corescale.scan(["sh", "-c", meet], on="slurm", factor={"s": ["7", "8"]}, nodes=[1], runs=1, jobs=2)
    assert [record.status for record in made.result.records] == ["ok", "ok"]
    assert {record.processes[0].node for record in made.result.records} == {"n1", "n2"}
    with pytest.raises(UsageError, match=r"--jobs: 2 launches of up to 2 nodes .* 2 nodes"):
        corescale.scan("true", on="slurm", nodes=[1, 2], runs=1, jobs=2)


def test_a_job_that_ends_within_a_launch_is_made_again_by_the_same_command(place: Path) -> None:
    work = "test -e killed || { touch killed; scancel $SLURM_JOB_ID; sleep 60; }; exit 0"
    with pytest.raises(InconclusiveError, match=r"Slurm ended job \d+ within a launch; .*same command"):
        corescale.scan(["sh", "-c", work], on="slurm", nodes=[1, 2], runs=1)
    assert slurm.emptied()
    made = corescale.scan(["sh", "-c", work], on="slurm", nodes=[1, 2], runs=1)
    assert [record.status for record in made.result.records] == ["ok", "ok"]
    assert made.folder.name == "1", "the run that was begun went on"


GONE = "read -r _ _ _ leaf _ </proc/$PPID/stat; kill -STOP $leaf $PPID; { kill -9 $PPID $leaf; } & wait"
"""leaves nothing of a rank, as if its node were lost: neither the leaf nor its spawner"""


@pytest.mark.parametrize(
    ("loses", "said"),
    [
        ("scancel $SLURM_JOB_ID; sleep 60", r"Slurm ended job \d+ within"),
        (GONE, r"n\d: "),
    ],
)
def test_what_is_lost_in_a_later_block_ends_the_run_with_a_reason_and_unfinished(loses: str, said: str) -> None:
    work = f"echo x >>count; test $(wc -l <count) -ne 3 || {{ {loses}; }}; exit 0"
    with pytest.raises(InconclusiveError, match=f"{said}.*; .*same command"):
        corescale.scan(["sh", "-c", work], on="slurm", nodes=[1], runs=4)
    made = corescale.scan(["sh", "-c", work], on="slurm", nodes=[1], runs=4)
    assert (made.folder.name, sum(record.timed for record in made.result.records)) == ("1", 4)
    assert len(Path("count").read_text().split()) < 4 + 4, "what was measured before counts"


def test_ranks_are_numbered_by_slurm_whatever_has_started_corescale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.setenv(name, "0")
    asks = "echo ${OMPI_COMM_WORLD_RANK-} $SLURM_PROCID >>ran"
    made = corescale.scan(["sh", "-c", asks], on="slurm", nodes=[2], runs=1)
    assert {process.node for process in made.result.records[-1].processes} == {"n1", "n2"}
    assert {*Path("ran").read_text().split()} == {"0", "1"}
    assert {len(line.split()) for line in Path("ran").read_text().splitlines()} == {1}


def test_srun_sees_what_salloc_has_set_and_nothing_of_an_outer_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"JOB_ID": "1", "CPU_BIND": "map_cpu:0", "MEM_PER_CPU": "999999", "MINE": "x"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    asks = "echo $SLURM_HINT,$SLURM_CPU_BIND,$SLURM_MEM_PER_CPU,$SLURM_MINE >ran"
    corescale.scan(["sh", "-c", asks], on="slurm", allocation="--hint=nomultithread", nodes=[1], runs=1)
    hint, rest = Path("ran").read_text().strip().split(",", 1)
    assert hint == "nomultithread"
    assert "map_cpu:0" not in rest and "999999" not in rest and not rest.endswith("x")


def test_variables_of_squeue_and_sinfo_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "PENDING")
    monkeypatch.setenv("SINFO_PARTITION", "closed")
    with pytest.raises(corescale.errors.ProgramError, match="failed with exit code 7: rank 0: no grid"):
        corescale.scan(["sh", "-c", "echo no grid >&2; exit 7"], on="slurm", nodes=[1], runs=1)


def test_cpus_that_a_factor_chooses_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^affinity: the slurm launcher binds no launch to CPUs .*; leave it out"):
        corescale.scan("true", on="slurm", nodes=[1], factor={"affinity": ["0", "1"]}, runs=1)


def test_a_job_whose_holder_was_killed_is_ended() -> None:
    held = launcher.Allocation(1, ())
    held.wait(lambda: False, print)
    held._salloc.kill()
    held._salloc.wait()
    assert "RUNNING" in slurm.queue()
    held.release()
    assert slurm.emptied(5)


def name(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


def below(process: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [pid for child in map(int, found) for pid in (child, *below(child))]


IMPATIENT = """
from corescale.observe.launchers import allocation
from corescale.cli import main
allocation.BEAT, allocation.LOST = 0.5, 3
main()
"""


@pytest.mark.parametrize("spared", ["no", "corescale-spawn", "srun"])
def test_a_node_cancels_the_job_if_corescale_and_salloc_are_killed_together(place: Path, spared: str) -> None:
    """Nothing that Slurm or corescale runs here is left, as if this machine had failed; or the program of that name."""
    words = ("scan", "--on", "slurm", "--nodes", "1", "-r", "1", "--", "sh", "-c", "sleep 4; echo $$ >pid; sleep 99")
    running = subprocess.Popen((sys.executable, "-c", IMPATIENT, *words), cwd=place, stderr=subprocess.DEVNULL)
    assert eventually(lambda: (place / "pid").exists() and (place / "pid").read_text().strip(), 60)
    assert "RUNNING" in slurm.queue(), "after a time longer than a node waits"
    every = [pid for pid in (running.pid, *below(running.pid)) if name(pid) != spared]
    for kind in (signal.SIGSTOP, signal.SIGKILL):
        for process in every:
            with contextlib.suppress(ProcessLookupError):  # salloc's script starts a sleep again and again
                os.kill(process, kind)
    running.wait()
    assert slurm.emptied(30), slurm.queue()
    for left in place.glob("corescale-launch-*"):
        os.utime(left, (0, 0))  # as after a minute
    corescale.scan("true", on="slurm", nodes=[1], runs=1, out=place / "later")


def test_a_job_that_was_given_back_has_completed() -> None:
    held = launcher.Allocation(1, ())
    held.wait(lambda: False, print)
    job = held.job
    held.release()
    assert eventually(lambda: "JobState=COMPLETED" in slurm.said("scontrol", "show", "job", job), 20)


def test_a_folder_for_temporary_files_that_only_this_machine_has_does_no_harm(place: Path) -> None:
    (place / "private").mkdir()
    makes = 'mount -t tmpfs none private && mkdir private/job && TMPDIR=$PWD/private/job exec "$@"'
    words = ("scan", "--on", "slurm", "--nodes", "1", "-r", "1", "--", "true")
    here = ("unshare", "--mount", "sh", "-c", makes, "sh")
    done = subprocess.run((*here, *CLI, *words), cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_rank_that_fails_is_a_failure_of_the_program_and_not_of_slurm() -> None:
    work = "test $SLURM_PROCID = 0 || { echo not me >&2; exit 7; }; sleep 60"
    with pytest.raises(corescale.errors.ProgramError, match="failed with exit code 7: rank 1: not me"):
        corescale.scan(["sh", "-c", work], on="slurm", nodes=[2], runs=1)


def test_a_rank_that_srun_ends_was_not_stopped_by_its_program(place: Path) -> None:
    """Slurm continues every process of a step before it ends them."""
    work = "test $SLURM_PROCID = 0 || exit 7; exec sleep 60"
    factor = {"layout": ["1x1x1", "1x1x2"]}
    one = "case $SLURM_NTASKS in 1) exit 0;; esac; "
    made = corescale.scan(["sh", "-c", one + work], on="slurm", factor=factor, runs=1, ignore_failure=True)
    failed = [record for record in made.result.records if not record.ok]
    assert failed and not any("stopped" in warning for record in failed for warning in record.warnings)


def test_a_rank_that_kills_its_spawner_has_failed_and_no_machine_has() -> None:
    """The other rank is then ended by srun, which is no failure of its own."""
    kills = "test $SLURM_PROCID = 0 || kill -9 $PPID; exec sleep 60"
    with pytest.raises(corescale.errors.ProgramError, match="rank 1: the spawner that measured it was killed"):
        corescale.scan(["sh", "-c", kills], on="slurm", nodes=[2], runs=1)


def test_a_node_that_is_lost_in_a_launch_is_no_failure_of_the_program() -> None:
    lost = f'test "$SLURMD_NODENAME" = n1 || {{ {GONE}; }}; exec sleep 60'
    with pytest.raises(InconclusiveError, match=r"n2: .*the same command goes on"):
        corescale.scan(["sh", "-c", lost], on="slurm", nodes=[2], runs=1, ignore_failure=True)


def test_ctrl_c_ends_the_ranks_and_gives_the_nodes_back(place: Path) -> None:
    running = begun(
        place, "scan", "--on", "slurm", "--nodes", "2", "-r", "1", "--", "sh", "-c", "echo $$ >>pids; sleep 99"
    )
    pids = place / "pids"
    assert eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2, 60)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert eventually(lambda: not any(alive(int(pid)) for pid in pids.read_text().split()), 20)


SOON_SILENT = """
from corescale.cli import main
from corescale.show import progress
progress.SILENT = 0.5
main()
"""


def test_in_a_full_queue_it_waits_says_so_and_ctrl_c_gives_up(place: Path) -> None:
    """The budget of a second is not spent by waiting: the launch is made once there are nodes."""
    full = subprocess.Popen(["salloc", "-N2", "--exclusive", "cat"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert eventually(lambda: "RUNNING" in slurm.queue(), 20)
    patient = begun(place, "scan", "--on", "slurm", "--nodes", "1", "-r", "1", "--budget", "1s", "--", "true")
    hasty = begun(place, "scan", "--on", "slurm", "--nodes", "2", "-r", "1", "--", "true", python=("-c", SOON_SILENT))
    assert eventually(lambda: slurm.queue().count("PENDING") == 2, 60)
    time.sleep(launcher.PATIENCE + 1)
    hasty.send_signal(signal.SIGINT)
    said = hasty.communicate(timeout=60)[1]
    assert "waiting for nodes (" in said and "no launch has ended" not in said, "none has begun"
    assert hasty.returncode == 130
    assert slurm.queue().count("PENDING") == 1
    full.communicate(b"", timeout=30)
    _, said = patient.communicate(timeout=60)
    assert patient.returncode == 0, said


def test_a_job_that_is_cancelled_while_it_waits_is_no_refusal() -> None:
    full = subprocess.Popen(["salloc", "-N2", "--exclusive", "cat"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert eventually(lambda: "RUNNING" in slurm.queue(), 20)
    held = launcher.Allocation(1, ())
    try:
        assert eventually(lambda: "PENDING" in slurm.queue(), 20)
        slurm.said("scancel", "--state=PENDING", "--user=root")
        with pytest.raises(InconclusiveError, match=r"^slurm: its job was cancelled while it waited .*same command"):
            held.wait(lambda: False, print)
    finally:
        held.release()
        full.communicate(b"", timeout=30)


def test_whatever_ends_corescale_ends_its_allocation(place: Path) -> None:
    running = begun(
        place, "scan", "--on", "slurm", "--nodes", "1", "-r", "1", "--", "sh", "-c", "echo $$ >pid; sleep 99"
    )
    assert eventually(lambda: (place / "pid").exists() and (place / "pid").read_text().strip(), 60)
    running.kill()
    running.communicate(timeout=30)
    assert slurm.emptied()
    assert eventually(lambda: not alive(int((place / "pid").read_text())), 20)
    for left in place.glob("corescale-launch-*"):
        os.utime(left, (0, 0))  # as after a minute
    corescale.scan("true", on="slurm", nodes=[1], runs=1, out=place / "later")


def test_a_place_in_the_queue_ends_with_corescale(place: Path) -> None:
    full = subprocess.Popen(["salloc", "-N2", "--exclusive", "cat"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert eventually(lambda: "RUNNING" in slurm.queue(), 20)
    waiting = begun(place, "scan", "--on", "slurm", "--nodes", "1", "-r", "1", "--", "true")
    assert eventually(lambda: "PENDING" in slurm.queue(), 60)
    waiting.kill()
    waiting.communicate(timeout=30)
    try:
        assert eventually(lambda: "PENDING" not in slurm.queue(), 20)
    finally:
        full.communicate(b"", timeout=30)


def test_a_place_in_the_queue_is_given_up_though_the_controller_is_silent(
    monkeypatch: pytest.MonkeyPatch, nodes: Path
) -> None:
    """No process is left, and no error: what Slurm gets to know it knows once it goes on."""
    monkeypatch.setattr(launcher, "GRACE", 1.0)
    held, controller = launcher.Allocation(1, ["--begin=now+1hour"]), int((nodes / "slurmctld.pid").read_text())
    assert eventually(lambda: "PENDING" in slurm.queue(), 20)
    os.kill(controller, signal.SIGSTOP)
    try:
        held.release()
        assert held._salloc.poll() is not None
    finally:
        os.kill(controller, signal.SIGCONT)


def test_slurm_requeues_no_job_of_ours_and_the_launch_goes_on(place: Path) -> None:
    work = "scontrol requeue $SLURM_JOB_ID 2>>said; echo $? >>said"
    made = corescale.scan(["sh", "-c", work], on="slurm", nodes=[1], runs=1)
    assert [record.status for record in made.result.records] == ["ok"]
    assert (place / "said").read_text().split()[-1] == "1"


def test_ranks_in_a_container_with_process_numbers_of_its_own_are_accounted_for(place: Path) -> None:
    """What stands for the container, unshare, gives each rank mounts and processes of its own."""
    box = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    inside = "echo $$ $SLURM_PROCID >>inside && sleep 0.1"
    made = corescale.scan([*box, "sh", "-c", inside], on="slurm", factor={"layout": ["1x2x1"]}, runs=1)
    (record,) = [record for record in made.result.records if record.timed]
    assert record.status == "ok" and record.wall > 0.1
    assert {"1 0", "1 1"} == set((place / "inside").read_text().splitlines())
    assert all(any("unshare" in p.executable for p in record.processes if p.rank == rank) for rank in (0, 1))


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_ranks_have_what_a_module_that_setup_loads_exports(place: Path) -> None:
    """A cluster's login shell defines `module`, a function that changes variables."""
    (place / "work").write_text("#!/bin/sh\necho $SLURM_PROCID $LOADED >>ran\n")
    (place / "work").chmod(0o755)
    (place / "profile").write_text(f"module() {{ export PATH=$PATH:{place} LOADED=$2; }}\n")
    made = corescale.scan(
        "work", on="slurm", factor={"layout": ["1x1x2"]}, runs=1, setup="bash -c '. ./profile; module load X'"
    )
    assert {record.status for record in made.result.records} == {"ok"}
    assert set((place / "ran").read_text().splitlines()) == {"0 X", "1 X"}
    with pytest.raises(ProgramError, match=r"^--setup module load X: cannot be started: No such file"):
        corescale.scan("true", on="slurm", nodes=[1], runs=1, setup="module load X")


IMAGE = """
mkdir -p image/dev image/etc image/home image/mnt image/proc image/root image/sys image/tmp image/usr
touch image/etc/passwd image/etc/group image/etc/hosts image/etc/resolv.conf
for each in bin lib lib64; do ln -s usr/$each image/$each; done
echo x >>made
export LOADED=1
"""
"""a script that builds a container without programs; `ch-run --bind=/usr` gives it those of this machine"""


@pytest.mark.skipif(not shutil.which("ch-run"), reason="no ch-run (apt-get install charliecloud-runtime)")
def test_ranks_run_in_a_container_that_setup_has_built(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charliecloud's, as Debian has no Apptainer. --setup runs once, as a script whose exports are not the ranks'."""
    monkeypatch.setenv("USER", "root")  # ch-run needs it
    (place / "build").write_text(IMAGE)
    box = ("ch-run", "--bind=/usr", f"--cd={place}", "./image", "--")
    inside = f'test ! -e /opt && test -z "$LOADED" && echo $SLURM_PROCID >>inside && exec {mpi.compiled(place)}'
    layouts = {"layout": ["1x2x1"]}
    made = corescale.scan([*box, "sh", "-c", inside], on="slurm", factor=layouts, runs=1, setup="sh build", timeout=60)
    (record,) = [record for record in made.result.records if record.timed]
    assert (record.status, record.metrics["ranks"], record.metrics["sum"]) == ("ok", 2, 1)
    assert (place / "made").read_text() == "x\n"
    assert sorted((place / "inside").read_text().split()) == ["0", "0", "1", "1"]  # once before it is measured
    assert {p.rank for p in record.processes} == {0, 1}


def test_within_a_job_of_the_person_it_makes_its_own(place: Path) -> None:
    """Slurm describes the outer job by variables that srun would read."""
    outer = ("salloc", "-N1", "-n1", "-c2", "--exclusive", "-w", "n1")
    words = ("scan", "--on", "slurm", "-f", "layout=1x2x1", "-r", "1", "--", "sh", "-c", "echo $SLURMD_NODENAME >>ran")
    done = subprocess.run((*outer, *CLI, *words), cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert set((place / "ran").read_text().split()) == {"n2"}


def test_a_node_that_is_drained_in_the_middle_counts_no_more(place: Path) -> None:
    """The allocation that has it goes on; later ones are made without it."""
    try:
        drain = "test $SLURM_PROCID = 0 || scontrol update nodename=n2 state=drain reason=test"
        made = corescale.scan(["sh", "-c", drain], on="slurm", nodes=[2], runs=1)
        assert [record.status for record in made.result.records] == ["ok"]
        with pytest.raises(UsageError, match=r"nodes: 2 nodes .* 1 "):
            corescale.scan("true", on="slurm", nodes=[1, 2], runs=1)
        assert corescale.scan("true", on="slurm", nodes=[1], runs=2).result.records[-1].processes[0].node == "n1"
    finally:
        slurm.said("scontrol", "update", "nodename=n2", "state=resume")
    assert eventually(lambda: launchers.machine("slurm").nodes == 2, 20)


@pytest.mark.parametrize(
    ("allocation", "said"),
    [
        ("-p nowhere", "--allocation: no partition 'nowhere'; -p takes one of: closed, debug"),
        ("-p closed -A theirs", "slurm: Job's account not known.*; see --allocation and sinfo"),
        ("--time=soon", "slurm: .*time.*; see --allocation and sinfo"),
        ("-C gpus", "--allocation: no usable node of partition debug has gpus; -C takes one of: fast"),
        ("-C 'gpus|big'", "slurm: .*(F|f)eature.*; see --allocation and sinfo"),
        ("-v -C 'gpus|big'", "slurm: .*(F|f)eature.*; see --allocation and sinfo"),
        ("-x n1", "slurm: (?!Job allocation).*; see --allocation and sinfo"),
        ("-p 'debug", "--allocation: "),
        *((f"-p debug {command}", "--allocation: .* a command") for command in ("true", "false", "hostname")),
        ("--no-shell", "--allocation: --no-shell .*; leave it out"),
        ("-p debug : -p debug", "--allocation: : cannot be passed to salloc; leave it out"),
        ("-s", "--allocation: -s cannot be passed to salloc; leave it out"),
        ("--exclusive --oversubscribe", "--allocation: --oversubscribe cannot be passed to salloc; leave it out"),
        ("--exclusive=user", "--allocation: --exclusive=user cannot be passed to salloc; leave it out"),
        *(
            (f"{word} 1", f"--allocation: {word.split('=')[0]}.*; leave it out")
            for word in ("--no-s", "-Jmine", "--nodes=1", "-n7", "-c", "-h", "--uid=nobody")
        ),
    ],
)
def test_what_slurm_refuses_is_one_line(allocation: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        corescale.scan("true", on="slurm", allocation=allocation, nodes=[2 if "-x" in allocation else 1], runs=1)
    assert "\n" not in str(raised.value)


def test_a_command_that_holds_the_nodes_in_place_of_ours_is_refused(place: Path) -> None:
    (place / "hold").write_text("#!/bin/sh\nexec sleep 60\n")
    (place / "hold").chmod(0o755)
    with pytest.raises(UsageError, match=r"--allocation: .* a command"):
        corescale.scan("true", on="slurm", allocation="-p debug ./hold", nodes=[1], runs=1)


def page() -> str:
    """What doctor prints."""
    written = io.StringIO()
    Console(file=written, width=200).print(show.render(doctor(noise=False)))
    return written.getvalue()


@pytest.mark.parametrize("words", ["-C fast", "-Cfast", "--cons=fast"])
def test_nodes_without_the_features_of_a_constraint_do_not_count(words: str) -> None:
    found = launchers.machine("slurm", {"allocation": words})
    assert found.nodes == 1 and "partition debug (-C fast) of" in found.in_words
    with pytest.raises(UsageError, match=r"nodes: 2 nodes .* 1 usable .*\(-C fast\)"):
        corescale.scan("true", on="slurm", allocation=words, nodes=[2], runs=1)
    assert " -C fast (1 of them)" in page()


@pytest.mark.parametrize("state", ["DOWN", "INACTIVE"])
def test_a_partition_that_is_not_up_is_refused_at_once(state: str) -> None:
    slurm.said("scontrol", "update", "partitionname=debug", f"state={state}")
    try:
        with pytest.raises(UnavailableError, match=f"^slurm: partition debug is {state.lower()}; .*sinfo") as raised:
            corescale.scan("true", on="slurm", nodes=[1], runs=1)
        assert "\n" not in str(raised.value)
        found = cluster.survey()
        assert found is not None and (found.partitions[0].usable, found.partitions[1].usable) == (0, 2)
        assert f"-p debug (default): {found.partitions[0].state}, so no job starts, 0 of 2 nodes usable" in page()
    finally:
        slurm.said("scontrol", "update", "partitionname=debug", "state=UP")


def test_each_reason_for_which_it_waits_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """First for a node that is drained, then for a partition that has gone down meanwhile."""
    notes: list[str] = []

    def gives_up() -> bool:
        if any("n1" in note for note in notes):
            slurm.said("scontrol", "update", "partitionname=debug", "state=DOWN")
        return any("PartitionDown" in note for note in notes)

    slurm.said("scontrol", "update", "nodename=n1", "state=drain", "reason=test")
    monkeypatch.setattr(launcher, "LONGEST_LOOK", 1.0)
    held = launcher.Allocation(1, ["-w", "n1"])
    try:
        with pytest.raises(KeyboardInterrupt):
            held.wait(gives_up, notes.append)
    finally:
        held.release()
        slurm.said("scontrol", "update", "partitionname=debug", "state=UP")
        slurm.said("scontrol", "update", "nodename=n1", "state=resume")
    assert eventually(lambda: launchers.machine("slurm").nodes == 2, 20)
    assert len(notes) == len(set(notes)) >= 2 and all("waiting for nodes (" in note for note in notes)


def test_the_machine_is_a_node_of_the_partition() -> None:
    found = launchers.machine("slurm", {"allocation": "-p debug,closed"})
    assert (found.nodes, "partition closed, debug of" in found.in_words) == (2, True)
    found = launchers.machine("slurm", {"allocation": "-p debug"})
    assert (found.nodes, found.default_max_threads, found.hostname) == (2, 2, "lab")
    assert "partition debug of the cluster lab" in found.in_words


def test_doctor_says_what_the_cluster_has() -> None:
    try:
        slurm.said("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
        found = cluster.survey()
        assert found is not None and (found.name, found.accounting) == ("lab", False)
        first, second = found.partitions
        assert (first.name, first.is_default, first.nodes, first.usable, first.cores) == ("debug", True, 2, 1, 2)
        assert (second.accounts, second.time_limit, first.constraints) == (("ours",), "infinite", {"fast": 1})
        assert "-p debug (default): 1 of 2 nodes usable of 2 cores" in page()
        assert json.loads(show.to_json(doctor(noise=False)))["cluster"]["partitions"][1]["name"] == "closed"
    finally:
        slurm.said("scontrol", "update", "nodename=n2", "state=resume")
    assert eventually(lambda: launchers.machine("slurm").nodes == 2, 20)


def test_without_a_cluster_and_without_its_programs_it_is_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(launcher, "GRACE", 1.0)
        changed.setenv("SLURM_CONF", str(place / "none.conf"))
        with pytest.raises(UnavailableError, match=r"slurm: sinfo .*; is the cluster up\? try sinfo") as raised:
            launchers.machine("slurm")
        assert "\n" not in str(raised.value)
        changed.setenv("PATH", str(place))
        with pytest.raises(
            UnavailableError, match=r"needs Slurm, and salloc is not here \(apt-get install slurm-client"
        ):
            launchers.machine("slurm")


def test_a_line_to_paste_says_how_many_cores_each_rank_has(experiment: Callable[..., Experiment]) -> None:
    e, options = experiment("true", levels={"layout": ["2x1x2"]}), {"allocation": "-p debug"}
    made = launchers.create("slurm", e, launchers.machine("slurm", options), options)
    line = made.line(configurations(e)[0])
    assert line.startswith("srun --exclusive -p debug --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=2 ")
    assert f" --mpi={slurm_launcher.mpi()} " in line


def test_options_are_read_as_salloc_reads_them() -> None:
    for words in ("--part=closed", "--partition closed", "-Qpclosed", "-vp closed"):
        found = launchers.machine("slurm", {"allocation": words})
        assert "partition closed of" in found.in_words
    for words in ("-QN2", "-vvH"):
        with pytest.raises(UsageError, match="cannot be passed to salloc"):
            launchers.machine("slurm", {"allocation": words})


def test_a_launch_that_the_budget_ends_is_no_time_out_of_the_program(place: Path) -> None:
    """The rank's own limit ends it before srun's does. Its block does not count, and those before it do."""
    work = "sleep 0.3; echo x >>count; test $(wc -l <count) -lt 3 || exec sleep 60"
    made = corescale.scan(["sh", "-c", work], on="slurm", nodes=[1], runs=9, budget="6s")
    assert {record.status for record in made.result.records} == {"ok"}


def test_ranks_find_each_other_by_pmix_of_any_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    said = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix_v4\n"
    monkeypatch.setattr("corescale.observe.environment.said", lambda *_: said)
    assert slurm_launcher.mpi.__wrapped__() == "pmix_v4"


def test_waiting_for_this_machine_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^--wait-quiet: launches run on other machines .*; leave it out"):
        corescale.scan("true", on="slurm", nodes=[1], runs=1, wait_quiet=True)


def test_a_node_less_between_two_parts_of_a_run_is_the_same_machine(place: Path) -> None:
    stop = "echo x >>count; test $(wc -l <count) -ne 3 || { scancel $SLURM_JOB_ID; sleep 60; }"
    with pytest.raises(InconclusiveError):
        corescale.scan(["sh", "-c", stop], on="slurm", allocation="-w n1", nodes=[1], runs=3)
    try:
        slurm.said("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
        made = corescale.scan(["sh", "-c", stop], on="slurm", allocation="-w n1", nodes=[1], runs=3)
        assert (made.folder.name, sum(record.timed for record in made.result.records)) == ("1", 3)
    finally:
        slurm.said("scontrol", "update", "nodename=n2", "state=resume")
    assert eventually(lambda: launchers.machine("slurm").nodes == 2, 20)
