# SPDX-License-Identifier: Apache-2.0
"""Runs a real experiment that somebody else is going to kill: kill_driver.py PROGRAM ROOT BLOCKS.

Every launch gives sidecars; with KILL_AT_RECORD=N it kills itself where the sidecars of the N-th record are written and
the record is not. Prints one line for each record that was acknowledged, in one write.
"""

import os
import signal
import sys
from pathlib import Path

from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.plan import Invocation
from corescale.machine import Machine
from corescale.observe import launchers, sources, store
from corescale.observe.run import run
from corescale.observe.watcher import Watcher
from corescale.records import Record
from support.blobs import SOURCE
from support.policies import blocks


class Acknowledge(Watcher):
    """Says what is on the disk now."""

    def launching(self, invocation: Invocation, line: str) -> None:
        os.write(1, f"launching {invocation.block} {invocation.attempt} {invocation.order}\n".encode())

    def launched(self, record: Record) -> None:
        os.write(1, f"kept {record.block} {record.attempt} {record.order}\n".encode())


def kill_before_record(number: int) -> None:
    """At the instant that matters, which a kill from outside hits by chance."""
    append, left = store.Folder.append, iter(range(number))

    def killed(self: store.Folder, record: Record) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, record)

    store.Folder.append = killed  # type: ignore[method-assign]


def main(program: str, root: str, count: str) -> None:
    experiment = Experiment(
        verb="scan",
        commands=(Command(name="main", argv=(program, "{threads}")),),
        factors=(Factor(name="threads", kind="threads", levels=(1, 2, 3)),),
    )
    sources.SOURCES = (*sources.SOURCES, SOURCE)
    if "KILL_AT_RECORD" in os.environ:
        kill_before_record(int(os.environ["KILL_AT_RECORD"]))
    machine = Machine.here()
    launcher = launchers.create("direct", experiment, machine)
    with store.open_run(experiment, machine, Path(root)) as folder:
        run(experiment, folder, launcher, blocks(experiment, int(count)), Acknowledge())


if __name__ == "__main__":
    main(*sys.argv[1:])
