# SPDX-License-Identifier: Apache-2.0
"""Programs under the spawner, and what is left of them."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corescale import native
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest

FIXTURE = str(native.find("spawner_fixture"))
SPAWNER = str(native.find("corescale-spawn"))


def spawn(*argv: object, **options: Any) -> SpawnReport:
    return Spawner().spawn(SpawnRequest(tuple(map(str, argv)), **options))


def fixture(*words: object, **options: Any) -> SpawnReport:
    return spawn(FIXTURE, *words, **options)


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        with contextlib.suppress(FileNotFoundError):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def daemon_of(file: Path) -> int:
    assert eventually(lambda: file.exists() and file.read_text())
    return int(file.read_text())
