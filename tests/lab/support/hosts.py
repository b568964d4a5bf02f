# SPDX-License-Identifier: Apache-2.0
"""Two hosts that are network namespaces of this machine, each with a host name and an sshd of its own.

Names and networks are this process's own, and no setting of the machine is changed: others may do the same meanwhile.
"""

import contextlib
import ipaddress
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

SSHD = "/usr/sbin/sshd"
NUMBERS = (1, 2)
NETWORKS = ipaddress.ip_network("198.18.0.0/15")
"""addresses for tests of networks (RFC 2544)"""
AGENT_VARIABLE = "OMPI_MCA_plm_rsh_agent"
HIDDEN = "hidden"
"""folder beside the file of hosts that the second of them does not see"""
START = 20.0
"""seconds in which the hosts must answer"""

CONFIGURATION = """
HostKey {folder}/key
ListenAddress {address}
AuthorizedKeysFile {folder}/id.pub
PidFile {folder}/pid{k}
UsePAM no
StrictModes no
PermitRootLogin yes
"""
AGENT = """#!/bin/sh
exec ssh -i {folder}/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "$@"
"""


def reason() -> str | None:
    """Why there can be no such hosts here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for name, package in {
        SSHD: "openssh-server",
        "ssh": "openssh-client",
        "ip": "iproute2",
        "mpirun": "openmpi-bin",
    }.items():
        if not shutil.which(name):
            return f"no {name} (apt-get install {package})"
    probe = f"corescale{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        return "no network namespace can be made here"
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return None


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _name(k: int) -> str:
    """Of the namespace, and of the link to it."""
    return f"cs{os.getpid()}h{k}"


def _free() -> ipaddress.IPv4Network:
    """A network that no link of this machine has."""
    taken = subprocess.run(["ip", "-o", "-4", "addr"], capture_output=True, text=True, check=True).stdout
    first = int(NETWORKS.network_address)
    while True:
        found = ipaddress.IPv4Network((first + 8 * random.randrange(NETWORKS.num_addresses // 8), 29))
        if f" {found[1]}/" not in taken:
            return found


def _network(k: int, network: ipaddress.IPv4Network) -> None:
    """The namespace, which is the network's second address; the first is this machine's."""
    name, far = _name(k), "far"
    _run("ip", "netns", "add", name)
    _run("ip", "link", "add", name, "type", "veth", "peer", "name", far, "netns", name)
    _run("ip", "addr", "add", f"{network[1]}/29", "dev", name)
    _run("ip", "link", "set", name, "up")
    Path(f"/proc/sys/net/ipv4/conf/{name}/forwarding").write_text("1")
    _run("ip", "-n", name, "addr", "add", f"{network[2]}/29", "dev", far)
    _run("ip", "-n", name, "link", "set", far, "up")
    _run("ip", "-n", name, "link", "set", "lo", "up")
    _run("ip", "-n", name, "route", "add", "default", "via", str(network[1]))


def addresses(file: Path) -> list[str]:
    """Of the hosts in a file."""
    return [line.split()[0] for line in file.read_text().splitlines() if not line.startswith("#")]


def nobody(file: Path) -> str:
    """An address in the first host's network that no host has."""
    return str(ipaddress.ip_address(addresses(file)[0]) + 3)


@contextlib.contextmanager
def two(folder: Path) -> Iterator[Path]:
    """The file of both hosts, of two cores each; Open MPI's agent is set to reach them."""
    for key in ("key", "id"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    agent = folder / "agent"
    agent.write_text(AGENT.format(folder=folder))
    agent.chmod(0o755)
    hidden, hide = folder / HIDDEN, f"mount -t tmpfs none {folder / HIDDEN}"
    hidden.mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)
    networks = {k: _free() for k in NUMBERS}
    os.environ[AGENT_VARIABLE] = str(agent)
    try:
        for k, network in networks.items():
            name, file = _name(k), folder / f"sshd{k}"
            file.write_text(CONFIGURATION.format(folder=folder, k=k, address=network[2]))
            _network(k, network)
            _run(
                "ip",
                "netns",
                "exec",
                name,
                "unshare",
                "--uts",
                "--mount",
                "sh",
                "-c",
                f"hostname h{k}; {hide if k > 1 else 'true'} && exec {SSHD} -f {file}",
            )
        end = time.monotonic() + START
        for network in networks.values():
            while subprocess.run([agent, str(network[2]), "true"], capture_output=True, check=False).returncode:
                assert time.monotonic() < end
                time.sleep(0.1)
        hosts = folder / "hosts"
        hosts.write_text("# two\n" + "".join(f"{network[2]} slots=2\n" for network in networks.values()))
        yield hosts
    finally:
        del os.environ[AGENT_VARIABLE]
        for k in NUMBERS:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((folder / f"pid{k}").read_text()), signal.SIGTERM)
            subprocess.run(["ip", "netns", "del", _name(k)], check=False, capture_output=True)
            subprocess.run(["ip", "link", "del", _name(k)], check=False, capture_output=True)
