# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: studies and weak scans are one way of asking, tried through the same files)
"""`corescale study` and `scan --weak` as a person meets them, with real programs."""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corescale.cli import main
from corescale.declare import programs, studies
from corescale.errors import ExitCode
from corescale.observe import store
from support.commands import ROOT, corescale, refused

STUDY = """\
title = "Sleeping"
command = "sleep 0.0{length}"
[factors]
length = [2, 4]
[columns]
rate = "1 / time"
[stop]
rule = "replicates"
replicates = 6
[[table]]
name = "launches"
columns = { Length = "length", Replicate = "replicate", Time = "time", Rate = "rate" }
[[finding]]
name = "twice"
statement = "Sleeping longer takes longer"
a = { length = "max" }
b = { length = "min" }
claim = "> 1"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sleeping.toml").write_text(STUDY)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the study ran."""
    place = tmp_path_factory.mktemp("finished")
    (place / "sleeping.toml").write_text(STUDY)
    done = corescale("study", "run", "sleeping.toml", "-q", "--json", "--report", "r.html", cwd=place)
    assert done.returncode == ExitCode.OK, done.stderr
    (place / "said.json").write_text(done.stdout)
    return place


@pytest.fixture
def ran(finished: Path, folder: Path) -> Path:
    """Its run folder, as a copy to spoil."""
    (run,) = (finished / "corescale-runs").glob("study-*/1")
    return Path(shutil.copytree(run, folder / "run"))


