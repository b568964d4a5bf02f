# SPDX-License-Identifier: Apache-2.0
"""What else there is on the machine that a measurement should know of: other labs that measure, and processes that
cannot be seen.
"""

import functools
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from corescale.topology import read

_NAME = "corescale-measures-"
_SYS_PTRACE = 19
"""the capability's bit"""


@functools.cache
def announce() -> socket.socket:
    """Informs other labs, of any user and with any --out, that this process measures; the kernel forgets it at its end.

    An abstract socket without a file; every process of the network namespace finds its name in /proc/net/unix.
    """
    here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with suppress(OSError):  # forbidden here: then others are not informed
        here.bind(f"\0{_NAME}{os.getpid()}")
    return here


def labs(listing: str) -> list[int]:
    """The process ids of the other labs that a text such as /proc/net/unix names."""
    found = {int(pid) for pid in re.findall(rf"@{_NAME}(\d+)$", listing, re.MULTILINE)}
    return sorted(found - {os.getpid()})


def notes(root: Path = Path("/")) -> Iterator[str]:
    """What disturbs measurements now, a line each, with the process that it comes from."""
    for pid in labs(read(root / "proc/net/unix")):
        yield f"another corescale measures on this machine (process {pid}): both disturb each other"
    yield from _unseen(root)


def warnings(root: Path = Path("/")) -> Iterator[str]:
    """What makes a launch of now doubtful, a line each; without the process, so that equal warnings are one."""
    if labs(read(root / "proc/net/unix")):
        yield "another corescale measured on this machine: both disturb each other"
    yield from _unseen(root)


def _unseen(root: Path) -> Iterator[str]:
    hidden = hides_processes(read(root / "proc/self/mountinfo"))
    if hidden and not _looks_through(read(root / "proc/self/status")):
        yield (
            "other users' processes cannot be seen (/proc is mounted with hidepid):"
            " what changes its user is neither sampled nor counted"
        )


def hides_processes(mountinfo: str) -> bool:
    """Whether /proc shows a user their own processes alone."""
    options = [line for line in mountinfo.splitlines() if " /proc " in line and " - proc " in line]
    return any(re.search(r"hidepid=(1|2|4|noaccess|invisible|ptraceable)\b", line) for line in options[-1:])


def _looks_through(status: str) -> bool:
    """Whether this process may trace all others (CAP_SYS_PTRACE), and so sees them nevertheless."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> _SYS_PTRACE & 1)
