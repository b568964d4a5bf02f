# SPDX-License-Identifier: Apache-2.0
"""The loop without launches, on landscapes with a known truth."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from corescale.declare import command_line, plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import Block
from corescale.declare.request import TuneRequest
from corescale.machine import Machine
from corescale.observe.run import Policy
from corescale.records import Configuration, Record

Truth = Callable[[Configuration], float]
MACHINE = dataclasses.replace(Machine.here(), affinity=(0, 1, 2, 3), quota_cores=None)


def record(configuration: Configuration, wall: float, **other: Any) -> Record:
    values: dict[str, Any] = {
        "plan": "x", "configuration": configuration, "phase": "measure", "block": 0, "attempt": 0, "order": 0,
        "seed": 1, "started": 0.0, "wall": wall, "status": "ok", "exit_code": 0, "user": wall, "origin": "fake",
    }  # fmt: skip
    return Record(**(values | other))


def play(
    experiment: Experiment,
    truth: Truth,
    next_block: Policy,
    noise: float = 0.01,
    seed: int = 1,
    *,
    capping: bool = True,
    before: Iterable[Record] = (),
) -> list[Record]:
    """The loop without launches: whatever the policy asks for, with log-normal noise around the truth.

    `before`: records of the run that goes on.
    """
    rng = np.random.default_rng(seed)
    records = [*before]
    for made in records:
        next_block.add(made)
    number = len({r.block for r in records})
    while (block := next_block.next_block()) is not None:
        now, seed = baseline(experiment), int(rng.integers(1 << 62))
        since = plan.since_baseline(records, now) if experiment.baseline.returns else None
        for one in plan.invocations(block, number, 0, now, seed, since):
            wall = truth(one.configuration) * math.exp(noise * rng.standard_normal())
            lost = capping and one.cap is not None and wall > one.cap
            ended: dict[str, Any] = {"wall": one.cap, "status": "capped"} if lost else {"wall": wall}
            made_: dict[str, Any] = {"phase": block.phase, "block": number, "order": one.order, "looks": one.looks}
            records.append(record(one.configuration, **(ended | made_)))
            next_block.add(records[-1])
        number += 1
    return records


def after(next_block: Policy, records: Iterable[Record]) -> Block | None:
    """What a policy asks for after these records."""
    for made in records:
        next_block.add(made)
    return next_block.next_block()


def blocks(records: Iterable[Record], phase: str) -> int:
    return len({r.block for r in records if r.phase == phase})


def race_tuning(**options: str) -> Experiment:
    request = TuneRequest(threads="1,2,4", factor=["block=1,2,3,4", "mode=a,b"], **options)  # type: ignore[arg-type]
    return command_line.tune(request, ["x {threads} {block} {mode}"], MACHINE)


def race_truth(c: Configuration) -> float:
    """Fastest by 5%: threads=2 block=3 mode=b."""
    by_block = {1: 1.2, 2: 1.05, 3: 1.0, 4: 1.1}[int(c["block"])]
    return {1: 1.4, 2: 1.0, 4: 1.15}[c.layout.p] * by_block * (1.0 if c["mode"] == "b" else 1.08)
