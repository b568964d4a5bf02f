# SPDX-License-Identifier: Apache-2.0
"""How often `--gate auto` is wrong: equal commands, and one slower by a known share: scripts/bench gates

    scripts/bench gates [BLOCKS [SHARE]]

Each block launches a command twice, and one that does SHARE more. The first quarter of the pairs of equal launches is
the passport; it says how many blocks a gate takes. Each such number of later blocks in a row is a gate on the equal
commands, and one on the slower one. No disturbed block is made again.
"""

import shlex
import sys
import tempfile

import numpy as np

import corescale
from corescale.conclude import detectable, stats
from corescale.conclude.answers.verdict import judge
from corescale.conclude.response import table

LOOP = "n = 0\nfor k in range({}): n += k"
COUNT = 200_000


def command(count: float) -> str:
    return shlex.join([sys.executable, "-I", "-S", "-c", LOOP.format(round(count))])


def main(blocks: int = 800, share: float = 0.2) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = corescale.compare(
            command(COUNT), command(COUNT), command((1 + share) * COUNT),
            name=["A", "same", "slower"], runs=blocks, out=folder, fresh=True,
        )  # fmt: skip
        times = table(run.result.records, "wall")
    a, same, slower = (times.values[:, k] for k in np.argsort([str(c["command"]) for c in times.configurations]))
    equal, true = np.log(same) - np.log(a), np.log(slower) - np.log(a)
    known, rest = equal[: blocks // 4], np.arange(blocks // 4, blocks)
    named = float(np.expm1(np.median(true)))
    needed = detectable.needed(known, named)
    print(f"{blocks} blocks; the slower command takes {named:.1%} longer; half of equal pairs differ by more than"
          f" {np.median(np.abs(known)):.1%}; blocks for that difference: {needed}")  # fmt: skip
    if needed is None:
        return
    gates = [rest[k : k + needed] for k in range(0, rest.size - needed + 1, needed)]
    for name, ratios in (("equal", equal), ("slower", true)):
        found = [stats.hodges_lehmann(ratios[gate], detectable.CONFIDENCE).map(np.exp) for gate in gates]
        said = [judge(one, named, 0.0) for one in found]
        shown = sum(one.low is not None and one.low > 1 for one in found)
        print(f"{name}: {len(gates)} gates, {said.count('failed')} failed, {said.count('passed')} passed,"
              f" {said.count('inconclusive')} inconclusive; shown slower {shown}")  # fmt: skip


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((int, float), sys.argv[1:], strict=False)))
