# SPDX-License-Identifier: Apache-2.0
"""A corescale that is loaded once: for each command that it is asked for (support/ask.py) it forks a process.

Its arguments: the socket at which it listens, and seconds that a command may take. It ends with its standard input, and
takes the folder of the socket away.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
from pathlib import Path

import corescale
from corescale import cli
from corescale.show.charts import drawing

# What a command imports and makes once, where it needs it.
for part in pkgutil.walk_packages(corescale.__path__, "corescale."):
    if part.name != "corescale.__main__":
        importlib.import_module(part.name)
for name in ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "pandas"):
    importlib.import_module(name)

# The pictures of a page take longer than all else of a command, and tests of pages look at them. Nothing is synced, as
# nothing crashes here.
for holder, name, instead in ((drawing, "svg", lambda _: "<svg></svg>"), (os, "fsync", lambda _: None)):
    setattr(holder, name, instead)


def run(words: list[str], cwd: str, environment: dict[str, str], files: dict[int, int]) -> None:
    """In the child: the folder, the environment and the open files, by their numbers, are those of the command."""
    signal.alarm(int(sys.argv[2]))
    atexit._clear()  # what this process registered for its own end
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    beyond = 256
    apart = {number: fcntl.fcntl(file, fcntl.F_DUPFD, beyond) for number, file in files.items()}
    os.closerange(0, beyond)
    for number, file in apart.items():
        os.dup2(file, number)
    os.closerange(beyond, beyond + 2 * len(apart))
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        setattr(sys, name, open(number, mode, closefd=False) if number in files else None)  # noqa: SIM115
    sys.argv = ["corescale", *words]
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    atexit._run_exitfuncs()
    os._exit(code)  # without the end of a large interpreter


def serve(asking: socket.socket) -> None:
    """Run one command and send its exit code. Signals are passed on to it; it is killed where who asked has ended."""
    _, files, _, _ = socket.recv_fds(asking, 1, 64)
    with asking.makefile() as lines:
        asked = json.loads(lines.readline())
    numbers = asked.pop("files")
    if (pid := os.fork()) == 0:
        asking.detach()
        run(**asked, files=dict(zip(numbers, files, strict=True)))
    for file in files:
        os.close(file)
    ended = os.pidfd_open(pid)
    while ended not in select.select([ended, asking.fileno()], [], [])[0]:
        number = asking.recv(1)
        os.kill(pid, number[0] if number else signal.SIGKILL)
        if not number:
            return
    asking.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


gc.freeze()
signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print("loaded", flush=True)
    while sys.stdin.fileno() not in select.select([listener.fileno(), sys.stdin.fileno()], [], [])[0]:
        asking, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            serve(asking)
            os._exit(0)
        asking.close()
shutil.rmtree(Path(sys.argv[1]).parent)
