# SPDX-License-Identifier: Apache-2.0
"""What tests with a real SimGrid share."""

import shutil
import subprocess
from pathlib import Path

import pytest

from corescale.observe.launchers.simgrid import Simgrid
from corescale.records import Layout

REASON = Simgrid.cannot(Layout())
needs_simgrid = pytest.mark.skipif(REASON is not None, reason=str(REASON))

PLATFORM = """
nodes = {nodes}
cores = {cores}
rate = {{ 1 = 1.0, 2 = {both} }}
[network]
latency = {latency}
bandwidth = 1e9
[memory]
latency = 0.25
bandwidth = 1e9
"""


def platform(folder: Path, *, nodes: int = 4, cores: int = 4, both: float = 1.0, latency: float = 2.0) -> Path:
    """A platform whose messages take seconds, so that what is simulated is known exactly."""
    path = folder / "cluster.toml"
    path.write_text(PLATFORM.format(nodes=nodes, cores=cores, both=both, latency=latency))
    return path


def compiled(folder: Path, *options: str) -> str:
    """simulated.c as `person`, with its build for SimGrid beside it; skips the test without a compiler for it.

    With the option -DNOTHING_MEASURED its times are known exactly: they hold nothing that was measured here.
    """
    compiler, plain = shutil.which("smpicc"), folder / "person"
    if compiler is None:
        pytest.skip("no smpicc (apt-get install libsimgrid-dev)")
    source = Path(__file__).with_name("simulated.c")
    subprocess.run([compiler, "-O1", *options, source, "-o", f"{plain}.smpi"], check=True)
    plain.write_text("#!/bin/sh\nexit 9\n")
    plain.chmod(0o755)
    return str(plain)
