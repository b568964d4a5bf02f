# SPDX-License-Identifier: Apache-2.0
"""What the tests of a run folder share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.declare.experiment import Experiment
from corescale.machine import Machine
from corescale.observe import store


@pytest.fixture
def open_run(two_cores: Machine, tmp_path: Path) -> Callable[[Experiment], Any]:
    return lambda experiment: store.open_run(experiment, two_cores, tmp_path / "runs")
