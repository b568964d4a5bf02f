# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims as Markdown: a table for each paper, a column for each machine that was measured."""

from collections.abc import Sequence

from corescale.declare.claims import Claim, Verdict

HEAD = """\
# The claims of five papers, and what our machines say

Printed by `corescale study claims`, from data/claims.csv and data/verdicts.csv. A verdict is a study's finding: it
*holds* or *does not hold* where the whole interval of the ratio lies within the claim or outside it, and is *open*
else. *Not on this machine*: what it compares was not there. *Not run*: the study has no recorded run on that
machine. `corescale study claims RUN` records the verdicts of a run of a study.

Each answer has its confidence by itself: of ten answers where nothing differs, one says "> 1 holds" by chance in every
seventh run of six blocks, so a single one among open ones says little. A row is one run; another may say otherwise.
"""
SAID = {"not measured": "not on this machine"}


def ledger(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> str:
    """Every claim with its verdicts; counts first."""
    machines = sorted({one.machine for one in verdicts})
    parts = [HEAD, "".join(_counts(claims, verdicts, machine) for machine in machines)]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        parts.append(_table(paper, [claim for claim in claims if claim.paper == paper], verdicts, machines))
    return "\n".join(parts)


def _counts(claims: Sequence[Claim], verdicts: Sequence[Verdict], machine: str) -> str:
    asked = {(claim.study, claim.finding) for claim in claims if claim.finding}
    mine = [one for one in verdicts if one.machine == machine and (one.study, one.finding) in asked]
    said = {verdict: sum(one.verdict == verdict for one in mine) for verdict in dict.fromkeys(v.verdict for v in mine)}
    counts = ", ".join(f"{SAID.get(verdict, verdict)} {count}" for verdict, count in sorted(said.items()))
    return f"* {machine}: {counts}; a claim may have several answers.\n"


def _table(paper: str, claims: Sequence[Claim], verdicts: Sequence[Verdict], machines: Sequence[str]) -> str:
    heads = ["where", "claim", "its figure", "study: finding", *machines]
    rows = [
        [one.place, one.claim, one.figure, _asked(one), *(_said(one, verdicts, m) for m in machines)] for one in claims
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return f"## {paper}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _asked(claim: Claim) -> str:
    return f"{claim.study}: {claim.finding}" if claim.finding else "none"


def _said(claim: Claim, verdicts: Sequence[Verdict], machine: str) -> str:
    if not claim.finding:
        return claim.note
    key = (machine, claim.study, claim.finding)
    found = [one for one in verdicts if (one.machine, one.study, one.finding) == key]
    return "<br>".join(_line(one) for one in found) or "not run"


def _line(one: Verdict) -> str:
    said = " ".join(filter(None, [SAID.get(one.verdict, one.verdict), one.ratio]))
    return f"{one.at}: {said}" if one.at else said
