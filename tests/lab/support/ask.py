# SPDX-License-Identifier: Apache-2.0
"""Asks a loaded corescale (support/loaded.py) for one command: ask.py SOCKET WORDS..., for `corescale WORDS...`.

It starts in some 20 ms, where the lab takes 0.7 s.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(at: str, words: Sequence[str], cwd: str, environment: Mapping[str, str], files: Mapping[int, int]) -> int:
    """Its exit code; negative: the signal that ended it. `files`: by the numbers that the command finds them at."""
    asked = {"words": [*words], "cwd": cwd, "environment": {**environment}, "files": [*files]}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(at)
        socket.send_fds(server, [b"x"], [*files.values()])
        server.sendall(f"{json.dumps(asked)}\n".encode())
        if __name__ == "__main__":
            for number in PASSED_ON:
                signal.signal(number, lambda number, _: server.sendall(bytes([number])))
        return int(server.makefile().readline())


def inherited() -> dict[int, int]:
    """All files that are open in this process."""
    numbers = [int(file.name) for file in Path("/proc/self/fd").iterdir() if file.exists()]
    return dict(zip(numbers, numbers, strict=True))


if __name__ == "__main__":
    code = ask(sys.argv[1], sys.argv[2:], str(Path.cwd()), os.environ, inherited())
    with contextlib.suppress(OSError):
        if code < 0:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
    sys.exit(code)
