# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims as Markdown: the counts of each machine, then a row for each claim with its answers folded."""

from collections import Counter
from collections.abc import Sequence

from corescale.declare.claims import Claim, Verdict
from corescale.show.exchange.table import rows_of
from corescale.show.statements import VERDICTS

HEAD = """\
# The claims of five papers, and what our machines say

{claims} claims; {asked} are asked by a finding of a study that ships, and the other {rest} say why not. Rows
"Asked by us" are some of our own questions, and do not count here. Every program is ours: CCR is our `ports`, and TPL
is oneTBB, both in C++. A claim may have several answers, for example one for each number of threads:

| answers on | holds | equal | does not hold | open | share open | not on this machine | from records in data/runs |
| --- | --- | --- | --- | --- | --- | --- | --- |
{counts}
An answer *holds* if the whole 95% interval of its ratio lies within the claim. It *does not hold* if the whole interval
lies outside. If an answer covers several levels, such as sizes, the page shows the mean over them. But such a claim is
about each of them: it holds only if every level's interval lies within, and it does not hold if that of one level lies
outside. So the level that decides against a claim is shown after the mean. It is *equal* if the interval reaches beyond
the claim, and shows that the sides differ by less than a margin: 5%, unless the study names another. Otherwise it is
*open*. It is *not on this machine* if the machine lacks what the claim needs or compares, or the run left it out. The
share of open answers does not count these, and its goal is 25%. The allowed error of 5% is divided among the answers of
a claim, but not among claims. Answers without records come from earlier runs, in which each answer had the whole 5%. If
a machine was busy, the report of the run says which differences mean nothing, whatever their interval.

`corescale study claims` prints this page from data/claims.csv and data/verdicts.csv. `corescale study claims RUN` first
records the answers of a run. `corescale report data/runs/STUDY.tar.xz` shows a recorded run again.
"""


def ledger(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> str:
    """Every claim with its verdicts; first the counts of the papers' own claims."""
    own = [claim for claim in claims if not claim.ours]
    asked = {(claim.study, claim.finding) for claim in own if claim.finding}
    mine = [one for one in verdicts if (one.study, one.finding) in asked]
    counts = "".join(_counts(machine, mine) for machine in sorted({one.machine for one in mine}))
    parts = [HEAD.format(claims=len(own), asked=len(asked), rest=len(own) - len(asked), counts=counts)]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        parts.append(_table(paper, [claim for claim in claims if claim.paper == paper], verdicts))
    return "\n".join(parts)


def _counts(machine: str, verdicts: Sequence[Verdict]) -> str:
    of = [one for one in verdicts if one.machine == machine]
    said = Counter(one.verdict for one in of)
    given = sum(said.values()) - said["not on this machine"]
    left = f"{said['open'] / given:.0%}" if given else "none given"
    counts = [said[verdict] for verdict in VERDICTS]
    cells = [machine, *counts[:-1], left, counts[-1], sum(bool(one.records) for one in of)]
    return f"| {' | '.join(map(str, cells))} |\n"


def _table(paper: str, claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> str:
    heads = ["where", "claim", "its figure", "answers"]
    rows = [[one.place, one.claim, one.figure, _answers(one, verdicts)] for one in claims]
    return "\n".join([f"## {paper}", "", *rows_of(heads, rows), ""])


def _answers(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """The counts of a claim's answers; the finding and each answer are folded below them."""
    if not claim.finding:
        return f"none: {claim.note}"
    found = [one for one in verdicts if (one.study, one.finding) == (claim.study, claim.finding)]
    said = Counter(one.verdict for one in found)
    counts = ", ".join(f"{one} {said[one]}" for one in VERDICTS if said[one]) or "not run"
    lines = "".join(f"<br>{_line(one)}" for one in found)
    return f"<details><summary>{counts}</summary>{claim.study}: {claim.finding}{lines}</details>"


def _line(one: Verdict) -> str:
    said = " ".join(filter(None, [one.verdict, one.ratio]))
    return f"{one.machine}: {f'{one.at}: {said}' if one.at else said}"
