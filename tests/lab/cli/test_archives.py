# SPDX-License-Identifier: Apache-2.0
"""report.html carries its run: it is extracted byte for byte, shown again, and refused in one line where damaged."""

import base64
import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

import corescale as lab
from corescale.errors import ExitCode
from corescale.observe.store import archives
from support.commands import corescale
from support.runs import FIXTURES


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its page, which takes seconds to draw."""
    folder = tmp_path_factory.mktemp("drawn")
    shutil.copytree(FIXTURES["scan"], folder / "scan-1" / "1")
    made(folder, "scan-1/1")
    return folder


@pytest.fixture
def page(drawn: Path, tmp_path: Path) -> Path:
    shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report.html"


def made(where: Path, *runs: str) -> Path:
    done = corescale("report", *runs, "-o", "report.html", cwd=where)
    assert done.returncode == ExitCode.OK, done.stderr
    return where / "report.html"


@pytest.mark.parametrize("kind", FIXTURES)
def test_every_kind_of_run_comes_back_byte_for_byte(kind: str, tmp_path: Path) -> None:
    run = tmp_path / "given" / "1"
    shutil.copytree(FIXTURES[kind], run)
    (run / "sealed.json").write_bytes(b"\x00 as it is")
    text = archives.packed({"given/1": run})
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html>{archives.BEGIN}{text}{archives.END}")
    done = corescale("report", "--extract", "page.html", "-o", "back", cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (ExitCode.OK, ["back/given/1"]), done.stderr
    assert contents(tmp_path / "back" / "given" / "1") == contents(run)
    assert text == archives.packed({"given/1": tmp_path / "back" / "given" / "1"})


@pytest.mark.parametrize("runs", [("scan-1/1", "scan-1/2"), ("scan-1/1", "compare-1/1")])
def test_an_archive_of_several_runs_is_none(runs: tuple[str, ...], tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "all.tgz", "w:gz") as file:
        for run in runs:
            file.add(FIXTURES[run.partition("-")[0]], f"corescale-runs/{run}")
    for words in (("report", "all.tgz"), ("compare", "--against", "all.tgz", "true")):
        done = corescale(*words, cwd=tmp_path)
        assert done.returncode == ExitCode.STORE, done.stdout
        assert "all.tgz: is no run, and holds 2; unpack it, and name one run, such as corescale-runs/" in done.stderr


def test_a_page_is_shown_as_its_run_is(page: Path, tmp_path: Path) -> None:
    first, again = (
        corescale("report", path, "--json", "-o", "other.html", cwd=tmp_path) for path in ("scan-1/1", page.name)
    )
    assert again.returncode == ExitCode.OK, again.stderr
    assert again.stdout == first.stdout
    assert lab.load(page).headline == lab.load(tmp_path / "scan-1" / "1").headline
    assert (tmp_path / "other.html").read_text().count(archives.BEGIN) == 1


def test_what_is_extracted_says_the_same(page: Path, tmp_path: Path) -> None:
    assert corescale("report", "--extract", page.name, cwd=tmp_path).stdout == "corescale-runs/scan-1/1\n"
    assert contents(tmp_path / "corescale-runs") == {
        f"scan-1/1/{name}": content for name, content in contents(FIXTURES["scan"]).items()
    }
    again = corescale("report", "--extract", page.name, cwd=tmp_path)
    assert again.returncode == ExitCode.STORE and "is there already" in again.stderr


def test_a_page_of_several_machines_carries_all_their_runs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(FIXTURES["study"], tmp_path / name / "1")
    environment = tmp_path / "two" / "1" / "environment.json"
    environment.write_text(environment.read_text().replace('"cpu_model":"', '"cpu_model":"other '))
    records = tmp_path / "two" / "1" / "records.jsonl"
    records.write_text(records.read_text().replace('"seed":', '"seed":1'))
    made(tmp_path, "amd=one/1", "intel=two/1")
    done = corescale("report", "--extract", "report.html", "-o", "back", cwd=tmp_path)
    assert done.stdout.split() == ["back/amd/one/1", "back/intel/two/1"], done.stderr
    assert contents(tmp_path / "back" / "intel" / "two") == contents(tmp_path / "two")
    refused = corescale("report", "report.html", cwd=tmp_path)
    assert refused.returncode == ExitCode.STORE and "carries several runs" in refused.stderr


def test_an_archive_is_carried_too(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "scan.tar.xz", "w:xz") as file:
        for path in FIXTURES["scan"].iterdir():
            if path.is_file():
                file.add(path, f"any/{path.name}")
    made(tmp_path, "scan.tar.xz")
    assert corescale("report", "--extract", "report.html", cwd=tmp_path).stdout == "corescale-runs/scan\n"
    assert (tmp_path / "corescale-runs/scan/records.jsonl").read_bytes() == (
        FIXTURES["scan"] / "records.jsonl"
    ).read_bytes()


def packed(name: str, kind: bytes = tarfile.REGTYPE) -> str:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:gz") as file:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        file.addfile(member)
    return base64.b64encode(plain.getvalue()).decode()


def turned(level: int, at: int) -> str:
    """The archive in a page of two files, of which one bit at a place is turned."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as file:
        for name in ("run/plan.json", "run/records.jsonl"):
            file.addfile(tarfile.TarInfo(name))
    bytes_ = bytearray(gzip.compress(plain.getvalue(), level))
    bytes_[at] ^= 1
    return base64.b64encode(bytes_).decode()


