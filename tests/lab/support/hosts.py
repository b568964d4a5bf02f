# SPDX-License-Identifier: Apache-2.0
"""Two hosts that are network namespaces of this machine, each with a host name and an sshd of its own."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

SSHD = "/usr/sbin/sshd"
NUMBERS = (1, 2)
AGENT_VARIABLE = "OMPI_MCA_plm_rsh_agent"
HIDDEN = "hidden"
"""folder beside the file of hosts that the second of them does not see"""
START = 20.0
"""seconds in which the hosts must answer"""

CONFIGURATION = """
HostKey {folder}/key
ListenAddress 10.213.{k}.2
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


def _network(name: str, k: int) -> None:
    near, far = f"csn{k}", f"csf{k}"
    _run("ip", "netns", "add", name)
    _run("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
    _run("ip", "addr", "add", f"10.213.{k}.1/24", "dev", near)
    _run("ip", "link", "set", near, "up")
    _run("ip", "-n", name, "addr", "add", f"10.213.{k}.2/24", "dev", far)
    _run("ip", "-n", name, "link", "set", far, "up")
    _run("ip", "-n", name, "link", "set", "lo", "up")
    _run("ip", "-n", name, "route", "add", "default", "via", f"10.213.{k}.1")


@contextlib.contextmanager
def two(folder: Path) -> Iterator[Path]:
    """The file of both hosts, of two cores each; Open MPI's agent is set to reach them."""
    for key in ("key", "id"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    agent, forward = folder / "agent", Path("/proc/sys/net/ipv4/ip_forward")
    agent.write_text(AGENT.format(folder=folder))
    agent.chmod(0o755)
    hidden, hide = folder / HIDDEN, f"mount -t tmpfs none {folder / HIDDEN}"
    hidden.mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)
    before = forward.read_text()
    os.environ[AGENT_VARIABLE] = str(agent)
    try:
        forward.write_text("1")
        for k in NUMBERS:
            name, file = f"corescale-host{k}", folder / f"sshd{k}"
            file.write_text(CONFIGURATION.format(folder=folder, k=k))
            _network(name, k)
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
        for k in NUMBERS:
            while subprocess.run([agent, f"10.213.{k}.2", "true"], capture_output=True, check=False).returncode:
                assert time.monotonic() < end
                time.sleep(0.1)
        hosts = folder / "hosts"
        hosts.write_text("# two\n" + "".join(f"10.213.{k}.2 slots=2\n" for k in NUMBERS))
        yield hosts
    finally:
        del os.environ[AGENT_VARIABLE]
        forward.write_text(before)
        for k in NUMBERS:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((folder / f"pid{k}").read_text()), signal.SIGTERM)
            subprocess.run(["ip", "netns", "del", f"corescale-host{k}"], check=False, capture_output=True)
            subprocess.run(["ip", "link", "del", f"csn{k}"], check=False, capture_output=True)
