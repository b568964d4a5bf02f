# SPDX-License-Identifier: Apache-2.0
"""A real cluster of two nodes on this machine: munged, slurmctld and a slurmd for each node, ended by their numbers.

Debian's slurmd plays several nodes of one host: NodeName with NodeHostname, and a port for each.
"""

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.processes import alive, eventually

DAEMONS = ("munged", "slurmctld", "slurmd", "salloc")
INSTALL = "apt-get install slurmctld slurmd slurm-client munge"
NODES = ("n1", "n2")
START = 30.0
"""seconds in which the nodes must be there; they need one"""

CONFIGURATION = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/{tasks}
JobAcctGatherType=jobacct_gather/none
{accounting}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1,bf_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
TmpFS={folder}/tmp-%n
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} {node} Feature=fast State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} {node} State=UNKNOWN
PartitionName=debug Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
PartitionName=closed Nodes=n1,n2 AllowAccounts=ours MaxTime=INFINITE State=UP
"""


WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
WITH_ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
AccountingStorageEnforce=associations"""

ACCOUNTING = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdPort={ports[3]}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[4]}
StorageUser=root
StoragePass=none
StorageLoc=accounts
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""


def reason(daemons: Sequence[str] = DAEMONS, install: str = INSTALL) -> str | None:
    """Why no cluster can be started here, or None."""
    if os.geteuid() != 0:
        return "slurmd of several users needs root"
    absent = [name for name in daemons if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
    return f"no {absent[0]} ({install})" if absent else None


def reason_without_accounting() -> str | None:
    """Why no cluster that keeps accounts can be started here, or None."""
    return reason((*DAEMONS, "slurmdbd", "mariadbd"), f"{INSTALL} slurmdbd mariadb-server-core")


def said(*words: str) -> str:
    """What a command of Slurm's prints."""
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout.strip()


def queue() -> str:
    """The jobs that wait or run: those that only complete are over."""
    return said("squeue", "-h", "-t", "PD,R", "-o", "%i %j %T")


def emptied(seconds: float = 20) -> bool:
    """Whether the queue has become empty."""
    end = time.monotonic() + seconds
    while (held := queue()) and time.monotonic() < end:
        time.sleep(0.1)
    return not held


def _ports() -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(5)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def accounts(folder: Path, ports: list[int]) -> Iterator[None]:
    """Slurm's database of accounts over MariaDB; both keep all they have in the folder."""
    data, tables = folder / "data", Path("/usr/share/mysql/mysql_system_tables.sql")
    data.mkdir(mode=0o700)
    configuration = folder / "slurmdbd.conf"
    configuration.touch(0o600)
    configuration.write_text(ACCOUNTING.format(folder=folder, ports=ports))
    server = ("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-grant-tables")
    with (folder / "mariadbd.log").open("wb") as log:
        made = f"create database mysql;\nuse mysql;\n{tables.read_text()}".encode()
        subprocess.run((*server, "--bootstrap"), input=made, stdout=log, stderr=log, timeout=60, check=True)
        where = (f"--port={ports[4]}", f"--socket={folder}/database", "--bind-address=127.0.0.1", "--skip-name-resolve")
        database = subprocess.Popen((*server, *where), stdout=log, stderr=log)
    try:
        assert _answers(ports[4]), (folder / "mariadbd.log").read_text()
        said("slurmdbd")
        assert _answers(ports[3]), (folder / "slurmdbd.log").read_text()
        for words in (("cluster", "lab"), ("account", "ours"), ("user", "root", "account=ours")):
            said("sacctmgr", "-i", "-Q", "add", *words)
        yield
    finally:
        _end(folder / "slurmdbd.pid")
        database.terminate()
        database.wait()


def _answers(port: int) -> bool:
    """Whether something accepts connections at this port, within seconds."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def _daemons(folder: Path) -> Iterator[None]:
    try:
        said("slurmctld", "-c")
        for node in NODES:
            said("slurmd", "-c", "-N", node)
        end = time.monotonic() + START
        while said("sinfo", "-h", "-p", "debug", "-t", "idle", "-o", "%D") != str(len(NODES)):
            assert time.monotonic() < end, said("sinfo", "-R", "-N", "-l")
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run(("scancel", "-u", "root"), timeout=30, check=False)
            # A job that still completes has a slurmstepd, which outlives slurmd.
            eventually(lambda: not said("squeue", "-h"), START)
        for name in (*NODES, "slurmctld"):
            _end(folder / f"{name}.pid")


def _end(file: Path) -> None:
    """Ends the daemon whose number the file holds, and waits for it; one that does not end by itself is killed."""
    with contextlib.suppress(OSError, ValueError):
        number = int(file.read_text())
        for how in (signal.SIGTERM, signal.SIGKILL):
            os.kill(number, how)
            if eventually(lambda: not alive(number)):
                return


@contextlib.contextmanager
def ahead(folder: Path, node: str, seconds: int) -> Iterator[None]:
    """The clock of one node is ahead of the controller's."""
    library = folder / "ahead.so"
    source = Path(__file__).with_name("ahead.c")
    subprocess.run(["cc", "-shared", "-fPIC", f"-DAHEAD={seconds}", source, "-o", library], check=True)
    try:
        _restart(folder, node, f"LD_PRELOAD={library}")
        yield
    finally:
        _restart(folder, node)


def _restart(folder: Path, node: str, *environment: str) -> None:
    file = folder / f"{node}.pid"
    _end(file)
    said("env", *environment, "slurmd", "-c", "-N", node)
    assert eventually(lambda: said("sinfo", "-h", "-n", node, "-p", "debug", "-o", "%t") == "idle", START)


@contextlib.contextmanager
def cluster(folder: Path, accounting: bool = False, node: str = "CPUs=2", tasks: str = "none") -> Iterator[None]:
    """A cluster that runs; SLURM_CONF names it. `node`: what each node has. `tasks`: the plugin that binds ranks."""
    for name in ("munge", "state", *(f"{kind}-{node}" for node in NODES for kind in ("spool", "tmp"))):
        (folder / name).mkdir(mode=0o700)
    key, munge = folder / "munge" / "key", folder / "munge"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    ports, host = _ports(), platform.node().partition(".")[0]
    keeps = WITH_ACCOUNTING.format(folder=folder, port=ports[3]) if accounting else WITHOUT_ACCOUNTING
    has = {"folder": folder, "host": host, "ports": ports, "accounting": keeps, "node": node, "tasks": tasks}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**has))
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{path}:/usr/sbin"
    files = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    places = [f"--{option}={munge / name}" for option, name in files.items()]
    try:
        said("munged", "--force", f"--key-file={key}", *places)
        with accounts(folder, ports) if accounting else contextlib.nullcontext(), _daemons(folder):
            yield
    finally:
        _end(munge / "pid")
        os.environ["PATH"] = path
        del os.environ["SLURM_CONF"]
