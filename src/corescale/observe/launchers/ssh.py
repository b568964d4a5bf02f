# SPDX-License-Identifier: Apache-2.0
"""Launches ranks x threads on several hosts without a scheduler, by Open MPI's mpirun and ssh.

The hosts are in a file in Open MPI's format, with a line `HOST slots=CORES` for each. On each host, a leaf accounts for
its rank (docs/cluster.md).
"""

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from corescale import documents
from corescale.declare.experiment import Experiment
from corescale.declare.grid import must_fit
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, ranks
from corescale.observe.launchers import remote_failures
from corescale.observe.launchers.mpi import TRACE, UNBOUND, Mpi
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Configuration, Layout

GRACE = 10.0
"""seconds for mpirun to end its daemons on all hosts"""
TRY = 60.0
"""seconds for mpirun to start a program on one host, when looking for the host that caused a failure"""
OWN = re.compile(r"(OMPI|PRTE)_")
"""matches variables that mpirun itself passes on"""
ARGUMENTS = "OMPI_MCA_plm_rsh_args"
"""variable with options for ssh, which the user may have set"""
OPTIONS = "-o BatchMode=yes -o ConnectTimeout=20"
"""options for ssh, which come after the user's own, because those take precedence. With them, ssh never asks for a
password, and a host that does not answer is reported within seconds"""
WHOLE_NAMES = ("OMPI_MCA_orte_keep_fqdn_hostnames", "PRTE_MCA_prte_keep_fqdn_hostnames")
"""variables with which Open MPI 4 and 5 keep the domain in a host's name"""
LINE = re.compile(
    r"\s*([A-Za-z0-9_][\w.@-]*)\s+slots\s*=\s*([1-9]\d{0,4})(?:\s+max_slots\s*=\s*\d+)?\s*(?:#.*)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Host:
    """A line of the file."""

    name: str
    cores: int


class Ssh(Mpi):
    """See Launcher."""

    name = "ssh"
    only_if_asked = True
    binds = False
    takes = "hosts"
    has_slots = True

    def __init__(self, experiment: Experiment, machine: Machine, hosts: Sequence[Host]) -> None:
        super().__init__(experiment, machine)
        must_fit(experiment, len(hosts), "in the file of hosts", "or add hosts")
        self._hosts = hosts
        self.place = Path.cwd()

    @classmethod
    def machine(cls, option: str = "") -> Machine:
        hosts = read(option)
        cores, nodes = min(host.cores for host in hosts), len(hosts)
        return Machine.here().elsewhere(
            hosts[0].name, f"{nodes} hosts by ssh", cores=cores, nodes=nodes, source="hosts"
        )

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        return cls(experiment, machine, read(option))

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        return Mpi.cannot(replace(layout, nodes=1))

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        layout = configuration.layout
        names = ",".join(f"{host.name}:{layout.ranks_per_node}" for host in self._hosts[: layout.nodes])
        every = layout.ranks_per_node * layout.nodes
        words = ("mpirun", "--host", names, *UNBOUND, *self._exported(), "-n", str(every))
        return f"{shlex.join(words)} {self._launch_of(configuration).needed(reads).line}"

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        each = layout.ranks_per_node
        file = scratch.of("ssh") / "hosts"
        mine = self._hosts[self._slot.first :][: layout.nodes]
        file.write_text("".join(f"{host.name} slots={each}\n" for host in mine))
        leaf = ranks.leaf(request, scratch, [()] * (each * layout.nodes), afar=True)
        options = (*self._mpirun(layout), "--hostfile", str(file), "--map-by", f"ppr:{each}:node", *UNBOUND)
        argv = (*options, *self._exported(), "--wdir", str(Path.cwd()), "-n", str(each * layout.nodes), str(leaf))
        return ranks.afar(request, argv, _variables(), allowance=GRACE, grace=GRACE)

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        try:
            return remote_failures.ended(report, scratch, TRACE)
        except UnavailableError as error:
            mine = (scratch.of("ssh") / "hosts").read_text().splitlines()
            raise self._named(error, [line.split()[0] for line in mine], scratch) from None

    def _exported(self) -> tuple[str, ...]:
        """Options of mpirun that export PATH, the variables that a run records and those of `--setup`, because ssh
        exports none."""
        found = {"PATH", *environment.relevant(), *self._hooks.exported}
        names = sorted(name for name in found & os.environ.keys() if not OWN.match(name))
        return tuple(word for name in names for word in ("-x", name))

    def _named(self, error: UnavailableError, hosts: Sequence[str], scratch: Scratch) -> UnavailableError:
        """The error, with the host that caused it, which only some of ssh's messages name.

        If there are several hosts, it is the first one on which mpirun cannot start a program.
        """
        if any(_bare(host) in error.what for host in hosts):
            return error
        file = scratch.of("ssh") / "host"
        for host in hosts if len(hosts) > 1 else ():
            file.write_text(f"{host} slots=1\n")
            argv = (*self._mpirun(Layout()), "--hostfile", str(file), "-n", "1", "--wdir", "/", "true")
            request = SpawnRequest(argv, _variables(), timeout=TRY, grace=GRACE, memory_group=False)
            tried = self._slot.spawner.spawn(request)
            if tried.status == "cancelled":
                raise KeyboardInterrupt
            if tried.status != "ok":
                what, remedy = remote_failures.reason(tried.tail)
                what = what or f"started no program within {TRY:g} s"
                return UnavailableError(what, where="" if _bare(host) in what else host, remedy=remedy)
        return UnavailableError(error.what, where=hosts[0] if len(hosts) == 1 else "", remedy=error.remedy)


def _bare(host: str) -> str:
    """The host without the user."""
    return host.rpartition("@")[2]


def _variables() -> Mapping[str, str]:
    """The variables that mpirun needs to reach hosts by ssh."""
    arguments = " ".join(filter(None, (os.environ.get(ARGUMENTS, ""), OPTIONS)))
    return {ARGUMENTS: arguments, "OMPI_MCA_plm_rsh_no_tree_spawn": "1"} | dict.fromkeys(WHOLE_NAMES, "1")


def read(option: str) -> Sequence[Host]:
    """The hosts of a file; raises UsageError."""
    if not option:
        raise UsageError(
            "the ssh launcher needs hosts", where="--on ssh", remedy="add --hosts FILE, lines HOST slots=CORES"
        )
    try:
        lines = documents.content(Path(option)).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        remedy = "docs/cluster.md has an example"
        raise UsageError(f"cannot be read: {why}", where=option, remedy=remedy) from None
    found: list[Host] = []
    for number, line in enumerate(lines, 1):
        match = LINE.fullmatch(line)
        if match is not None and any(_bare(host.name) == _bare(match[1]) for host in found):
            raise UsageError(f"{match[1]} is listed twice", where=f"{option}:{number}", remedy="write each host once")
        if match is not None:
            found.append(Host(match[1], int(match[2])))
        elif line.partition("#")[0].strip():
            raise UsageError(
                f"not a host: {line.strip()!r}",
                where=f"{option}:{number}",
                remedy="write HOST slots=CORES, without a port (docs/cluster.md)",
            )
    if not found:
        raise UsageError("names no host", where=option, remedy="write a line HOST slots=CORES for each")
    return found
