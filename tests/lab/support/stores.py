# SPDX-License-Identifier: Apache-2.0
"""Records, and blocks of them, for a store."""

from typing import Any

from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.observe import store
from corescale.records import Record

SUBJECT = {"programs": {"./solver": {"path": "/solver", "size": 10, "sha256": "abc"}}, "sources": []}


def record(experiment: Experiment, block: int = 0, attempt: int = 0, order: int = 0, **more: Any) -> Record:
    values: dict[str, Any] = {
        "phase": "measure",
        "seed": 1,
        "started": 0.0,
        "wall": 1.5,
        "status": "ok",
        "exit_code": 0,
        "threads_asked": configurations(experiment)[0].layout.p,
    }
    return Record(
        plan=experiment.hash,
        configuration=configurations(experiment)[0],
        block=block,
        attempt=attempt,
        order=order,
        **values | more,
    )


def make_block(folder: store.Store, experiment: Experiment, launches: int = 2) -> None:
    block, attempt = folder.begin()
    for order in range(launches):
        folder.append(record(experiment, block, attempt, order))
    folder.complete()
