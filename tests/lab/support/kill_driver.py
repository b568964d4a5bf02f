# SPDX-License-Identifier: Apache-2.0
"""Runs a real experiment that somebody else is going to kill: kill_driver.py PROGRAM ROOT BLOCKS.

Prints one line for each record that was acknowledged, in one write.
"""

import os
import sys
from pathlib import Path

from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.plan import Invocation
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe.run import run
from corescale.observe.watcher import Watcher
from corescale.records import Record
from support.policies import blocks


class Acknowledge(Watcher):
    """Says what is on the disk now."""

    def launching(self, invocation: Invocation, line: str) -> None:
        os.write(1, f"launching {invocation.block} {invocation.attempt} {invocation.order}\n".encode())

    def launched(self, record: Record) -> None:
        os.write(1, f"kept {record.block} {record.attempt} {record.order}\n".encode())


def main(program: str, root: str, count: str) -> None:
    experiment = Experiment(
        verb="scan",
        commands=(Command(name="main", argv=(program, "{threads}")),),
        factors=(Factor(name="threads", kind="threads", levels=(1, 2, 3)),),
    )
    machine = Machine.here()
    launcher = launchers.create("direct", experiment, machine)
    with store.open_run(experiment, machine, Path(root)) as folder:
        run(experiment, folder, launcher, blocks(experiment, int(count)), Acknowledge())


if __name__ == "__main__":
    main(*sys.argv[1:])
