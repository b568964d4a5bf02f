# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: all of it shares two hosts, which take seconds to start)
"""Ranks on two hosts by ssh: network namespaces with host names and an sshd of their own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import corescale
from corescale.errors import InconclusiveError, ProgramError, UnavailableError, UsageError
from corescale.observe import launchers
from corescale.observe.launchers import remote_failures
from corescale.observe.launchers.mpi import Mpi
from corescale.observe.launchers.ssh import Host, read
from corescale.records import Layout
from support import hosts
from support.processes import alive, eventually

REASON = hosts.reason()
needs_hosts = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with hosts.two(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that hosts share; no folder of a launch is left in it."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.glob("corescale-launch-*"))


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@needs_hosts
def test_a_scan_over_hosts_has_each_ranks_host_and_accounts(file: Path) -> None:
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    layouts = ["1x1x1", "1x1x2", "1x2x2"]
    made = corescale.scan(["sh", "-c", work], on="ssh", hosts=file, factor={"layout": layouts}, runs=1)
    found = {str(record.configuration.layout): record for record in made.result.records}
    assert {name: sorted(p.node for p in record.processes) for name, record in found.items()} == {
        "1x1x1": ["h1"], "1x1x2": ["h1", "h2"], "1x2x2": ["h1", "h1", "h2", "h2"],
    }  # fmt: skip
    assert {(record.status, record.wall_kind, record.oversubscribed) for record in found.values()} == {
        ("ok", "rank", False)
    }
    assert found["1x2x2"].user > 2 * found["1x1x1"].user > 0
    assert re.match(r"mpirun --host \S+:2,\S+:2 .*-n 4 ", made.result.lines[found["1x2x2"].configuration])
    assert corescale.load(made.folder).result.lines == made.result.lines


@needs_hosts
def test_the_rank_of_a_daemon_that_ended_ends_too(file: Path, place: Path) -> None:
    """The daemon of a host starts its ranks. What is left if it, or the way to its host, is gone."""
    words = ("scan", "--on", "ssh", "--hosts", str(file), "--nodes", "2", "-r", "1", "--", "sh", "-c")
    running = subprocess.Popen(
        (sys.executable, "-m", "corescale", *words, "echo $$ >pid.$(uname -n); exec sleep 99"),
        cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    pid = place / "pid.h2"
    assert eventually(lambda: pid.exists() and pid.read_text().strip() != "", 60)
    leaf = parent(parent(int(pid.read_text())))
    os.kill(parent(leaf), signal.SIGKILL)
    assert eventually(lambda: not alive(int(pid.read_text())), 20)
    running.send_signal(signal.SIGINT)
    running.wait(60)


@needs_hosts
def test_ctrl_c_ends_the_ranks_on_all_hosts(file: Path, place: Path) -> None:
    words = ("scan", "--on", "ssh", "--hosts", str(file), "--nodes", "2", "-r", "1", "--", "sh", "-c")
    running = subprocess.Popen(
        (sys.executable, "-m", "corescale", *words, "echo $$ >>pids; sleep 99"),
        cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    pids = place / "pids"
    assert eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2, 60)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert eventually(lambda: not any(alive(int(pid)) for pid in pids.read_text().split()), 20)


@needs_hosts
def test_a_rank_that_fails_and_a_host_that_is_not_there_are_one_line(file: Path, place: Path) -> None:
    work = 'test "$OMPI_COMM_WORLD_RANK" = 0 || { echo not me >&2; exit 7; }; sleep 60'
    with pytest.raises(ProgramError, match="failed with exit code 7: rank 1: not me"):
        corescale.scan(["sh", "-c", work], on="ssh", hosts=file, nodes=[2], runs=1)
    (place / "gone").write_text(f"{hosts.nobody(file)} slots=2\n")
    said = f"^ssh: connect to host {hosts.nobody(file)} port 22: .*; is the host up"
    with pytest.raises(UnavailableError, match=said) as raised:
        corescale.scan("true", on="ssh", hosts=place / "gone", nodes=[1], runs=1)
    assert "\n" not in str(raised.value)


@needs_hosts
def test_ranks_get_the_variables_that_the_run_records_and_those_of_setup(
    file: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_PLACES", "cores")
    work = ["sh", "-c", "echo $OMP_PLACES $LOADED >>ran"]
    made = corescale.scan(work, on="ssh", hosts=file, nodes=[2], runs=1, setup="sh -c 'export LOADED=1'")
    assert {*(place / "ran").read_text().split("\n")} == {"cores 1", ""}
    assert all(" -x OMP_PLACES " in line for line in made.result.lines.values())


@needs_hosts
def test_a_rank_that_kills_its_spawner_has_failed_and_no_machine_has(file: Path) -> None:
    """The other rank is then ended by mpirun, which is no failure of its own."""
    kills = 'test "$OMPI_COMM_WORLD_RANK" = 0 || kill -9 $PPID; exec sleep 60'
    with pytest.raises(ProgramError, match="rank 1: the spawner that measured it was killed"):
        corescale.scan(["sh", "-c", kills], on="ssh", hosts=file, nodes=[2], runs=1)


@needs_hosts
def test_ranks_that_take_too_long_are_ended_and_what_mpirun_says_of_it_is_no_reason(file: Path) -> None:
    with pytest.raises(ProgramError, match=r"did not end, and was killed after \d[.\d]* s; give it more time"):
        corescale.scan(["sleep", "60"], on="ssh", hosts=file, nodes=[2], runs=1, timeout=0.5)


@needs_hosts
def test_a_host_that_does_not_answer_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the connection, and says nothing. A person's own limit goes before ours."""
    monkeypatch.setenv("OMPI_MCA_plm_rsh_args", "-o ConnectTimeout=1")
    silent = int((file.parent / "pid2").read_text())
    os.kill(silent, signal.SIGSTOP)
    try:
        with pytest.raises(UnavailableError, match=f"{hosts.addresses(file)[1]}.*; is the host up") as raised:
            corescale.scan("true", on="ssh", hosts=file, nodes=[2], runs=1)
    finally:
        os.kill(silent, signal.SIGCONT)
    assert "\n" not in str(raised.value)


