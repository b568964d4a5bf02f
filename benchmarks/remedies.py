# SPDX-License-Identifier: Apache-2.0
"""Which remedy pays where: a rule learnt from a run of the study `remedies`, graded on workloads that it has not seen.

scripts/bench remedies RUN [--ledgers FILE]. Each program of the study is explained once, or else FILE has its ledger.
The rule for a remedy: it gives back a fixed share of what its rows of the ledger have, and pays if that is WORTH of the
time or more. The share is a least-squares fit through the origin. The rule for a workload is learnt from the others, so
it has not seen the other program of the same workload either.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale.conclude import stats
from corescale.conclude.explain.changes import CHANGES
from corescale.conclude.explain.changes import WORTH as LISTENS
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.response import table
from corescale.declare.experiment import Experiment
from corescale.observe import store
from corescale.records import Configuration

ROOT = Path(__file__).resolve().parents[1]
WORTH = 0.03
"""share of the time from which on a remedy pays"""


@dataclass(frozen=True)
class Trial:
    """One remedy for one program."""

    program: str
    remedy: str
    share: float
    """share of the thread-seconds in the rows that it could give back"""
    gain: stats.Interval
    """log(T without / T with)"""

    @property
    def workload(self) -> str:
        return self.program.partition("_")[0]

    @property
    def pays(self) -> bool:
        return (self.gain.low or 0.0) > 0 and self.gain.estimate >= WORTH


Rule = Callable[[Trial], bool]


def explained(experiment: Experiment) -> dict[str, dict[str, float]]:
    """The share of each row, of each program, without time in which other programs had the core."""
    found = {}
    for command in experiment.commands:
        line = [str(Path(sys.executable).with_name("corescale")), "explain", "--json", "--no-swap", "-t", "1,2", "--"]
        recorded = command.argv[0].partition("/build/")[0]  # the checkout of the run, perhaps of another machine
        here = [word.replace(recorded, str(ROOT)) for word in command.argv]
        done = subprocess.run([*line, *here], check=True, capture_output=True, text=True)
        shares = {row: each["share"] for row, each in json.loads(done.stdout)["rows"].items()}
        given = 1 - shares.pop(LedgerRow.QUEUED)
        found[command.name] = {row: share / given for row, share in shares.items()}
    return found


def trials(run: store.Run, ledgers: Mapping[str, Mapping[str, float]]) -> list[Trial]:
    """Every configuration that differs in one thing from the usual one of its program."""
    times = table(run.records, run.experiment.response)
    usual = {factor.name: factor.levels[0] for factor in run.experiment.factors if factor.name in CHANGES}
    first = {c.get("command"): c for c in times.configurations if not _changed(c, usual)}
    found = []
    for c in times.configurations:
        for factor in _changed(c, usual):
            program = str(c.get("command"))
            share = sum(ledgers[program].get(row, 0.0) for row in CHANGES[factor].rows)
            gain = stats.hodges_lehmann(times.log_ratio(first[c.get("command")], c))
            found.append(Trial(program, f"{factor}={c.get(factor)}", share, gain))
    return sorted(found, key=lambda one: (one.remedy, one.program))


def _changed(c: Configuration, usual: Mapping[str, object]) -> list[str]:
    return [name for name, level in usual.items() if c.get(name) != level]


def returned(seen: Sequence[Trial], remedy: str) -> float:
    """The share of its rows that a remedy gives back, by least squares."""
    of = [one for one in seen if one.remedy == remedy]
    return sum(one.share * one.gain.estimate for one in of) / (sum(one.share**2 for one in of) or 1.0)


def learnt(found: Sequence[Trial]) -> Rule:
    """For each trial the rule of the other workloads."""

    def tries(one: Trial) -> bool:
        seen = [other for other in found if other.workload != one.workload]
        return returned(seen, one.remedy) * one.share >= WORTH

    return tries


def grade(found: Sequence[Trial], name: str, tries: Rule) -> str:
    tried = [one for one in found if tries(one)]
    most = sum(max(0.0, one.gain.estimate) for one in found if one.pays)
    got = sum(one.gain.estimate for one in tried)
    missed = sum(one.pays for one in found) - sum(one.pays for one in tried)
    slower = sum((one.gain.high or 0.0) < 0 for one in tried)
    right = sum(tries(one) == one.pays for one in found)
    return f"| {name} | {right} of {len(found)} | {len(tried)} | {missed} | {slower} | {got / most:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="a run of the study, or an archive of one")
    parser.add_argument("--ledgers", type=Path, help="a file of ledgers; written if it is not there")
    given = parser.parse_args()
    run = store.load(given.run)
    kept = given.ledgers and given.ledgers.exists()
    ledgers = json.loads(given.ledgers.read_text()) if kept else explained(run.experiment)
    if given.ledgers and not kept:
        given.ledgers.write_text(json.dumps(ledgers))
    rows = [row for row in LedgerRow if row != LedgerRow.QUEUED]
    print(f"| program | {' | '.join(rows)} |\n|" + "---|" * (len(rows) + 1))
    for program, shares in ledgers.items():
        print(f"| {program} | " + " | ".join(f"{shares[row]:.1%}" for row in rows) + " |")
    found = trials(run, ledgers)
    rule = learnt(found)
    print("\n| program | remedy | its rows | time without / with | pays | by the rule of the others |\n|" + "---|" * 6)
    for one in found:
        ratio = one.gain.map(math.exp)
        interval = "" if ratio.low is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
        seen = [other for other in found if other.workload != one.workload]
        foreseen = math.exp(returned(seen, one.remedy) * one.share)
        pays, said = ("yes" if one.pays else ""), (" pays" if rule(one) else "")
        print(f"| {one.program} | {one.remedy} | {one.share:.1%} | {ratio.estimate:.2f}{interval} | {pays} "
              f"| {foreseen:.2f}{said} |")  # fmt: skip
    print("\n| remedy | gives back of its rows |\n|---|---|")
    for remedy in dict.fromkeys(one.remedy for one in found):
        print(f"| {remedy} | {returned(found, remedy):.2f} |")
    print("\n| rule | right | tried | missed | certainly slower | share of the possible gain |\n|" + "---|" * 6)
    print(grade(found, "learnt from the other workloads", rule))
    print(grade(found, "its rows have 1% or more, as the swaps of explain", lambda one: one.share >= LISTENS))
    print(grade(found, "try every remedy", lambda one: True))


if __name__ == "__main__":
    main()
