# SPDX-License-Identifier: Apache-2.0
"""A corescale that is loaded once: for each line that it reads it forks a process, which runs one command.

Its argument: seconds that a command may take.
"""

import importlib
import json
import os
import signal
import sys
from typing import Any

from corescale import cli

# What a command imports where it needs it.
for part in ("corescale.cli.app", "corescale.show.html", "matplotlib.figure", "pandas"):
    importlib.import_module(part)


def run(words: list[str], cwd: str, environment: dict[str, str], **streams: str) -> Any:
    """In the child: the folder, the environment and the streams are those of the command."""
    signal.alarm(int(sys.argv[1]))
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(streams["out"], os.O_WRONLY | os.O_APPEND), 1)
    os.dup2(os.open(streams["err"], os.O_WRONLY | os.O_APPEND), 2)
    sys.argv = ["corescale", *words]
    cli.main()


for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        run(**json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
