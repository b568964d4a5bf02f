# SPDX-License-Identifier: Apache-2.0
"""Block sizes worth trying: powers of two around the one that a model predicts for this machine.

The model is that of the library's policy auto (runtime/src/parallel_for/policies.cpp): at a block of sqrt(2 N c / (T w
u)), claims cost as much as the wait for the last block. N is the number of iterations, T the threads, c the time of a
claim, w the time of an iteration, and u the unevenness of equal blocks. A program's loops are unknown before it is
launched. So N and w are taken from the study's loop, and the race corrects the rest.
"""

import math
from collections.abc import Sequence

from corescale import calibration
from corescale.machine import Machine
from corescale.records import Level

NAMES = ("block", "block_size", "chunk", "chunk_size", "grain", "grain_size")
"""placeholders that `auto` is understood for"""

ITERATIONS, ITERATION_NS, UNEVENNESS = 4096, 700.0, 0.1
"""N, w and u of the unit task of Shuai (2021) with its bytes read and written at 1024"""
CLAIM = {"claim_own": 10.0, "line_near": 80.0, "line_far": 200.0}
"""ns; the library's own defaults, used if this machine is not calibrated"""
REACH = 4
"""powers of two tried on each side: N c / w may be off by a factor of 256, because the block is then off by 16"""


def auto(machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
    """The blocks to try, the predicted one first, and a note if typical constants were used."""
    found, missing = calibration.of_machine(machine.fingerprint())
    claim = CLAIM | dict(found.values if found else {})
    groups = len({cpu.l3_domain for cpu in machine.usable})
    centre = predicted(machine.default_max_threads, groups, claim)
    powers = sorted(range(-REACH, REACH + 1), key=lambda power: (abs(power), power))
    levels = [centre * 2**power if power >= 0 else centre // 2**-power for power in powers]
    note = f"constants of this machine from the block levels: {missing}"
    return [level for level in dict.fromkeys(levels) if level >= 1], [note] if missing else []


def predicted(threads: int, groups: int, claim: dict[str, float]) -> int:
    """The power of two that is nearest to the model's block, from 1 to a thread's share."""
    line = claim["claim_own" if threads == 1 else "line_near" if groups == 1 else "line_far"]
    block = math.sqrt(2 * ITERATIONS * line / (threads * ITERATION_NS * UNEVENNESS))
    return int(2 ** round(math.log2(min(max(block, 1.0), max(1.0, ITERATIONS / threads)))))
