# SPDX-License-Identifier: Apache-2.0
"""What strangers do (support/tries.py): remove a run or a program while it is measured, and ask scan about a factor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT, SECONDS
from support.tries import Try, each, must_be

TRIES: tuple[Try, ...] = (
    # The run folder is removed in the middle: the answer is there, and one line says that nothing is kept.
    ("printf '#!/bin/sh\\necho >> n; test $(wc -l < n) -lt 7 || rm -rf gone\\n' > eats; chmod +x eats", 0, ""),
    (
        "COLUMNS=300 corescale scan -q -t 1,2 -r 6 --out gone -- ./eats {threads}",
        6,
        ".*(2 threads are|no difference shown: 2 threads)",
    ),
    ("rm n; corescale scan -q -t 1,2 -r 6 --out gone --json -- ./eats {threads} | python3 -m json.tool", 6, "{"),
    (
        "rm n; corescale compare -q -r 9 --out gone ./eats true 2>&1 >/dev/null",
        6,
        "corescale: gone/compare-.*/1: was removed while it was written; the answer is of what this process had",
    ),
    (
        "rm n; timeout --preserve-status -s INT 3 corescale scan -q -t 1,2 -r 900 --out gone -- ./eats {threads} 9",
        130,
        "corescale: interrupted; no launch is kept",
    ),
    # The program is removed in the middle: no answer from launches that never started; once it is back, it goes on.
    (
        "printf '#!/bin/sh\\necho >> m; test -e keep || test $(wc -l < m) -lt 5 || mv goes away\\n' > goes;"
        " chmod +x goes",
        0,
        "",
    ),
    (
        "corescale scan -q -t 1,2 -r 7 -- ./goes {threads}",
        4,
        "corescale: threads=[12] could not be started: no such program: .*, and it was started before; put it back",
    ),
    (
        "cp away goes; touch keep; COLUMNS=300 corescale scan -q -t 1,2 -r 7 -- ./goes {threads}",
        0,
        ".* .continues run 1, which had 4 of these 14 launches",
    ),
    (  # Launches to warm up count in neither number.
        "corescale compare -q -w 1 -r 6 ./goes true >/dev/null; COLUMNS=300 corescale compare -q -w 1 -r 9 ./goes true"
        " | grep -c -E 'which had 12 of these 18 launches|^9 blocks, 18 launches'",
        0,
        "2",
    ),
    (
        "rm m keep; cp away goes; corescale compare -q -r 9 ./goes true",
        4,
        "corescale: ./goes could not be started: no such program: .*, and it was started before",
    ),
    (
        "rm m; cp away goes; corescale tune -q -t 1,2 --budget 90x -- ./goes {threads}",
        4,
        "corescale: .* could not be started: no such program: .*, and it was started before",
    ),
    # The same through a shell, which says by its exit code that it cannot start it.
    (
        "rm m; cp away goes; corescale scan -q -t 1,2 -r 7 -- sh -c './goes {threads}'",
        4,
        "corescale: threads=[12] failed with exit code 127: sh: .*, and it was started before; put it back",
    ),
    (
        "rm m; cp away goes; corescale tune -q -t 1,2 --budget 90x -- sh -c './goes {threads}'",
        4,
        "corescale: .* failed with exit code 127: sh: .*, and it was started before",
    ),
    (
        "rm -f m; cp away goes; corescale scan -q -i -t 1 -r 7 -- sh -c './goes {threads}' 2>&1 | grep -c 'ed before'",
        1,
        "0",
    ),
    ("corescale explain -q -- sh -c './goes {threads}'", 4, "corescale: sh: failed with exit code 127: sh: .*/goes: "),
    # The folder is removed: one line, and what is known by then.
    (f"mkdir d; cd d; rmdir ../d; {sys.executable} -m corescale explain -q -t 1 -- sleep 0.01", 6, "1 thread x 0.0"),
    (
        f"mkdir d; cd d; rmdir ../d; {sys.executable} -m corescale explain -q -t 1 -- sleep 0.01 2>&1 >/dev/null"
        " | grep -v '^note: not swapped'",
        6,
        "corescale: the working folder was removed",
    ),
    (
        "rm -f n; corescale scan -q --seal -t 1,2,4 -r 6 --out gone -- ./eats {threads} 2>&1 >/dev/null",
        6,
        "corescale: gone/scan-.*/1: was removed while it was written; the answer is of what this process had",
    ),
    # What is written behind a finished run is damage.
    ("corescale scan -q -t 1 -r 1 --out done -- true >/dev/null; mv done/scan-*/1 whole && ls -d whole", 0, "whole"),
    (
        "cp -r whole longer; printf '{\"x' >> longer/records.jsonl; corescale report longer",
        6,
        "corescale: longer/records.jsonl:[0-9]+: is no whole line of a finished run; restore the file",
    ),
    ("cp -r whole more; echo garbage >> more/records.jsonl; corescale report more", 6, "corescale: more/records"),
    (
        "mkdir -p all/scan-1 all/scan-2; cp -r whole all/scan-1/1; cp -r whole all/scan-2/1; touch all/scan-2/1;"
        " cp -r whole all/scan-1/.2.new; corescale report all",  # one that is being made is no run
        6,
        "corescale: all: is no run, and holds 2; name the last one: all/scan-2/1",
    ),
    # A factor that is not p has a verdict, over the baseline.
    ("printf '[times.n]\\n1 = 1\\n3 = 3\\n5 = 5\\n' > n.toml", 0, ""),
    (
        "corescale scan -q -r 6 -t 1 --on fake --landscape n.toml -L n 1,3 -- x {n}",
        0,
        "n=3 is (2.9|3.0).* slower",
    ),
    (
        "corescale scan -q -r 6 -t 1 --on fake --landscape n.toml -L n 1,3,5 --baseline n=3 -- x {n}",
        0,
        "n=1 is (2.9|3.0).* faster than n=3 ",
    ),
    (
        "corescale scan -q -r 6 -t 1 --on fake --landscape n.toml -L n 1,3,5 -- x {n}",
        0,
        "nothing is faster than threads=1 n=1 at 95%",
    ),
    (
        "COLUMNS=300 corescale scan -q -r 6 -t 1,2 -L x 1,3 -- sleep 0.0{x}",
        0,
        "the program reads no number of threads: .*; x=3 is .* slower than x=1 ",
    ),
    ("corescale scan -q -t 1,2 --baseline threads=2 -- true {threads}", 2, "corescale: --baseline: threads=2: a "),
    # An output for each level.
    (
        "corescale compare -q -r 1 --output 'o_{d}.txt' -L d 1,2 'echo {d}' >/dev/null; paste -d, o_1.txt o_2.txt",
        0,
        "1,2",
    ),
    ("corescale compare -q -r 1 --output 'o_{e}' -L d 1,2 'echo {d}'", 2, "corescale: --output: unknown placeholder"),
    (
        "corescale compare -q -r 1 --output '{d}/o' -L d .,no 'echo {d}'",
        2,
        "corescale: --output no/o: cannot be written: no such folder",
    ),
    # Java's virtual machine gives reasons on standard output, and notices on standard error.
    (
        "printf '#!/bin/sh\\necho Error occurred during initialization of VM; echo Picked up JAVA_TOOL_OPTIONS: x >&2;"
        " exit 1\\n' > jvm; chmod +x jvm",
        0,
        "",
    ),
    (
        "corescale scan -q -t 1 -r 1 -- ./jvm",
        4,
        "corescale: the program failed with exit code 1: Picked up .*; --show-output shows what it wrote",
    ),
    (
        "corescale scan -q -t 1 -r 1 --show-output -- ./jvm 2>&1 | tail -1",
        4,
        "corescale: the program failed with exit code 1: Error occurred during initialization of VM; make it work",
    ),
    # Small ones.
    ("corescale scan -q -- '' {threads}", 2, "corescale: no command; put it after the options"),
    (
        "corescale compare -q -r 9 --gate 300% --on fake --landscape n.toml -L n 1,3 'x {n}'",
        0,
        "gate passed: ",
    ),
    (
        "corescale compare -q -r 9 --gate 300% --on fake --landscape n.toml -L n 1,5 'x {n}'",
        1,
        "gate failed: ",
    ),
    ("corescale compare --gate -5% true true", 2, "corescale: --gate: '-5%' is not at least 0%; write 2% or 0.02"),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)


@pytest.mark.parametrize("module", ["difflib", "mmap", "typer", "tomllib"])
def test_ctrl_c_while_python_imports_is_one_line(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", "from corescale.cli import main; main()", "doctor"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "corescale: interrupted\n")