@needs_hosts
def test_a_host_whose_key_has_changed_is_named(file: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = hosts.addresses(file)
    known, agent = place / "known", place / "agent"
    keys = {host: (file.parent / key).read_text() for host, key in ((first, "key.pub"), (second, "id.pub"))}
    known.write_text("".join(f"{host} {key}" for host, key in keys.items()))
    agent.write_text(f'#!/bin/sh\nexec ssh -i {file.parent}/id -o UserKnownHostsFile={known} "$@"\n')
    agent.chmod(0o755)
    monkeypatch.setenv(hosts.AGENT_VARIABLE, str(agent))
    with pytest.raises(UnavailableError, match=f"^the host key of {second} has changed; .*ssh-keygen -R") as raised:
        corescale.scan("true", on="ssh", hosts=file, nodes=[2], runs=1)
    assert "\n" not in str(raised.value)


@needs_hosts
def test_a_host_whose_key_nobody_knows_is_named_though_ssh_does_not_name_it(
    file: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = hosts.addresses(file)
    known, agent = place / "known", place / "agent"
    known.write_text(f"{first} {(file.parent / 'key.pub').read_text()}")
    agent.write_text(f'#!/bin/sh\nexec ssh -i {file.parent}/id -o UserKnownHostsFile={known} "$@"\n')
    agent.chmod(0o755)
    monkeypatch.setenv(hosts.AGENT_VARIABLE, str(agent))
    with pytest.raises(UnavailableError, match=f"^{second}: Host key verification failed.*; ssh to the host once"):
        corescale.scan("true", on="ssh", hosts=file, nodes=[2], runs=1)


@needs_hosts
def test_a_host_that_is_lost_in_a_launch_is_named_and_nothing_is_recorded(file: Path) -> None:
    """Its daemon is killed: mpirun ends, and the ranks are not those that failed."""
    chain = "read -r _ _ _ leaf _ </proc/$PPID/stat; read -r _ _ _ daemon _ </proc/$leaf/stat; kill -9 $daemon"
    work = f'test "$(uname -n)" = h1 || {{ {chain}; }}; exec sleep 60'
    with pytest.raises(
        InconclusiveError,
        match=f"(h2|{hosts.addresses(file)[1]}) cannot be reached any more; .*the same command goes on",
    ) as raised:
        corescale.scan(["sh", "-c", work], on="ssh", hosts=file, nodes=[2], runs=1, ignore_failure=True)
    assert "\n" not in str(raised.value)


@needs_hosts
def test_a_host_without_the_program_is_named(file: Path) -> None:
    program = file.parent / hosts.HIDDEN / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(ProgramError, match="could not be started: rank 1 on h2: no such program"):
        corescale.scan([str(program)], on="ssh", hosts=file, nodes=[2], runs=1)


@needs_hosts
def test_a_host_that_does_not_see_the_folder_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent / hosts.HIDDEN)
    with pytest.raises(
        UnavailableError, match=f"(h2|{hosts.addresses(file)[1]}) does not see this folder; start in a folder that all"
    ):
        corescale.scan("true", on="ssh", hosts=file, nodes=[2], runs=1)


@pytest.mark.skipif(Mpi.cannot(Layout()) is not None, reason="no Open MPI")
@pytest.mark.parametrize(
    ("says", "remedy"),
    [
        ("Host key verification failed.", "ssh to the host once, and accept it"),
        ("me@far: Permission denied (publickey).", "ssh must need no password"),
        ("ssh: Could not resolve hostname far.example.org: Name or service not known", "is its name in the file"),
        ("bash: orted: command not found", "Open MPI must be on the PATH"),
        ("kex_exchange_identification: Connection closed by remote host", "docs/cluster.md"),
    ],
)
def test_what_ssh_says_is_the_reason(says: str, remedy: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it gets a person's options beside ours, and the whole name of the host."""
    agent = place / "agent"
    agent.write_text(f"#!/bin/sh\necho \"$*\" >>asked\necho '{says}' >&2\nexit 255\n")
    agent.chmod(0o755)
    monkeypatch.setenv(hosts.AGENT_VARIABLE, str(agent))
    monkeypatch.setenv("OMPI_MCA_plm_rsh_args", "-p 2222")
    (place / "hosts").write_text("far.example.org slots=2\n")
    with pytest.raises(UnavailableError, match=f"^(far.example.org: )?{re.escape(says)}; .*{remedy}") as raised:
        corescale.scan("true", on="ssh", hosts="hosts", nodes=[1], runs=1)
    assert "\n" not in str(raised.value)
    assert "-p 2222 -o BatchMode=yes -o ConnectTimeout=20 far.example.org " in (place / "asked").read_text()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            "srun: launch/slurm: x\nsrun: error: Only allocated 1 nodes asked for 2\n",
            "Only allocated 1 nodes asked for 2",
        ),
        (
            "srun: error: Task launch for StepId=1.0 failed on node n2: Job credential expired\n"
            "srun: error: Application launch failed: Job credential expired\nsrun: error: n1: task 0: Killed\n",
            "n2 starts no rank",
        ),
        ("h2 has no /usr/lib/corescale-spawn\nsrun: error: h2: task 1: Exited with exit code 127\n", "h2 has no "),
        (
            "slurmstepd: error: execve(): /x/leaf: No such file or directory\n"
            "srun: error: n2: task 1: Exited with exit code 2\n",
            "n2 does not see this folder",
        ),
        (
            f"{'-' * 40}\nmpirun was unable to launch the specified application as it could not access\nor execute an "
            f"executable:\n\nExecutable: /x/leaf\nNode: h2\n\nwhile attempting to start process rank 1.\n{'-' * 40}\n",
            "h2 does not see this folder",
        ),
        (
            f"[a:1] x\n{'-' * 40}\nORTE has lost communication with a remote daemon.\n\n  HNP daemon: [[1,0],0] on "
            f"node a\n  Remote daemon: [[1,0],1] on node h2\n\nThis is usually\n{'-' * 40}\n",
            "h2 cannot be reached any more",
        ),
        (f"{'-' * 40}\nThere is no room:\n\nwhy\n{'-' * 40}\n", "There is no room:"),
        (
            "Connection timed out during banner exchange\nConnection to 10.0.0.7 port 22 timed out\n",
            "Connection to 10.0.0.7 port 22 timed out",
        ),
        ("", ""),
    ],
)
def test_the_reason_is_the_first_line_that_is_in_no_box(said: str, found: str) -> None:
    assert remote_failures.reason(said)[0].startswith(found)


