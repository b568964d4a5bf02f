# SPDX-License-Identifier: Apache-2.0
"""Other corescale processes (labs) that measure on this machine at the same time."""

import functools
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from corescale.topology import read

_NAME = "corescale-measures-"


@functools.cache
def announce() -> socket.socket:
    """Tells other labs, of any user and with any --out, that this process measures. The announcement ends with this
    process.

    An abstract socket without a file; every process of the network namespace finds its name in /proc/net/unix.
    """
    here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with suppress(OSError):  # if it is forbidden here, others are not informed
        here.bind(f"\0{_NAME}{os.getpid()}")
    return here


def processes() -> list[int]:
    """The process ids of the other labs."""
    found = {int(pid) for pid in re.findall(rf"@{_NAME}(\d+)$", read(Path("/proc/net/unix")), re.MULTILINE)}
    return sorted(found - {os.getpid()})


def notes() -> Iterator[str]:
    """The other measurements that may disturb this one now, one line each, with their processes."""
    for pid in processes():
        yield f"another corescale measures on this machine (process {pid}): both disturb each other"


def warnings() -> Iterator[str]:
    """The same as warnings of a launch. They do not name the process, so that equal warnings can be merged."""
    if processes():
        yield "another corescale measured on this machine: both disturb each other"
