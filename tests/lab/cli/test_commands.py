# SPDX-License-Identifier: Apache-2.0
"""The commands of the README on programs that nobody here wrote."""

import json
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corescale import cli, passport
from corescale.cli import noise
from corescale.errors import ExitCode, InconclusiveError
from support import commands

README = (commands.ROOT / "README.md").read_text(encoding="utf-8")
SIZE = 30_000_000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Text-like: words of a small vocabulary, seeded, so that compressors have something to find."""
    path = tmp_path_factory.mktemp("big") / "words.txt"
    rng = random.Random(7)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4000)]
    page = b" ".join(rng.choices(words, k=350_000))
    with path.open("wb") as file:
        while file.tell() < SIZE:
            file.write(page)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def small(big: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first fifth of it, for what is launched often or is slow."""
    path = tmp_path_factory.mktemp("small") / "words.txt"
    with big.open("rb") as file:
        path.write_bytes(file.read(SIZE // 5))
    return path


def corescale(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = commands.corescale(*words, cwd=cwd)
    decided = {"tune": {0, 3}, "scan": {3}, "compare": {3}}  # two blocks have no interval
    assert done.returncode in decided.get(words[0], {0}), done.stderr
    return done


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)} (scripts/setup test)")


def result(*words: str, cwd: Path) -> dict[str, Any]:
    return dict(json.loads(corescale(words[0], "--json", *words[1:], cwd=cwd).stdout))


@needs("pigz")
def test_the_first_screen_of_the_readme(small: Path, tmp_path: Path) -> None:
    """Its command, with two blocks: the columns that are shown there are printed."""
    command, shown = re.findall(r"^\$ corescale (scan .*)\n([^`]*)```", README, re.MULTILINE)[0]
    verb, *words = command.replace("FILE", str(small)).split()
    done = corescale(verb, "-r", "2", "-t", "1,2", *words, cwd=tmp_path)
    assert "no 95% interval" in done.stdout
    for word in re.findall(r"[a-z]{4,}", shown.split("\n")[2]):  # heads of columns; what is too wide is named below
        assert word in done.stdout


@needs("zstd")
def test_scan_zstd(big: Path, tmp_path: Path) -> None:
    found = result("scan", "-r", "2", "-t", "1,2", "--", "zstd", "-T{threads}", "-3", "-c", str(big), cwd=tmp_path)
    two = found["conclusion"]["curves"][0]["rows"][1]
    assert two["p"] == 2
    if found["headline"].startswith("asked for 2 threads, used "):  # not where others had the cores
        assert 2 - two["effective_cores"] >= 0.5


@needs("zstd")
def test_scan_zstd_says_that_one_core_was_used(big: Path, tmp_path: Path) -> None:
    # --single-thread, last so that -T does not undo it, is what an input that cannot be split looks like from outside.
    words = ["zstd", "-T{threads}", "--single-thread", "-3", "-c", str(big)]
    found = result("scan", "-r", "2", "-t", "1,2", "--", *words, cwd=tmp_path)
    two = found["conclusion"]["curves"][0]["rows"][1]
    others_had_them = two["effective_cores"] < 0.6 or any("noise: " in said for said in found["warnings"])
    assert found["headline"].startswith("asked for 2 threads, used ") or others_had_them, found["headline"]


@needs("gcc")
def test_tune_an_openmp_program_with_every_allocator(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        "#include <omp.h>\n#include <stdlib.h>\n"
        "int main(void) { long s = 0;\n"
        "#pragma omp parallel for reduction(+:s)\n"
        "for (int i = 0; i < 400000; i++) { char *p = malloc(200); p[0] = (char)i; s += p[0]; free(p); }\n"
        "return s == 1; }\n"
    )
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", "my_openmp_program", "p.c"], cwd=tmp_path, check=True)
    words = ["-M", "2", "--confirm", "2", "--allocators", "auto", "--", "./my_openmp_program"]
    found = result("tune", *words, cwd=tmp_path)
    levels = next(factor["levels"] for factor in found["experiment"]["factors"] if factor["name"] == "allocator")
    assert {"system", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc"} <= set(levels)


@needs("pigz")
def test_tune_pigz_levels_under_a_bound_on_its_output(small: Path, tmp_path: Path) -> None:
    words = ["-f", "level=3,6,9", "--subject-to", "bytes<=1.02*baseline", "--metric", "bytes=stdout-size", "-t", "2"]
    words += ["--baseline", "level=6", "-M", "1", "--confirm", "1"]
    done = corescale("tune", *words, "--", "pigz", "-{level}", "-k", "-c", "-p", "{threads}", str(small), cwd=tmp_path)
    assert "bytes" in done.stdout
    assert "not <=" in done.stdout


@needs("xz")
def test_compare_xz(small: Path, tmp_path: Path) -> None:
    a, b = (f"xz -T{threads} -0 -k -c {small}" for threads in (1, 2))
    done = corescale("compare", "--runs", "1", a, b, cwd=tmp_path)
    assert "no 95% interval" in done.stdout


def test_doctor(tmp_path: Path) -> None:
    assert "noise now" in corescale("doctor", cwd=tmp_path).stdout


def test_a_noise_passport_leaves_the_current_folder_empty(tmp_path: Path) -> None:
    """Its launches are beside the passport, also where the time sufficed for too few."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    done = commands.corescale("doctor", "--noise", "1s", cwd=here, also={passport.VARIABLE: str(there / "noise.json")})
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    assert list((there / "noise.runs").rglob("records.jsonl"))
    assert list(here.iterdir()) == []


def test_the_command_takes_no_time_from_the_sentinel(tmp_path: Path) -> None:
    words = ("doctor", "--json", "--noise", "8s", "--", "sleep", "0.01")
    done = commands.corescale(*words, cwd=tmp_path, also={passport.VARIABLE: str(tmp_path / "noise.json")})
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    assert "no pair" not in done.stderr
    assert "allow too few pairs" in done.stderr or json.loads(done.stdout)["sleep 0.01"]["made"] >= 8


def test_what_is_known_to_be_too_short_is_refused_before_the_command_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentinel is made to last for 30 s, so the time of a launch is at least the time that it had."""
    monkeypatch.setattr(cli, "_measured", [])
    monkeypatch.setattr(noise, "SECONDS", 30.0)
    monkeypatch.setenv(passport.VARIABLE, str(tmp_path / "noise.json"))
    with pytest.raises(InconclusiveError, match="3 s for the sentinel allow no pair") as caught:
        noise.measured("6s", ["sleep", "0.01"], json=False)
    assert "the command" not in str(caught.value)
    assert int(caught.value.remedy.split()[-1].rstrip("s")) >= 2 * 2 * 8 * 3
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "noise.json").exists()


def test_a_first_pair_shows_that_the_time_is_too_short(tmp_path: Path) -> None:
    words = ("doctor", "--noise", "8s", "--", "sleep", "0.4")
    began = time.monotonic()
    done = commands.corescale(*words, cwd=tmp_path, also={passport.VARIABLE: str(tmp_path / "noise.json")})
    commands.refused(
        done, ExitCode.INCONCLUSIVE, "4 s for the command allow too few pairs", "it takes 8, and so at least"
    )
    assert time.monotonic() - began < 4 and not done.stdout


OPENMP = """
#include <time.h>
static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
int main(void) {
#pragma omp parallel
  while (cpu() < 0.2) {}
  return 0;
}
"""


@needs("gcc")
def test_a_number_of_threads_that_the_command_sets_is_not_the_one_asked_for(tmp_path: Path) -> None:
    """Threads that wait for a core count too, so that others on the machine do not hide them."""
    (tmp_path / "spin.c").write_text(OPENMP)
    subprocess.run(["gcc", "-O2", "-fopenmp", "spin.c", "-o", "spin"], cwd=tmp_path, check=True)
    words = ("-r", "2", "-t", "1,2", "--")
    assert headline(*words, "env", "OMP_NUM_THREADS=2", "./spin", cwd=tmp_path).startswith("asked for 1 thread, ")
    assert not headline(*words, "./spin", cwd=tmp_path).startswith("asked for 1 thread, ")


def headline(*words: str, cwd: Path) -> str:
    return str(json.loads(corescale("scan", "--json", *words, cwd=cwd).stdout)["headline"])


def test_a_program_that_no_number_of_threads_reaches(tmp_path: Path) -> None:
    assert "{threads}" in headline("-r", "1", "-t", "1,2", "--", "sleep", "0.01", cwd=tmp_path)
    sleeping = ("sh", "-c", "sleep 0.0$OMP_NUM_THREADS")
    assert "{threads}" not in headline("-r", "1", "-t", "1,2", "--", *sleeping, cwd=tmp_path)


def test_what_launches_write_is_shown(tmp_path: Path) -> None:
    done = corescale("compare", "-q", "-r", "2", "--show-output", "echo one", "sh -c 'echo two >&2'", cwd=tmp_path)
    assert sorted(done.stderr.split()) == ["one", "one", "two", "two"]
