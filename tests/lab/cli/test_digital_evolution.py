# SPDX-License-Identifier: Apache-2.0
"""The digital evolution gives one state for any threads and any allocator."""

import functools
import json
import os
import subprocess
from typing import Any

import pytest

from corescale import native
from corescale.declare.catalogue import allocators

REQUEST = ("--width", "9", "--height", "8", "--generations", "60", "--instructions-per-message", "20")


def run(threads: int, allocator: str) -> dict[str, Any]:
    """What it printed; ld.so says on stderr what it could not preload."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment.pop("LD_PRELOAD", None)
    if allocator != "system":
        environment["LD_PRELOAD"] = str(allocators.locate(allocator))
    argv = [str(native.find("digital_evolution")), *REQUEST]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@functools.cache
def expected() -> str:
    """By one thread, under the system's allocator."""
    return str(run(1, "system")["state_hash"])


@pytest.mark.parametrize("allocator", allocators.ALLOCATORS)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_one_state_for_all_threads_and_allocators(threads: int, allocator: str) -> None:
    if allocator != "system" and allocators.find(allocator) is None:
        pytest.skip(allocators.absent(allocator))
    result = run(threads, allocator)
    assert result["threads"] == threads
    assert result["state_hash"] == expected()
    assert result["messages_balance"] is True
    assert result["resource_balances"] is True
