# SPDX-License-Identifier: Apache-2.0
"""A measured program has the environment, limits and signal dispositions that a plain shell gives it."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from corescale.declare.factors import THREAD_VARIABLES
from support.mpi import needs_mpi

SCRIPT = (
    "env > %s.environment; ulimit -a > %s.limits;"
    " grep -E 'Sig(Blk|Ign|Cgt)|NoNewPrivs|^Cap|^Umask' /proc/self/status > %s.status"
)
HOOK = "echo ${OPENBLAS_NUM_THREADS-unset} > hook"
OF_RANKS = ("OMPI_", "PMIX_", "PRTE_", "ORTE_", "OPAL_", "HWLOC_", "HFI_", "PSM2_", "IPATH_", "GPU_")
OF_THE_LEAF = {"_", "SHLVL", "OLDPWD", "PWD"}
"""What a shell on the way sets; here PWD is the same folder."""


def script(name: str) -> tuple[str, ...]:
    return ("sh", "-c", SCRIPT.replace("%s", name))


def bare(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Without a locale, as in containers, cron, CI and batch jobs; behind nohup, so with signals that are ignored."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    kept |= {"PYTHONPATH": os.pathsep.join(sys.path)}
    behind_nohup = ("sh", "-c", "trap '' HUP QUIT; exec \"$@\"", "sh", *words)
    return subprocess.run(behind_nohup, cwd=folder, env=kept, capture_output=True, text=True, timeout=120, check=False)


def environment(folder: Path, name: str) -> dict[str, str]:
    lines = (folder / f"{name}.environment").read_text().splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines) if key not in THREAD_VARIABLES}


def same_but_for_the_environment(folder: Path) -> None:
    for kind in ("limits", "status"):
        assert (folder / f"inside.{kind}").read_text() == (folder / f"outside.{kind}").read_text()


def test_of_a_program_launched_directly(tmp_path: Path) -> None:
    assert bare(tmp_path, *script("outside")).returncode == 0
    lab = (sys.executable, "-m", "corescale", "scan", "--threads", "1", "--runs", "1", "--out", "runs")
    done = bare(tmp_path, *lab, "--prepare", shlex.join(script("hook")), "--", *script("inside"))
    assert done.returncode == 0, done.stderr
    inside = environment(tmp_path, "inside")
    assert inside.pop("CORESCALE_RESULT")
    assert inside == environment(tmp_path, "outside")
    assert environment(tmp_path, "hook") == environment(tmp_path, "outside")
    same_but_for_the_environment(tmp_path)


@needs_mpi
def test_of_a_rank(tmp_path: Path) -> None:
    root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
    assert bare(tmp_path, "mpirun", *root, "-n", "1", *script("outside")).returncode == 0
    lab = (sys.executable, "-m", "corescale", "scan", "--ranks", "1", "--runs", "1", "--out", "runs")
    done = bare(tmp_path, *lab, "--", *script("inside"))
    assert done.returncode == 0, done.stderr
    inside, outside = (
        {k: v for k, v in environment(tmp_path, name).items() if not k.startswith(OF_RANKS) and k not in OF_THE_LEAF}
        for name in ("inside", "outside")
    )
    assert inside.pop("CORESCALE_RESULT")
    assert inside == outside
    same_but_for_the_environment(tmp_path)


@pytest.mark.parametrize(("name", "value"), [("LC_ALL", "C"), ("LANG", "C"), ("CORESCALE_MALLOC", "hardened")])
def test_a_locale_or_an_allocators_variable_is_a_circumstance_of_a_run(name: str, value: str, tmp_path: Path) -> None:
    lab = (sys.executable, "-m", "corescale", "scan", "--threads", "1", "--runs", "1", "--out", "runs", "--", "true")
    assert bare(tmp_path, "env", f"{name}={value}", *lab).returncode == 0
    (file,) = tmp_path.glob("runs/*/1/environment.json")
    variables = json.loads(file.read_text())["variables"]
    assert variables.get(name) == value
    assert "LC_CTYPE" not in variables


@pytest.mark.parametrize(("given", "seen"), [((), "unset"), (("OPENBLAS_NUM_THREADS=7",), "7")])
def test_corescale_itself_has_one_thread_and_no_program_is_told_so(
    given: tuple[str, ...], seen: str, tmp_path: Path
) -> None:
    look = "read -r _ _ _ lab _ < /proc/$PPID/stat; ls /proc/$lab/task | wc -l > threads; : {threads};"
    look += " echo ${OPENBLAS_NUM_THREADS-unset} > variable"
    lab = (sys.executable, "-m", "corescale", "scan", "-q", "--threads", "1", "--runs", "2", "--out", "runs")
    done = bare(tmp_path, "env", *given, *lab, "--prepare", f"sh -c {shlex.quote(HOOK)}", "--", "sh", "-c", look)
    assert done.returncode == 0, done.stderr
    told = [(tmp_path / name).read_text().strip() for name in ("threads", "variable", "hook")]
    assert told == ["1", seen, seen]
