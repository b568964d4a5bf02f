# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one table)
"""What strangers type: each line through a shell, the exit code, and how the first line of the answer begins.

The first line is that of standard output; where nothing is there, what corescale says on standard error.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT, SECONDS

QUIETLY = "-q -r 1 -t 1"

FAKE = "--on fake --landscape"
"""times of a known truth, for answers that a loaded machine would change"""

GATED = f"corescale compare -q -r 9 --gate 5% {FAKE} gate.toml -n a -n b -L n 1,3 'x {{n}}' 'y {{n}}'"

UNTIL_MEASURED = "until grep -q wall cut/*/1/records.jsonl; do sleep 0.1; done 2>/dev/null"
"""a launch behind it has ended, however long the start took"""

TRIES: tuple[tuple[str, int, str], ...] = (
    # A line that cannot be read: what was likely meant.
    ("corescale ls -l", 2, "corescale: no such command 'ls'; a verb comes first: corescale scan -- ls -l"),
    ("corescale scn", 2, "corescale: no such command 'scn'; did you mean scan?"),
    ("corescale claims", 2, "corescale: no such command 'claims'; did you mean study claims?"),
    (
        "corescale scan ls -l",
        2,
        "corescale: scan: no such option: -l; put -- before the program: corescale scan -- ls -l",
    ),
    ("corescale scan --thread 2 -- true", 2, "corescale: scan: no such option: --thread; did you mean --threads?"),
    ("corescale scan -r two -- true", 2, "corescale: scan: invalid value for '-r'"),
    ("corescale scan", 2, "corescale: no command; put it after --"),
    ("corescale report", 2, "corescale: report: missing argument 'RUN...'"),
    ("corescale compare sleep 0.1", 2, "corescale: compare: '0.1' is no program; quote each command"),
    (
        "corescale compare 'grep -R TODO *'",
        2,
        "corescale: command: '[*]' in .* is for a shell, and no shell is used; write sh -c",
    ),
    ("corescale compare 'ls ~/x'", 2, "corescale: command: '~' in .* is for a shell"),
    (
        "corescale compare --shell zsh 'for i in 1 2; do true; done'",
        2,
        "corescale: compare: 'zsh' would be a command to time",
    ),
    ("corescale compare -i=2 true", 2, "corescale: compare: no such option: -=; -i alone lets any exit code pass"),
    ("corescale compare ''", 2, "corescale: compare: an empty command"),
    ("corescale compare", 2, "corescale: compare: no command"),
    ("corescale --version", 0, "[0-9]+[.][0-9]+"),
    ("corescale -V", 0, "[0-9]+[.][0-9]+"),
    ("corescale -h | grep -c Usage", 0, "1"),
    ("corescale scan -h | grep -c Usage", 0, "1"),
    # Levels.
    ("corescale scan -r 0 -- true", 2, "corescale: -r: 0 runs are no measurement; write -r 10"),
    ("corescale study run -r 0 demo", 2, "corescale: .*-r: 0 runs are no measurement"),
    ("corescale scan -t 1,1,2 -- true", 2, "corescale: -f: threads=1 is given twice"),
    (
        "corescale scan -t 1000000 -- true",
        2,
        "corescale: threads: '1000000' is not a whole number of at least 1 and at most",
    ),
    ("corescale scan -t 1-3 --dry-run -- true | tail -1", 0, "time: "),
    ("corescale scan -t 1 -P x 1000000 1000003 --dry-run -- echo {x} | grep -c 'echo 100000[0-3]$'", 0, "4"),
    ("corescale scan -t 1 -P x 0.1 0.3 -D 0.1 --dry-run -- echo {x} | grep -c 'echo 0.[1-3]$'", 0, "3"),
    ("corescale scan -P x 1 nan -- echo {x}", 2, "corescale: -P: cannot go from 1 to nan by 1"),
    ("corescale scan -P x 1 inf -- echo {x}", 2, "corescale: -P: cannot go from 1 to inf by 1"),
    (
        "corescale scan -P x 1 1e400 -- echo {x}",
        2,
        "corescale: -P: x would have more than 1,000,000,000 levels, and 10,000",
    ),
    ("corescale scan -P x 1 9999999 -- echo {x}", 2, "corescale: -P: x would have 9,999,999 levels, and 10,000 is the"),
    ("corescale scan -L ü 1,2 -- echo {ü}", 2, "corescale: -L: 'ü' cannot be a placeholder; use letters a to z"),
    (
        "corescale compare --dry-run -L c gcc,clang-99 '{c} -O2 x.c' >/dev/null",
        4,
        "corescale: clang-99: no such program; no folder of PATH has it",
    ),
    # What can be checked is checked before anything is launched.
    (
        "corescale scan --export-json no/x.json -- touch made",
        2,
        "corescale: no/x.json: cannot be written: no such folder",
    ),
    ("corescale scan --report . -- touch made", 2, "corescale: .: cannot be written: is a folder"),
    (
        "corescale scan --p-ref 7 -t 1,2 -- touch made",
        2,
        "corescale: --p-ref: p = 7 is not measured; write one of 1, 2",
    ),
    ("corescale compare --gate 5 true false", 2, "corescale: --gate: '5' is not a share; write 2% or 0.02"),
    ("corescale tune --rehearse '' -- touch made", 2, "corescale: --rehearse: no arguments"),
    (
        "corescale scan --metric a=b -- true",
        2,
        "corescale: --metric: 'b' is no source of a metric; write a=stdout-size",
    ),
    ("corescale scan --response fast -- true", 2, "corescale: --response: 'fast' is none; write wall"),
    ("corescale scan --budget 1x30 -- true", 2, "corescale: --budget: '1x30' is not a time; write 90s, 5m or 1h30m"),
    ("corescale scan --budget 1d --dry-run -- true | tail -1", 0, "time: .*at most 24 h"),
    ("printf 12345 | corescale scan -q -r 1 -t 1 --input /dev/stdin -- grep -q 12345", 0, "threads=1: "),
    ("corescale study new n.toml >/dev/null && corescale study check - < n.toml | tail -1", 0, ".* configurations, "),
    ("corescale scan --budget 1h30m --dry-run -- true | tail -1", 0, "time: .*at most 1 h 30 min"),
    ("test ! -e made", 0, ""),
    # Programs.
    (
        "corescale scan -- nonsuch",
        4,
        "corescale: nonsuch: no such program; no folder of PATH has it: check the spelling",
    ),
    ("corescale tune --dry-run -- ./nosuch 2>&1 >/dev/null", 4, "corescale: ./nosuch: no such file; looked from "),
    ("PATH=$PATH:/sbin corescale scan -- nonsuch 2>&1 | grep -c /sbin", 1, "0"),
    # Answers.
    ("printf '[times.command]\\na = 1\\nb = 1\\n[times.n]\\n1 = 1\\n3 = 3\\n' > gate.toml", 0, ""),
    (
        GATED,
        1,
        "a n=3 is [23].* slower than a n=1",
    ),
    (
        f"{GATED} | head -c 1 | wc -c",
        1,
        "1",
    ),
    (
        "corescale compare -q -r 3 'sleep 0.01'",
        0,
        "sleep 0.01: [0-9.]+ ms ± [0-9.]+ [mu]s .mean ± deviation of 3 launches., from",
    ),
    ("corescale scan -q -r 3 -t 1 -- sleep 0.01", 0, "threads=1: [0-9.]+ ms ± "),
    ("corescale compare -q -r 6 true true true", 0, "true #2 looks .* than true, but no 95% interval below 7 blocks"),
    ("printf 'serial = 0.1\\n' > law.toml", 0, ""),
    (f"corescale scan -q -r 6 -t 1,2 {FAKE} law.toml -- x | grep -E 'law:|speedup 1 is'", 1, ""),
    (f"corescale scan -q -r 6 -t 1,2 --law {FAKE} law.toml -- x | grep -c -E 'law:|speedup 1 is'", 0, "2"),
    (
        "corescale scan -q -r 3 -t 1,2 -i -- sh -c 'exit $((OMP_NUM_THREADS - 1))'",
        3,
        "2 threads: all 3 launches failed; 1 thread took",
    ),
    (
        "corescale tune -q -r 6 -t 1 -L n 1,2 --metric b=stdout-size --subject-to 'b<=0' -- echo {n}",
        3,
        "no answer: nothing that was tried meets the constraint .today's launch: b = 2, not <= 0",
    ),
    (
        "corescale tune -q -r 6 -t 1 -L n 100,1 --metric b=stdout-size --subject-to 'b<=3' -- echo {n}",
        0,
        "threads=1 n=1 is the fastest that meets the constraint, and today's launch does not",
    ),
    (
        "corescale scan -q --budget 1s -- sleep 100",
        4,
        "corescale: (today's launch|no configuration succeeded; the last one) did not end within 1 s;"
        " give it more time: --timeout, --budget .the command: sleep 100.",
    ),
    ("corescale scan -q -- false", 4, "corescale: today's launch failed with exit code 1; make it work, or pass -i"),
    # A budget that was typed binds whatever else was: a number of blocks, and a block that is under way.
    ("timeout 99 corescale scan -q -r 9999 --budget 3s -t 1 -- sleep 0.05 >/dev/null; test $? != 124", 0, ""),
    (
        "corescale scan -q -r 3 -t 1 --budget 3s -P n 1 200 -- sh -c 'sleep 0.1' {n}",
        3,
        "corescale: --budget: 3 s end after [0-9]+ of the [0-9]+ launches of the first block; about [0-9]+ s have time",
    ),
    ("corescale scan -r 1000 --budget 4s --dry-run -- sleep 0.05 | tail -1", 0, "time: .* at most 4 s .--budget"),
    # A command that never succeeds, and -i as hyperfine has it.
    ("corescale compare -q -r 3 true false", 3, "false never succeeded: its last launch failed with exit code 1"),
    ("corescale compare -q -r 6 -i 'sleep 0.01' 'sh -c \"sleep 0.1; exit 3\"' | grep -c 'sh -c .*0.031'", 0, "1"),
    ("corescale compare -q -v -r 1 -i true false | grep -c 'doubt: false failed with exit code 1, and counts'", 0, "1"),
    # Today's launch is what the shell has, and a larger budget goes on.
    ("OMP_NUM_THREADS=1 corescale tune --dry-run -t 1,2 -- sleep 0.01 | head -2 | tail -1", 0, "    sleep 0.01$"),
    (
        "RAYON_NUM_THREADS=1 corescale tune -q --budget 4x -t 1,3 --export-csv - -- sh -c 'true $RAYON_NUM_THREADS'"
        " | grep -c '^env RAYON_NUM_THREADS=3 sh -c '",
        3,
        "1",
    ),
    (
        "RAYON_NUM_THREADS=1 corescale tune -q --budget 4x -t 1,3 --every-variable --export-csv - --"
        " sh -c 'true $RAYON_NUM_THREADS' | grep -c '^env OMP_NUM_THREADS=3 OPENBLAS_NUM_THREADS=3 '",
        3,
        "1",
    ),
    (
        "OMP_NUM_THREADS=many corescale tune --dry-run -t 1,2 -- true | tail -1",
        0,
        "left out: today's threads from OMP_NUM_THREADS='many': it is no number of threads",
    ),
    (
        "{ corescale tune --budget 3s -t 1,2 -L s 9,8 -- sleep 0.{s} 2>&1 >/dev/null || test $? = 3; }"
        " | grep -c 'buys about [0-9]* launches; 4 configurations need about'",
        0,
        "1",
    ),
    ("corescale tune -q --budget 3x -t 1,2,3,4 -- sleep 0.1", 3, "no answer|not decided"),
    (
        "corescale tune -q --budget 4x -t 1,2 -- sh -c 'case $LD_PRELOAD in *listener*) exit 9; esac; sleep 0.0$((3 /"
        " ${OMP_NUM_THREADS:-1}))' >/dev/null; test $? != 4 && echo it bears no listener",
        0,
        "it bears no listener",
    ),
    (
        "corescale tune -q --budget 5s --export-records r.csv -- sleep 0.5 >/dev/null; test $(wc -l <r.csv) -lt 12",
        0,
        "",
    ),
    ("corescale tune -q --budget 3x --out more -t 1-2 -L s 2,1 -- sleep 0.0{s} >/dev/null; ls more/tune-*", 0, "1$"),
    ("corescale tune -q --budget 9x --out more -t 1-2 -L s 2,1 -- sleep 0.0{s} >/dev/null; ls more/tune-*", 0, "1$"),
    (
        "corescale tune -q --budget 3x --out more -t 1-2 -L s 2,1 -- sleep 0.0{s} >/dev/null; ls -r more/tune-*",
        0,
        "lock$|2$",
    ),
    (
        "corescale tune -q --more --out none",
        2,
        "corescale: --more: there is no tune in none; corescale tune -- COMMAND",
    ),
    ("corescale tune -q --more --out more >/dev/null; ls -r more/tune-*", 0, "lock$|2$"),
    # Programs into which no allocator can be preloaded.
    (
        "printf 'int main(void) { for (volatile int k = 0; k < 60000000;) ++k; }' | cc -x c -static -o fixed -",
        0,
        "",
    ),
    ("corescale scan -q -r 1 -t 1 --allocators auto -- ./fixed | grep -c 'left out: allocators: ./fixed'", 0, "1"),
    ("corescale scan -q -r 1 -t 1 -- ./fixed | tail -1", 0, "next: corescale tune -- ./fixed$"),
    ("corescale compare -q -r 1 --allocators auto ./fixed true | grep -c 'left out: allocators: ./fixed'", 0, "1"),
    ("corescale scan -q -r 1 -t 1 --allocators auto -- sh -c ./fixed | tail -1", 0, "next: corescale tune -- sh -c "),
    (
        "corescale scan -q -r 1 -t 1 --allocators system,tcmalloc -- ./fixed",
        5,
        "corescale: .*libtcmalloc.* is not in the program",
    ),
    (
        "corescale study run -q -r 1 --command ./fixed --levels allocator=system,tcmalloc --levels threads=1"
        " allocator_profile 2>&1 | grep -c 'left out: tcmalloc: ./fixed is linked statically'",
        0,
        "1",
    ),
    # Ranks that the command starts.
    (
        "mkdir -p by && printf '#!/bin/sh\nexec sleep 0.0$2' > by/mpirun && chmod +x by/mpirun",
        0,
        "",
    ),
    ("corescale scan -q -r 3 -f ranks=1,2 -- by/mpirun -n {ranks} x | grep -c '^ [12] '", 0, "2"),
    (
        "corescale scan -q -r 3 -t 1 -f ranks=2,6 --oversubscribe -- by/mpirun -n {ranks} x",
        0,
        "asked for threads=1 ranks=6, used 0.* cores; n",
    ),
    ("corescale scan -q -r 1 -f layout=2x1x1,1x2x1 -- by/mpirun -n {ranks} x | grep -c '^ *layout=[12]x'", 0, "2"),
    (
        "corescale scan -f ranks=1,2 -- mpirun x",
        2,
        "corescale: mpirun: corescale starts the ranks itself; write mpirun -n {ranks}, or leave mpirun",
    ),
    (
        "corescale scan --on mpi -f ranks=1,2 -- by/mpirun -n {ranks} x",
        2,
        "corescale: --on mpi: the command starts its ranks itself; leave --on out, or ",
    ),
    (
        "corescale scan -q -r 1 -t 1 -f ranks=1 --on mpi -- false 2>&1"
        " | grep -c 'the command: mpirun [^=]*=[^=]* -n 1 false)$'",
        4,
        "1",
    ),
    # What is not installed.
    ("mkdir -p few && for each in env sh sleep grep; do ln -sf $(command -v $each) few/; done", 0, ""),
    (
        "PATH=$PWD/bin:$PWD/few; corescale scan -f ranks=1,2 -- sleep 0.01",
        7,
        "corescale: the mpi launcher needs Open MPI, and mpirun is not here .apt-get install openmpi-bin",
    ),
    (
        'printf \'title = "ranks"\ncommand = "sleep 0.01"\n[factors]\nranks = [1, 2]\n[stop]\nreplicates = 1\n'
        'rule = "replicates"\n\' > ranks.toml; PATH=$PWD/bin:$PWD/few;'
        " corescale study run -q ranks.toml 2>&1 | grep 'left out'",
        0,
        "left out: ranks 2: the mpi launcher needs Open MPI, and mpirun is not here",
    ),
    # A signal is what Ctrl-C is; nohup is heeded.
    (
        f"corescale scan -q -r 1000 -t 1 --out cut -- sleep 0.3 & {UNTIL_MEASURED}; kill $!; wait $!",
        143,
        "corescale: interrupted; what was measured is kept in cut/.*; the same command continues",
    ),
    (
        "trap '' HUP; rm -r cut; corescale scan -q -r 4 -t 1 --out cut -- sleep 0.3 &"
        f" {UNTIL_MEASURED}; kill -HUP $!; wait $!",
        0,
        "threads=1: ",
    ),
    # A reader that leaves changes nothing; a full disk is told.
    ("corescale study list | true", 0, ""),
    (f"corescale scan {QUIETLY} -- true | head -c 1", 0, ""),
    (f"corescale scan {QUIETLY} -- true >/dev/full", 6, "corescale: standard output: cannot be written: No space left"),
    ("corescale study list >&-", 0, ""),
    (f"corescale scan {QUIETLY} -- true $'\\xff' >/dev/null", 0, ""),
    ("corescale scan $'--\\xff' -- true", 2, r"corescale: scan: no such option: --\\udcff"),
    # Records that somebody changed.
    (f"corescale scan {QUIETLY} --out runs -- true >/dev/null && mv runs/scan-*/1 kept && ls -d kept", 0, "kept"),
    ("corescale report -o r.html kept", 0, ""),
    ("corescale report kept kept", 2, "corescale: report: kept: is given twice; give each run once"),
    (
        "cp -r kept copied; corescale report kept copied",
        2,
        "corescale: report: copied: has launches that kept has too; give each run once",
    ),
    ("corescale predict kept --cores nan", 2, "corescale: predict: invalid value for '--cores'"),
    ("corescale predict kept --cores 1000000000000000000000", 2, "corescale: predict: invalid value for '--cores'"),
    (
        "cp -r kept p && echo '{}' > p/plan.json; corescale report p",
        6,
        "corescale: p/plan.json: is no plan of a run; give the folder of a run",
    ),
    (
        "printf '\\xff' > bad.toml; corescale study check bad.toml",
        2,
        "corescale: bad.toml: cannot be read: not UTF-8; save it as UTF-8",
    ),
    (
        "cp -r kept a && sed -i '/wall/d' a/records.jsonl; corescale report a",
        6,
        "corescale: a/records.jsonl: holds 0 launches that count, but 1 were measured",
    ),
    (
        'cp -r kept b && sed -i \'s/"wall":[^,]*/"wall":NaN/\' b/records.jsonl; corescale report b',
        6,
        "corescale: b/records.jsonl:1: wall = nan s is no time of a launch",
    ),
    (
        'cp -r kept c && sed -i \'s/"wall":[^,]*/"wall":-1/\' c/records.jsonl; corescale report c',
        6,
        "corescale: c/records.jsonl:1: wall = -1 s is no time of a launch",
    ),
    (
        'cp -r kept f && sed -i \'s/"wall":[^,]*/"wall":1e-300/\' f/records.jsonl; corescale report f',
        6,
        "corescale: f/records.jsonl:1: wall = 1e-300 s is no time of a launch",
    ),
    (
        'cp -r kept g && sed -i \'s/"user":[^,]*,"wall"/"user":1e9,"wall"/\' g/records.jsonl; corescale report g',
        6,
        "corescale: g/records.jsonl:1: user . system = 1e.09 s within wall = .* s: no machine has the cores",
    ),
    (
        'cp -r kept h && sed -i \'s/"started":[^,]*/"started":-1/\' h/records.jsonl; corescale report h',
        6,
        "corescale: h/records.jsonl:1: started = -1 s is before 1970",
    ),
    (
        "cp -r kept d && sed -i 1p d/records.jsonl; corescale report d",
        6,
        "corescale: d/records.jsonl:2: launch 0 of block 0 stands here a second time",
    ),
    (
        'cp -r kept e && sed -i \'s/\\["threads",1\\]/["threads",9]/\' e/records.jsonl; corescale report e',
        6,
        "corescale: e/records.jsonl: block 0 is of threads=9, which the plan does not have",
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all lines, in which `corescale` is this one."""
    folder = tmp_path_factory.mktemp("tries")
    command = folder / "bin" / "corescale"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m corescale "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize(("line", "code", "first"), TRIES, ids=[line[:60] for line, _, _ in TRIES])
def test_a_try(line: str, code: int, first: str, place: Path) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=place,
        env={
            **os.environ,
            "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "COLUMNS": "100",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = [each for each in done.stderr.splitlines() if each.startswith("corescale: ")]
    begins = (done.stdout.splitlines() or said or [""])[0]
    assert done.returncode == code, done.stdout + done.stderr
    assert re.match(first, begins), begins
    assert "Traceback" not in done.stderr
    assert len(said) <= 1


def test_no_two_tries_are_the_same() -> None:
    lines = [line for line, _, _ in TRIES]
    assert len(set(lines)) == len(lines)