@needs_hosts
def test_more_nodes_than_hosts_are_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r"nodes: 3 nodes .* 2 "):
        corescale.scan("true", on="ssh", hosts=file, nodes=[3], runs=1)
    found = launchers.machine("ssh", {"hosts": str(file)})
    assert (found.nodes, found.default_max_threads) == (2, 2)


def test_a_file_of_hosts_is_as_open_mpi_has_it(place: Path) -> None:
    (place / "hosts").write_text("\ufeff# mine\na.b slots=4  # four\n\nc slots = 16 max_slots=32\n")
    assert list(read("hosts")) == [Host("a.b", 4), Host("c", 16)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "hosts: names no host"),
        ("a\n", "hosts:1: not a host: 'a'; write HOST slots=CORES"),
        ("a slots=2\nb slots=0\n", "hosts:2: not a host: 'b slots=0'"),
        ("a slots=2 b\n", "hosts:1: not a host"),
        ("-oProxyCommand=id slots=2\n", "hosts:1: not a host"),
        ("a slots=2\na slots=2\n", "hosts:2: a .* twice; write each host once"),
        ("a slots=2\nme@a slots=2\n", "hosts:2: me@a .* twice; write each host once"),
        ("a:22 slots=2\n", "hosts:1: not a host: 'a:22 slots=2'; write HOST slots=CORES, without a port"),
    ],
)
def test_a_file_without_hosts_is_one_line(text: str, said: str, place: Path) -> None:
    (place / "hosts").write_text(text)
    with pytest.raises(UsageError, match=said):
        read("hosts")
    with pytest.raises(UsageError, match="add --hosts FILE"):
        read("")
    with pytest.raises(UsageError, match="none: cannot be read"):
        read("none")
