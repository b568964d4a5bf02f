# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims: each is tied to a finding that exists, and its page is what the command prints."""

import functools
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corescale.cli.app import app
from corescale.cli.claims import _ratio
from corescale.conclude.answers.findings import Answer
from corescale.conclude.stats import Interval
from corescale.declare import claims, programs, studies, study_file
from corescale.declare.claims import Verdict
from corescale.declare.outputs import Finding
from corescale.errors import UsageError
from corescale.show.claims import ledger

ROOT = Path(__file__).parents[3]
PAPERS = {"Bell and Hepperger 2012", "Qiu et al. 2010", "Shuai 2021", "Moreno 2020", "Gogar 2016"}
HERE = Verdict("here", "allocator_profile", "faster", "load=2", "holds", "1.10 [1.05, 1.15]")


@functools.cache
def findings(study: str) -> set[str]:
    file = study_file.read(studies.shipped()[study])
    return {one.name for one in file.finding} | {one.name for one in file.overheads}


@pytest.mark.parametrize("claim", claims.claims(), ids=lambda claim: claim.claim[:40])
def test_a_claim_is_tied_to_a_finding_of_its_study_or_says_why_not(claim: claims.Claim) -> None:
    assert claim.paper in PAPERS
    if claim.note:
        assert (claim.study, claim.finding) == ("", "")
    else:
        assert claim.finding in findings(claim.study)


def test_every_paper_is_there_and_no_finding_answers_two_claims() -> None:
    found = claims.claims()
    assert {claim.paper for claim in found} == PAPERS
    tied = [(claim.study, claim.finding) for claim in found if claim.finding]
    assert len(tied) == len(set(tied))


def test_every_verdict_is_of_a_finding_that_exists() -> None:
    assert {(one.study, one.finding) for one in claims.verdicts() if one.finding not in findings(one.study)} == set()


def test_the_page_is_what_the_command_prints() -> None:
    printed = CliRunner().invoke(app, ["study", "claims"])
    assert printed.exit_code == 0
    assert printed.stdout == (ROOT / "docs/claims.md").read_text()


def test_the_counts_of_a_machine_say_how_much_of_what_it_can_give_is_open() -> None:
    claim = next(one for one in claims.claims() if one.finding == "faster")
    others = [HERE._replace(at=f"load={k}", verdict=said) for k, said in enumerate(("open", "not on this machine"))]
    (row,) = (line for line in ledger([claim], [HERE, *others]).splitlines() if line.startswith("| here |"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["here", "1", "0", "0", "1", "50%", "1", "0"]


def test_a_question_of_ours_has_a_row_and_no_count() -> None:
    ours = next(one for one in claims.claims() if one.ours)
    answer = HERE._replace(study=ours.study, finding=ours.finding)
    page = ledger([ours], [answer])
    assert page.startswith("# ") and "\n0 claims; 0 are asked" in page and "| here |" not in page
    assert "<summary>holds 1</summary>" in page


def test_a_machines_verdicts_stand_beside_another_and_what_was_not_there_is_said() -> None:
    there = HERE._replace(machine="there", at="", verdict="not on this machine", ratio="")
    claim = next(one for one in claims.claims() if one.finding == "faster")
    row = next(line for line in ledger([claim], [HERE, there]).splitlines() if claim.claim in line)
    assert "<summary>holds 1, not on this machine 1</summary>" in row
    assert "<br>here: load=2: holds 1.10 [1.05, 1.15]<br>there: not on this machine</details>" in row
    other = next(one for one in claims.claims() if one.study == "ant_colony")
    assert "<summary>not run</summary>" in ledger([other], [HERE])


def test_a_new_run_takes_the_place_of_the_same_machines_and_of_no_other() -> None:
    there = HERE._replace(machine="there")
    new = HERE._replace(at="load=4", verdict="open")
    assert claims.recorded([HERE, there], [new]) == [new, there]


def test_what_was_decided_is_not_undone_by_a_run_that_decides_nothing() -> None:
    undecided = HERE._replace(verdict="open")
    assert claims.lost([HERE], [undecided]) == [HERE]
    assert claims.lost([HERE], [HERE._replace(verdict="does not hold")]) == []
    assert claims.lost([HERE, undecided], [HERE._replace(machine="there", verdict="open")]) == []
    assert claims.lost([undecided], [HERE._replace(at="load=4", verdict="not on this machine")]) == []


def test_what_rests_on_oversubscribed_launches_says_so() -> None:
    finding = Finding(name="faster", statement="", a={"threads": 4}, b={"threads": 1}, claim="> 1")
    ratio = Interval(1.2, 1.1, 1.3, 0.95, 8)
    assert _ratio(Answer(finding, {}, ratio, "holds")) == "1.20 [1.10, 1.30]"
    assert _ratio(Answer(finding, {}, ratio, "holds", oversubscribed=(4,))) == "1.20 [1.10, 1.30] (oversubscribed)"


def test_the_level_that_decides_against_a_claim_is_beside_the_mean() -> None:
    finding = Finding(name="faster", statement="", a={"threads": 4}, b={"threads": 1}, claim="> 1")
    mean, level = Interval(1.2, 1.1, 1.3, 0.95, 8), Interval(0.9, 0.85, 0.95, 0.95, 8)
    answer = Answer(finding, {}, mean, "does not hold", against=("size=9", level))
    assert _ratio(answer) == "1.20 [1.10, 1.30], and at size=9 0.90 [0.85, 0.95]"


def test_verdicts_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "data_folder", lambda: tmp_path)
    quoted = HERE._replace(machine='two cores, "idle"')
    (tmp_path / "verdicts.csv").write_text(claims.text([quoted]))
    assert claims.verdicts() == [quoted]


@pytest.mark.parametrize(
    ("text", "said"),
    [("a,b\n", "verdicts.csv:1"), ("machine,study,finding,at,verdict,ratio,records\nx\n", "verdicts.csv:2")],
)
def test_a_broken_ledger_names_its_line(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "data_folder", lambda: tmp_path)
    (tmp_path / "verdicts.csv").write_text(text)
    with pytest.raises(UsageError, match=said):
        claims.verdicts()
