# SPDX-License-Identifier: Apache-2.0
"""The command line as a person meets it: real programs, one line for each mistake, documented exit codes."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from corescale.cli.app import app
from corescale.errors import ExitCode
from support.commands import ROOT, corescale, refused, started
from support.processes import FIXTURE


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["scan", "--", "true", "{thread}"],
            ExitCode.USAGE,
            ["unknown placeholder {thread}", "did you mean {threads}?"],
        ),
        (["tune", "-f", "level=", "--", "true", "{level}"], ExitCode.USAGE, ["-f: factor 'level' has no level"]),
        (["scan", "--threads", "0", "--", "true"], ExitCode.USAGE, ["at least 1"]),
        (["scan", "--", "no-such-program-here"], ExitCode.PROGRAM, ["no-such-program-here", "check the spelling"]),
        (["scan", "--", "./plain"], ExitCode.PROGRAM, ["is not a program", "write what reads it first"]),
        (["scan", "--", "./script"], ExitCode.PROGRAM, ["may not be executed", "chmod +x ./script"]),
        (["scan", "--", "/"], ExitCode.PROGRAM, ["folder"]),
        (["tune", "--allocators", "/etc/hostname", "--", "true"], ExitCode.USAGE, ["/etc/hostname"]),
        (["tune", "--allocators", "/no/such.so", "--", "true"], ExitCode.USAGE, ["/no/such.so"]),
        (["compare", ""], ExitCode.USAGE, ["an empty command"]),
        (["compare", "-r", "6", "false", "false"], ExitCode.PROGRAM, ["exit code 1"]),
        (["scan", "--on", "cloud", "--", "true"], ExitCode.USAGE, ["cloud", "direct"]),
        (["scan", "-L", "x"], ExitCode.USAGE, ["NAME A,B"]),
        (["scan"], ExitCode.USAGE, ["no command"]),
        (["report", "nowhere"], ExitCode.STORE, ["nowhere"]),
        (["scan", "--input", "nowhere", "--", "cat"], ExitCode.USAGE, ["nowhere"]),
    ],
)
def test_a_mistake_is_one_line_and_a_documented_code(
    words: list[str], code: ExitCode, says: list[str], tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("not a program")
    (tmp_path / "script").write_text("#!/bin/sh")
    refused(corescale(*words, cwd=tmp_path), code, *says)


def test_an_unknown_option_is_a_usage_error_with_a_suggestion(tmp_path: Path) -> None:
    done = corescale("scan", "--thread", "2", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "--threads" in done.stderr


def test_every_exit_code_is_documented() -> None:
    rows = re.findall(r"^\| (\d+) \| ([A-Z]+) \|", (ROOT / "docs" / "exit_codes.md").read_text(), re.MULTILINE)
    assert {(int(number), name) for number, name in rows} == {(int(code), code.name) for code in ExitCode}


def test_every_verb_is_in_the_readme() -> None:
    shown = set(re.findall(r"^\| `corescale (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    verbs = {*typer.main.get_group(app).commands} - {"version"}
    assert shown == verbs


def test_scan_prints_a_table_and_keeps_the_records(tmp_path: Path) -> None:
    done = corescale("scan", "-r", "6", "-t", "1,2", "--", "sh", "-c", ": $OMP_NUM_THREADS; sleep 0.02", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "speedup" in done.stdout
    (folder,) = (tmp_path / "corescale-runs").glob("scan-*/1")
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert sum(line.get("phase") == "measure" for line in lines) == 12


def test_json_is_the_only_thing_on_stdout(tmp_path: Path) -> None:
    done = corescale("compare", "-r", "6", "--json", "sleep 0.01", "sleep 0.03", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(("a", "b", "code"), [("0.02", "0.06", ExitCode.REGRESSION), ("0.06", "0.02", ExitCode.OK)])
def test_a_gate_becomes_an_exit_code(a: str, b: str, code: ExitCode, tmp_path: Path) -> None:
    done = corescale("compare", "-r", "8", "--gate", "30%", f"sleep {a}", f"sleep {b}", cwd=tmp_path)
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    "words", [["false", "true"], ["true", "false"], ["true", "sh -c 'test ! -e one || exit 1; touch one'"]]
)
def test_a_command_that_fails_passes_no_gate_whichever_side_it_is_on(words: list[str], tmp_path: Path) -> None:
    done = corescale("compare", "-q", "-r", "6", "--gate", "0%", *words, cwd=tmp_path)
    assert done.returncode == ExitCode.PROGRAM, done.stdout + done.stderr


def test_a_gate_on_memory_becomes_an_exit_code(tmp_path: Path) -> None:
    small, large = (f"{sys.executable} -c 'x = b\"x\" * {size}'" for size in (1_000_000, 60_000_000))
    words = ["compare", "-q", "-r", "6", "--gate", "memory=20%"]
    assert corescale(*words, small, large, cwd=tmp_path).returncode == ExitCode.REGRESSION
    assert corescale(*words, large, small, cwd=tmp_path).returncode == ExitCode.OK


@pytest.mark.parametrize("on", ["memory", "cpu"])
def test_a_lower_bound_passes_no_gate(on: str, tmp_path: Path) -> None:
    """The fixture ignores its children's ends, so that nobody is told what they used."""
    program = f"{FIXTURE} unreaped 0.01"
    words = ["compare", "-q", "-r", "6", "--gate", f"{on}=99%", "--cgroup", "off"]
    done = corescale(*words, program, program, cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stdout + done.stderr
    assert "it is a lower bound there" in done.stdout


def test_a_gate_that_cannot_be_answered_is_inconclusive(tmp_path: Path) -> None:
    done = corescale("compare", "-r", "3", "--gate", "30%", "sleep 0.01", "sleep 0.0101", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE


def test_tune_finds_the_shorter_sleep_and_prints_its_line(tmp_path: Path) -> None:
    words = [
        "tune",
        "-t",
        "1",
        "-L",
        "level",
        "20,05",
        "-M",
        "6",
        "--confirm",
        "6",
        "--",
        "sleep",
        "0.{level}",
    ]
    done = corescale(*words, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "sleep 0.05" in done.stdout
    assert "faster than threads=1 level=20" in done.stdout


def test_the_fake_launcher_says_fake_everywhere(tmp_path: Path) -> None:
    (tmp_path / "l.toml").write_text("serial = 0.1\n")
    done = corescale(
        "scan",
        "--on",
        "fake",
        "--landscape",
        "l.toml",
        "-t",
        "1,2",
        "--report",
        "r.html",
        "--export-markdown",
        "-",
        "--",
        "x",
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    assert "fake" in done.stdout
    assert "fake" in (tmp_path / "r.html").read_text()


def test_exports_are_written(tmp_path: Path) -> None:
    exports = ["--export-json", "a.json", "--export-csv", "a.csv", "--export-markdown", "a.md"]
    exports += ["--export-records", "a.records.csv", "--report", "a.html"]
    done = corescale("compare", "-r", "6", *exports, "sleep 0.01", "sleep 0.02", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    results = json.loads((tmp_path / "a.json").read_text())["results"]
    assert [len(result["times"]) for result in results] == [6, 6]
    assert all((tmp_path / name).stat().st_size > 0 for name in ("a.csv", "a.md", "a.html"))
    assert len((tmp_path / "a.records.csv").read_text().splitlines()) == 1 + 12


def test_an_unfinished_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    words = ["scan", "-r", "6", "-t", "1", "--", "sh", "-c", "test -e go || exit 3; exit 0"]
    refused(corescale(*words, cwd=tmp_path), ExitCode.PROGRAM, "exit code 3")
    (tmp_path / "go").touch()
    assert corescale(*words, cwd=tmp_path).returncode == ExitCode.OK
    assert [path.name for path in (tmp_path / "corescale-runs").glob("scan-*/[0-9]*")] == ["1"]


def test_a_rebuilt_program_starts_a_new_run_which_the_first_line_says(tmp_path: Path) -> None:
    def first(*options: str, code: ExitCode = ExitCode.OK) -> str:
        done = corescale("scan", "-q", "-r", "6", "-t", "1", *options, "--", "./p", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return " ".join((done.stdout or done.stderr).partition("\n\n")[0].split())

    (tmp_path / "p").write_text("#!/bin/sh\n")
    (tmp_path / "p").chmod(0o755)
    assert "run 1" not in first()
    assert re.search(r" \[run 2; run 1 of \d\d:\d\d is kept\]", first())
    assert "[shown from run 2, nothing was measured: --fresh measures again]" in first("--continue")
    (tmp_path / "p").write_text("#!/bin/sh\ntrue\n")
    assert re.search(r" \[run 3; run 2 of \d\d:\d\d is kept: another build of ./p\]", first())
    (tmp_path / "p").write_text("#!/bin/sh\n:\n")
    assert "another build of ./p" in first("--continue", code=ExitCode.STORE)
    first("--continue", "--fresh", code=ExitCode.USAGE)


def test_a_rebuilt_library_starts_a_new_run_too(tmp_path: Path) -> None:
    def built(said: str) -> str:
        (tmp_path / "f.c").write_text(f"int f(void) {{ return {said}; }}")
        (tmp_path / "p.c").write_text("int f(void); int main(void) { return f() > 1; }")
        for words in ("-shared -o libf.so f.c", "-o p p.c -L. -lf -Wl,-rpath,$ORIGIN"):
            subprocess.run(["gcc", *words.split()], cwd=tmp_path, check=True)
        done = corescale("scan", "-q", "-r", "6", "-t", "1", "--", "./p", cwd=tmp_path)
        return " ".join(done.stdout.partition("\n\n")[0].split())

    assert "run 1" not in built("0")
    assert re.search(r"\[run 2; run 1 of \d\d:\d\d is kept\]", built("0")), "the same files"
    assert re.search(r"\[run 3; .* is kept: another build of \S+/libf[.]so\]", built("1"))


def test_launches_of_two_builds_have_no_answer_wherever_it_is_read(tmp_path: Path) -> None:
    """The tenth launch replaces one of the programs, as a build in another terminal does."""
    replaced = (
        "echo . >> n; test $(wc -l < n) != 10 || { echo '#!/bin/true' > new; chmod +x new; mv new b; }; sleep 0.01"
    )
    for name in "ab":
        (tmp_path / name).write_text(f"#!/bin/sh\n{replaced if name == 'a' else 'sleep 0.05'}\n")
        (tmp_path / name).chmod(0o755)
    asked = ("-q", "-r", "20", "--gate", "5%", "--export-junit", "j.xml")
    done = corescale("compare", *asked, "--", "./a", "./b", cwd=tmp_path)
    said = "no answer: the launches are not all of one build"
    assert done.stdout.startswith(f"{said}\n") and "faster" not in done.stdout, done.stdout
    assert done.returncode == ExitCode.INCONCLUSIVE and "corescale: ./b changed while it was measured" in done.stderr
    assert 'failures="0" errors="0" skipped="2"' in (tmp_path / "j.xml").read_text()
    (run,) = tmp_path.glob("corescale-runs/compare-*/1")
    assert len((run / "records.jsonl").read_text().splitlines()) < 40, "what cannot count is not launched"
    for shown in (corescale("report", str(run), cwd=tmp_path), corescale("report", str(run), "--json", cwd=tmp_path)):
        assert said in shown.stdout and "./b changed while it was measured; --fresh measures" in shown.stdout
    page = (tmp_path / "report.html").read_text()
    assert said in page and "x slower" not in page and "x faster" not in page


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refused(corescale("scan", "--", "true", cwd=tmp_path), ExitCode.STORE, "corescale-runs", "--out")


def test_a_file_where_the_run_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "corescale-runs").touch()
    refused(corescale("scan", "--", "true", cwd=tmp_path), ExitCode.STORE, "corescale-runs")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    words = ["scan", "-r", "40", "-t", "1,2", "--", "true"]
    refused(started(*words, cwd=tmp_path, preexec_fn=small_files), ExitCode.STORE, "records.jsonl")
    assert corescale(*words, cwd=tmp_path).returncode == ExitCode.OK


def test_a_static_program_under_an_allocator(tmp_path: Path) -> None:
    (tmp_path / "s.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-static", "-o", "s", "s.c"], cwd=tmp_path, check=True)
    done = corescale("tune", "--allocators", "system,jemalloc", "-t", "1", "--", "./s", cwd=tmp_path)
    refused(done, ExitCode.PRELOAD, "static")


def test_a_setuid_program_under_an_allocator(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid program of another user")
    shutil.copy("/bin/true", tmp_path / "s")
    os.chown(tmp_path / "s", 1, 1)
    (tmp_path / "s").chmod(0o4755)
    done = corescale("tune", "--allocators", "system,jemalloc", "-t", "1", "--", "./s", cwd=tmp_path)
    refused(done, ExitCode.PRELOAD, "setuid")


def test_output_of_the_program_cannot_command_the_terminal(tmp_path: Path) -> None:
    script = r"printf '\033]0;owned\007[red]<b>x</b>' >&2; exit {x}"
    done = corescale("scan", "-r", "6", "--report", "r.html", "-L", "x", "0,3", "--", "sh", "-c", script, cwd=tmp_path)
    assert "[red]<b>x</b>" in done.stdout and "\x1b]0;" not in done.stdout + done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "&lt;b&gt;x&lt;/b&gt;" in page and "<b>x</b>" not in page


def test_a_dry_run_launches_nothing(tmp_path: Path) -> None:
    done = corescale("tune", "--dry-run", "-t", "1,2", "--", "touch", "made", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "threads=2\n    touch made\n" in done.stdout and "OMP_NUM_THREADS=1" in done.stdout
    assert not list(tmp_path.iterdir())