Inside = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """The command line without a process of its own: what starts nothing need not wait for an interpreter."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["corescale", *words])
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, said.out, said.err)

    return run


def test_a_study_runs_and_its_outputs_come_again_from_records_alone(
    finished: Path, ran: Path, folder: Path, inside: Inside
) -> None:
    said = json.loads((finished / "said.json").read_text())
    headline = re.fullmatch(
        r"1 statement: 1 (?:is )?(holds|open|does not hold)", said["headline"]
    )  # as quiet as it was
    assert said["conclusion"]["kind"] == "study" and headline, said["headline"]
    made = rows(ran / "outputs" / "launches.csv")
    assert list(made[0]) == ["Length", "Replicate", "Time", "Rate"] and len(made) == 12
    assert [(row["Length"], row["Replicate"]) for row in made[:3]] == [("2", "1"), ("2", "2"), ("2", "3")]
    assert all(float(row["Rate"]) == pytest.approx(1 / float(row["Time"])) for row in made)
    assert (
        headline[1] in (ran / "outputs" / "findings.md").read_text() and "Sleeping" in (finished / "r.html").read_text()
    )
    assert inside("report", "run", "--outputs", "again").returncode == ExitCode.OK
    for name in ("launches.csv", "findings.md"):
        assert (folder / "again" / name).read_bytes() == (ran / "outputs" / name).read_bytes()


def test_a_few_blocks_say_what_findings_can_show_and_go_on_until_they_are_decided(folder: Path) -> None:
    run = ("study", "run", "sleeping.toml", "-q", "--json")
    assert corescale(*run, "-r", "4", cwd=folder).returncode == ExitCode.OK
    (place,) = (folder / "corescale-runs").glob("study-*")
    power = corescale("study", "check", "sleeping.toml", "--power", str(place / "1"), cwd=folder)
    assert power.returncode == ExitCode.OK and power.stdout.startswith("twice: scatter "), power.stderr
    done = corescale(*run, "--until-decided", cwd=folder)
    assert done.returncode == ExitCode.OK, done.stderr
    said, made = json.loads(done.stdout), store.load(place / "1")
    assert said["stop"]["reason"] == "decided" and said["headline"] == "1 statement: 1 holds"
    assert len(list(place.glob("[0-9]*"))) == 1 and len({one.block for one in made.records}) in (12, 18, 27, 40)


def test_a_runs_verdicts_enter_the_ledger_and_a_run_of_another_study_does_not(
    ran: Path, folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "data_folder", lambda: folder)
    (folder / "claims.csv").write_text("paper,place,claim,figure,study,finding,note\nP,figure 1,c,2,sleeping,twice,\n")
    refused(inside("study", "claims", "run"), ExitCode.USAGE, "'Sleeping'; corescale study list")
    assert not (folder / "verdicts.csv").exists()
    monkeypatch.setattr(studies, "shipped", lambda: {"sleeping": folder / "sleeping.toml"})
    recorded = inside("study", "claims", "run", "--machine", "mine")
    assert recorded.returncode == ExitCode.OK, recorded.stderr
    (line,) = rows(folder / "verdicts.csv")
    assert (line["machine"], line["study"], line["finding"]) == ("mine", "sleeping", "twice")
    said = re.search(r"(\w+), ratio ([\d.]+) ", (ran / "outputs" / "findings.md").read_text())
    assert said is not None and line["verdict"] == said[1], line
    assert float(line["ratio"].split()[0]) == pytest.approx(float(said[2]), abs=0.006), "three digits, or four"
    assert f"mine: {line['verdict']} {line['ratio']}</details>" in recorded.stdout
    assert line["records"] == hashlib.sha256((ran / "records.jsonl").read_bytes()).hexdigest()[:16]
    assert inside("study", "claims").stdout == recorded.stdout
    refused(inside("study", "claims", "run", "--machine", "a\nb"), ExitCode.USAGE, "--machine: ")
    earlier = "machine,study,finding,at,verdict,ratio,records\nmine,sleeping,thrice,,holds,,\n"
    (folder / "verdicts.csv").write_text(earlier)
    again = ("study", "claims", "run", "--machine", "mine")
    refused(inside(*again), ExitCode.USAGE, "would undo 1 verdict that an earlier run decided, thrice", "--replace")
    assert (folder / "verdicts.csv").read_text() == earlier
    assert inside(*again, "--replace").stdout == recorded.stdout
    shutil.copytree(ran, folder / "two")
    about = json.loads((ran / "environment.json").read_text())
    (folder / "two" / "environment.json").write_text(json.dumps({**about, "changed": ["./p"]}))
    refused(inside("study", "claims", "two", "--machine", "mine"), ExitCode.USAGE, "is of no one build: ./p changed")


def test_changed_outputs_are_shown_over_the_same_records(ran: Path, folder: Path, inside: Inside) -> None:
    assert ran.is_dir()
    (folder / "other.toml").write_text(STUDY.replace('Rate = "rate"', 'Speed = "rate"').replace("Sleeping", "Dozing"))
    again = inside("report", "run", "--study", "other.toml", "--outputs", "again")
    assert again.returncode == ExitCode.OK, again.stderr
    assert list(rows(folder / "again" / "launches.csv")[0])[-1] == "Speed" and "Dozing longer" in again.stdout
    (folder / "third.toml").write_text(STUDY.replace("length", "width"))
    refused(inside("report", "run", "--study", "third.toml"), ExitCode.USAGE, "varies width, the run varies length")


def test_a_run_of_scan_is_shown_and_recorded_as_a_study_of_the_same_factors(
    folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sleeping.toml").write_text(STUDY.replace("[factors]", "[factors]\nthreads = [1]"))
    scan = ("scan", "-t", "1", "-f", "length=2,4", "-r", "6", "-q", "--out", "runs", "--", "sleep", "0.0{length}")
    assert corescale(*scan, cwd=folder).returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE)
    (run,) = (folder / "runs").glob("scan-*/1")
    shown = inside("report", str(run), "--study", "sleeping.toml", "--json")
    assert shown.returncode == ExitCode.OK, shown.stderr
    (said,) = json.loads(shown.stdout)["conclusion"]["findings"]
    monkeypatch.setattr(programs, "data_folder", lambda: folder)
    monkeypatch.setattr(studies, "shipped", lambda: {"sleeping": folder / "sleeping.toml"})
    (folder / "claims.csv").write_text("paper,place,claim,figure,study,finding,note\nP,figure 1,c,2,sleeping,twice,\n")
    assert inside("study", "claims", str(run), "--study", "sleeping.toml").returncode == ExitCode.OK
    (line,) = rows(folder / "verdicts.csv")
    assert (line["finding"], line["verdict"]) == ("twice", said["verdict"])
    refused(inside("study", "claims", str(run)), ExitCode.USAGE, "is not a run of a study")


def test_a_killed_study_goes_on_where_it_was(folder: Path) -> None:
    words = [sys.executable, "-m", "corescale", "study", "run", "sleeping.toml", "-q", "-r", "8"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    kept: list[str] = []
    end = time.monotonic() + 120
    while sum("block-complete" in line for line in kept) < 2:
        assert time.monotonic() < end and started.poll() is None, "it never came to two blocks"
        kept = [
            line
            for path in folder.glob("corescale-runs/study-*/1/records.jsonl")
            for line in path.read_text().splitlines()
        ]
        time.sleep(0.01)
    started.kill()
    started.wait()
    (run,) = (folder / "corescale-runs").glob("study-*/1")
    before = store.load(run)
    assert not before.finished and 2 <= len({record.block for record in before.records}) < 8
    done = corescale("study", "run", "sleeping.toml", "-r", "8", "--outputs", "out", cwd=folder)
    assert done.returncode == ExitCode.OK, done.stderr
    assert [path.name for path in run.parent.iterdir() if path.is_dir()] == ["1"], "it began anew"
    after = store.load(run)
    assert after.finished and after.records[: len(before.records)] == before.records
    assert len(rows(folder / "out" / "launches.csv")) == 16


def test_several_runs_make_the_machine_a_factor(ran: Path, folder: Path, inside: Inside) -> None:
    elsewhere = Path(shutil.copytree(ran, folder / "elsewhere"))
    described = json.loads((elsewhere / "environment.json").read_text())
    described["machine"]["cpu_model"] = "another"
    described["description"]["hostname"] = "elsewhere"
    (elsewhere / "environment.json").write_text(json.dumps(described))
    done = inside("report", "run", "elsewhere", "--outputs", "both", "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    findings = json.loads(done.stdout)["conclusion"]["findings"]
    assert len(findings) == 2 and "elsewhere" in {found["at"]["machine"] for found in findings}
    assert len(rows(folder / "both" / "launches.csv")) == 24
    assert (folder / "report.html").is_file()


def test_records_of_another_format_are_refused(ran: Path, inside: Inside) -> None:
    records = ran / "records.jsonl"
    whole = records.read_text()
    records.write_text(whole.replace('"format":2', '"format":9', 1))
    refused(inside("report", "run"), ExitCode.STORE, "records.jsonl:1", "record format 9, but this version reads 2")
    records.write_text("Threads,Work,Time\n1,1,2.0\n" + whole)
    refused(inside("report", "run"), ExitCode.STORE, "records.jsonl:1")


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("replicates = 6", "replicate = 6", ["sleeping.toml:9", "unknown key 'replicate'", "did you mean replicates?"]),
        ("[columns]", '[derived]\na = "b"\nb = "a"\n[columns]', ["cycle", "sleeping.toml:5"]),
        ("[columns]", '[derived]\na = "1 / (length - 2)"\n[columns]', ["divides by zero at length = 2"]),
        ('Rate = "rate"', 'Rate = "rata"', ["no column 'rata'", "did you mean 'rate'?"]),
        ("sleep 0.0{length}", "no-such-program {length}", ["note: the program no-such-program is not here"]),
    ],
)
def test_check_says_what_is_wrong_in_one_line(
    right: str, wrong: str, says: list[str], folder: Path, inside: Inside
) -> None:
    (folder / "sleeping.toml").write_text(STUDY.replace(right, wrong))
    done = inside("study", "check", "sleeping.toml")
    if says[0].startswith("note"):
        assert done.returncode == ExitCode.OK and says[0] in done.stdout
    else:
        refused(done, ExitCode.USAGE, *says)


def test_new_writes_a_study_that_is_in_order_and_nothing_twice(folder: Path, inside: Inside) -> None:
    assert inside("study", "new", "mine.toml").returncode == ExitCode.OK
    done = inside("study", "check", "mine.toml")
    assert done.returncode == ExitCode.OK and "in order" in done.stdout, done.stderr
    schema = (folder / "mine.toml").read_text().splitlines()[0].removeprefix("#:schema ")
    assert json.loads(Path(schema).read_text())["title"] == "StudyFile"
    refused(inside("study", "new", "mine.toml"), ExitCode.USAGE, "exists already")


def test_what_ships_is_listed_and_found_by_name(inside: Inside) -> None:
    listed = inside("study", "list").stdout
    for path in (ROOT / "studies").glob("*.toml"):
        assert path.stem in listed.splitlines()
    done = inside("study", "run", "demo", "--dry-run")
    assert done.returncode == ExitCode.OK and "kroA100.tsp" in done.stdout
    refused(inside("study", "run", "dmo"), ExitCode.USAGE, "did you mean demo?")
    refused(inside("study", "run"), ExitCode.USAGE, "a study is missing")


def test_weak_scaling_of_any_program(tmp_path: Path) -> None:
    words = ["scan", "--weak", "-q", "--json", "-r", "6", "-t", "1,2", "-L", "load", "1,3", "--"]
    done = corescale(*words, "sh", "-c", "sleep 0.02; sleep 0.0$(( {load} ))", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    found = json.loads(done.stdout)["conclusion"]
    assert [curve["label"] for curve in found["curves"]] == ["load=1", "load=3"]
    assert [line["p"] for line in found["weak"]["lines"]] == [1, 2] and found["weak"]["refusal"] == ""
    for line in found["weak"]["lines"]:
        a = line["parameters"]["a"]
        assert a["low"] is not None and a["estimate"] >= 0.019, "what no work takes is at least the first sleep"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--", "sleep", "0.0{threads}"], ["neither {load} nor {work}"]),
        (["-L", "work", "4,8", "--", "sleep", "0.0{work}"], ["not constant", "4 at p = 1"]),
        (["--serial", "true", "--", "sleep", "0.0{work}"], ["--serial"]),
    ],
)
def test_what_is_no_weak_scaling_is_refused(words: list[str], says: list[str], inside: Inside) -> None:
    refused(inside("scan", "--weak", "-t", "1,2", *words), ExitCode.USAGE, *says)


def test_work_that_does_not_grow_with_the_threads_is_found_out(tmp_path: Path) -> None:
    words = ["scan", "--weak", "-q", "-r", "6", "-t", "1,2", "-L", "load", "1", "--"]
    done = corescale(*words, "sh", "-c", 'sleep 0.02; echo "{\\"work\\": 1, \\"load\\": {load}}"', cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    said = " ".join(done.stdout.split())
    assert "this is not weak scaling" in said and "the program reports, 1 at p = 1 and 0.5 at p = 2" in said
