# SPDX-License-Identifier: Apache-2.0
"""What tests with a real mpirun share."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from corescale.observe.launchers import mpi

ROOT = Path(__file__).parents[3]
REASON = mpi.mpirun(os.environ["PATH"])[1]
needs_mpi = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def compiled(folder: Path) -> str:
    """ranks.c as a program in this folder; skips the test where there is no compiler for it."""
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if compiler is None:
        pytest.skip("no mpicc (apt-get install libopenmpi-dev)")
    source, program = Path(__file__).with_name("ranks.c"), folder / "ranks"
    subprocess.run(
        [compiler, "-O1", f"-I{ROOT / 'runtime' / 'include'}", source, "-o", program, "-pthread"], check=True
    )
    return str(program)