GZIP, STORED = 10, 5
"""bytes of the header of the format, and of the first block where nothing is compressed"""

DAMAGED = {
    "a second header": f"<!DOCTYPE html>{archives.BEGIN}{turned(0, GZIP + STORED + 512)}{archives.END}",
    "what is compressed": f"<!DOCTYPE html>{archives.BEGIN}{turned(9, GZIP)}{archives.END}",
    "no run": "<!DOCTYPE html><p>a page of somebody else",
    "cut": f"<!DOCTYPE html>{archives.BEGIN}H4sIAAAA",
    "not base64": f"<!DOCTYPE html>{archives.BEGIN}%%%%{archives.END}",
    "no archive": f"<!DOCTYPE html>{archives.BEGIN}{base64.b64encode(b'text').decode()}{archives.END}",
    "above": f"<!DOCTYPE html>{archives.BEGIN}{packed('../../escaped')}{archives.END}",
    "absolute": f"<!DOCTYPE html>{archives.BEGIN}{packed('/tmp/escaped')}{archives.END}",
    "a link": f"<!DOCTYPE html>{archives.BEGIN}{packed('run/plan.json', tarfile.SYMTYPE)}{archives.END}",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_page_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(DAMAGED[kind])
    for words in (("report", "page.html"), ("report", "--extract", "page.html")):
        done = corescale(*words, cwd=tmp_path)
        assert done.returncode == ExitCode.STORE
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("corescale: page.html: "), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_page_is_measured_again_on_another_machine(tmp_path: Path) -> None:
    """By real processes: each configuration's time here over that there, and its gain, with intervals."""
    asked = ("compare", "sleep 0.01", "sleep 0.03", "-r", "8", "--report", "report.html", "-q")
    assert corescale(*asked, cwd=tmp_path).returncode == ExitCode.OK
    done = corescale("study", "run", "--replay", "report.html", "-q", "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    told = json.loads(done.stdout)
    first, second = told["differences"]
    assert first["gain"] is None and second["gain"]["low"] < second["gain"]["estimate"] < second["gain"]["high"]
    assert 0.2 < second["time"]["estimate"] < 5 and told["here"]["launches"] == 16
    said = corescale("study", "run", "--replay", "report.html", "-r", "6", "-q", cwd=tmp_path)
    lines = said.stdout.splitlines()
    assert "T here / T there" in lines[0] and "its gain over the baseline" in lines[1], said.stdout


def test_a_replay_of_an_unfinished_run_leaves_it_as_it_is(tmp_path: Path) -> None:
    done = corescale("compare", "sleep 0.001", "sleep 0.002", "-r", "6", "-q", "--out", "runs", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    (run,) = (tmp_path / "runs").glob("*/1")
    (run / "finished").unlink()
    assert "unfinished" in corescale("report", str(run), cwd=tmp_path).stdout.splitlines()[0]
    before = (run / "records.jsonl").read_bytes()
    done = corescale("study", "run", "--replay", str(run), "-q", "--out", "runs", cwd=tmp_path)
    assert "T here / T there" in done.stdout, done.stderr
    assert (run / "records.jsonl").read_bytes() == before and (run.parent / "2" / "finished").exists()


def test_a_replay_changes_nothing_of_the_plan(page: Path, tmp_path: Path) -> None:
    done = corescale("study", "run", "--replay", page.name, "--command", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and len(done.stderr.splitlines()) == 1
