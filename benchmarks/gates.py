# SPDX-License-Identifier: Apache-2.0
"""How often `compare --gate auto` is wrong, by real launches of equal and slower programs: scripts/bench gates.

    scripts/bench gates [--gate auto=3%] [--blocks 40] [--for 3m] [--decisions 1000] [--file build/gates.jsonl]

A piece begins with a noise passport, as `doctor --noise 30s -- PROGRAM` writes it. Each decision then is a whole
`compare --gate auto`, disturbed blocks made again: three of four between equal programs, one against a program whose
launch takes longer by the difference that the gate named. Each decision is a line of the file, written at once; another
piece goes on from there. At the end the file is summed up, all pieces of it; --for 0s does nothing else.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import corescale
from corescale import passport
from corescale.api.gating import gated
from corescale.cli import noise
from corescale.conclude.stats import Interval
from corescale.declare import command_line, quantities
from corescale.declare.request import CompareRequest
from corescale.errors import UsageError
from corescale.machine import Machine

SPIN = """#include <stdlib.h>
int main(int n, char** words) { for (volatile long k = n > 1 ? atol(words[1]) : 0; k > 0; k = k - 1) {} }
"""
SECONDS = 0.01
"""seconds of a launch: long compared with the start of a process, short compared with a thousand decisions"""
EVERY = 4
"""of this many decisions, one is about the slower program"""
Line = Mapping[str, Any]


def spinning(folder: Path) -> tuple[str, int]:
    """A program whose time is that of its loop, and the count that takes SECONDS of CPU."""
    source, program, count = folder / "spin.c", folder / "spin", 20_000_000
    source.write_text(SPIN)
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([program, str(count)], check=True)
    return str(program), round(count * SECONDS / (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before))


def longer(program: str, count: int, difference: float, out: Path) -> int:
    """The count whose launch takes longer by so much: its loop by more, as what is around the loop takes time too."""
    (found,) = corescale.compare(f"{program} 0", f"{program} {count}", name=["A", "B"], runs=40, out=out).answer
    around = found.reference_time.estimate / found.time.estimate
    return round(count * (1 + difference / (1 - around)))


def decisions(gate: str, blocks_at_most: int, until: float, most: int, known: Counter[str]) -> Iterator[Line]:
    """A line for each decision, until the time or as many equal ones are made as asked."""
    machine = Machine.here()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ[passport.VARIABLE] = str(folder / "noise.json")
        program, count = spinning(folder)
        equal = f"{program} {count}"
        noise.measured("30s", equal.split(), json=True)  # half of it for the sentinel
        pairs = passport.of_machine(machine.fingerprint()).commands[equal]
        spread = statistics.median(abs(one) for one in pairs.log_ratios)
        request = CompareRequest(gate=[gate], max_runs=blocks_at_most)
        try:
            declare, gates, _ = gated(partial(command_line.compare, request, (equal, equal), machine), request,
                                      (equal, equal), machine)  # fmt: skip
        except UsageError as error:
            print(f"this piece decides nothing: {error.what}; half of equal pairs differ by {spread:.1%}")
            return
        blocks, difference = declare(None).stop.min_blocks, gates["time"]
        named = blocks * pairs.repeats * pairs.seconds
        slower = f"{program} {longer(program, count, difference, folder / 'runs')}"
        while time.monotonic() < until and known["equal"] < most:
            kind = "slower" if known.total() % EVERY == EVERY - 1 else "equal"
            began = time.monotonic()
            other = slower if kind == "slower" else equal
            run = corescale.compare(equal, other, name=["A", "B"], gate=[gate], max_runs=blocks_at_most,
                                    out=folder / "runs", fresh=True)  # fmt: skip
            (found,) = run.answer
            known[kind] += 1
            yield {"kind": kind, "gate": gate, "verdict": found.gate, "difference": difference, "blocks": blocks,
                   "made": found.ratio.n, "ratio": [found.ratio.estimate, found.ratio.low, found.ratio.high],
                   "named": named, "most": passport.MOST_REPEATS * blocks * pairs.seconds,
                   "took": time.monotonic() - began, "log_ratios": _log_ratios(run), "load": os.getloadavg()[0],
                   "spread": spread, "disturbed": pairs.disturbed, "pairs": len(pairs.log_ratios)}  # fmt: skip


def _log_ratios(run: corescale.Run[Any]) -> list[float]:
    times = run.records.pivot(index="replicate", columns="command", values="time")
    return [round(float(one), 6) for one in np.log(times["B"] / times["A"])]


def share(hits: int, of: int) -> str:
    """`3 of 1000, 0.3% [0.1%, 0.9%]`: the exact interval of Clopper and Pearson at 95%."""
    low = beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return f"{hits} of {of}, {hits / of:.1%} [{low:.1%}, {high:.1%}]"


def decided(line: Line) -> bool:
    """Whether the gate passed or failed, within the seconds that were named at most."""
    return bool(line["verdict"] != "inconclusive" and line["took"] <= line["most"])


def summed_up(lines: Sequence[Line]) -> None:
    """What the decisions of one gate came to."""
    for kind in ("equal", "slower"):
        some = [line for line in lines if line["kind"] == kind]
        if not some:
            continue
        found = [Interval(line["ratio"][0], line["ratio"][1], line["ratio"][2], None, line["made"]) for line in some]
        said = Counter(line["verdict"] for line in some)
        print(f"  {kind}: failed the gate {share(said['failed'], len(some))}; {dict(said)}")
        slower = sum(one.low is not None and one.low > 1 for one in found)
        faster = sum(one.high is not None and one.high < 1 for one in found)
        print(f"    shown slower {share(slower, len(some))}, shown faster {share(faster, len(some))}")
        print(f"    decided within the most that was named: {share(sum(decided(line) for line in some), len(some))}")
    each = partial(_range, lines)
    print(f"  difference {each('difference', '{:.1%}')}, blocks {each('blocks', '{:.0f}')},"
          f" spread {each('spread', '{:.1%}')}, load {each('load', '{:.1f}')}, seconds named {each('named', '{:.1f}')},"
          f" taken {each('took', '{:.1f}')}")  # fmt: skip


def _range(lines: Sequence[Line], name: str, form: str) -> str:
    values = sorted(line[name] for line in lines)
    return " to ".join(form.format(values[k]) for k in (0, len(values) // 2, -1))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gate", default="auto=3%")
    parser.add_argument("--blocks", type=int, default=40, help="that `--gate auto` may take, without a difference")
    parser.add_argument("--for", dest="lasts", default="3m")
    parser.add_argument("--decisions", type=int, default=1000, help="between equal programs")
    parser.add_argument("--file", type=Path, default=Path("build/gates.jsonl"))
    asked = parser.parse_args()
    kept = [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    known = Counter(line["kind"] for line in kept if line["gate"] == asked.gate)
    seconds = float(asked.lasts.removesuffix("s")) if asked.lasts == "0s" else quantities.seconds(asked.lasts, "--for")
    if seconds:
        with asked.file.resolve().open("a") as file:
            for line in decisions(asked.gate, asked.blocks, time.monotonic() + seconds, asked.decisions, known):
                file.write(json.dumps(line) + "\n")
                file.flush()
                kept.append(dict(line))
    for gate in dict.fromkeys(line["gate"] for line in kept):
        print(f"--gate {gate}: least, median and largest of each")
        summed_up([line for line in kept if line["gate"] == gate])


if __name__ == "__main__":
    main()
