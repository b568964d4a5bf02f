# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): programs that bear no preload, ranks, what is not installed, signals."""

from pathlib import Path

import pytest

from support.commands import typed
from support.tries import Try, each, must_be

UNTIL_MEASURED = "until grep -q block-complete cut/*/1/records.jsonl; do sleep 0.1; done 2>/dev/null"
"""a block behind it has ended, however long the start took; a launch alone is not kept"""

TRIES: tuple[Try, ...] = (
    # Programs into which no allocator can be preloaded.
    (
        "printf 'int main(void) { for (volatile int k = 0; k < 60000000;) ++k; }' | cc -x c -static -o fixed -",
        0,
        "",
    ),
    ("corescale scan -q -r 1 -t 1 --allocators auto -- ./fixed | grep -c 'left out: allocators: ./fixed'", 0, "1"),
    ("corescale scan -q -r 1 -t 1 -- ./fixed | tail -1", 0, "next: corescale tune -- ./fixed$"),
    ("corescale compare -q -r 1 --allocators auto ./fixed true | grep -c 'left out: allocators: ./fixed'", 3, "1"),
    (
        "COLUMNS= corescale tune -q --allocators auto -- sh -c ./fixed",
        5,
        "no answer: no allocator can be preloaded .lib.* is not in the program: .*; the program reads no number of",
    ),
    (  # A program that a trace alone makes fail.
        'printf \'#!/bin/bash\\ngrep -q "TracerPid:.[1-9]" /proc/$$/status && { echo found a debugger >&2; exit 9; }'
        "\\nsleep 0.02\\n' >hides; chmod +x hides; COLUMNS= corescale tune -q --allocators auto -- ./hides",
        5,
        "no answer: no allocator can be preloaded .the traced launch failed, .*: found a debugger.; the program reads",
    ),
    (
        "corescale compare --budget 1s --prepare 'sleep 9' true",
        3,
        "corescale: --prepare sleep 9: did not end within the budget of 1 s; give it more: --budget",
    ),
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
    ("corescale scan -q -r 3 -f ranks=1,2 -- by/mpirun -n {ranks} x | grep -c '^ [12] '", 3, "2"),
    (
        "corescale scan -q -r 3 -t 1 -f ranks=2,6 --oversubscribe -- by/mpirun -n {ranks} x",
        3,
        "asked for threads=1 ranks=6, used 0.* cores; threads=1 ranks=6 \\(oversubscribed\\) looks ",
    ),
    ("corescale scan -q -r 1 -f layout=2x1x1,1x2x1 -- by/mpirun -n {ranks} x | grep -c '^ *layout=[12]x'", 3, "2"),
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
    # Surroundings that are poor; others are below.
    ("COLUMNS=abc corescale scan -q -r 1 -t 1 -- true", 0, "1 thread: "),
    ("COLUMNS=0 corescale scan -q -r 1 -t 1 -- true", 0, "1 thread: "),
    ("corescale scan -q -r 1 -t 1 --out /dev/null -- true", 6, "corescale: /dev/null/.*: cannot be written: Not a dir"),
    ("cd /proc && corescale scan -q -r 1 -t 1 -- true", 6, "corescale: corescale-runs/.*; choose --out DIR"),
    # Programs that end badly.
    ("corescale scan -q -r 1 -t 1 -- sh -c 'kill -SEGV $$'", 4, "corescale: the program was killed by SIGSEGV"),
    ("printf 'true' > bare; chmod +x bare; corescale scan -q -- ./bare", 4, "corescale: .*nor a script with a #! line"),
    ("printf '#!/no/such' > lost; chmod +x lost; corescale scan -q -- ./lost", 4, "corescale: .*its interpreter or"),
    ("corescale scan -q -- .", 4, "corescale: .: no such program"),
    ("corescale scan -q -r 1 -t 1000 -- true", 0, ".*1000 threads .oversubscribed.: "),
    ("corescale scan -q -- ./few", 4, "corescale: ./few: is a folder, not a program"),
    (
        "corescale scan -q -t 1 -- sh -c 'printf \"\\033[2Jbad\" >&2; exit 3'",
        4,
        r"corescale: the program failed with exit code 3: \\x1b.2Jbad; make it work",
    ),
    (
        "corescale scan -q -t 1 --timeout 1s -- sh -c 'kill -STOP $$'",
        4,
        "corescale: the program did not end .a signal stopped a process of it.*, and was killed after 1[.0-9]* s",
    ),
    ("corescale scan -q -t 1 -r 1 -- sh -c 'sleep 60 & sleep 0.01'", 0, "1 thread: "),
)

AFRESH: tuple[Try, ...] = (
    ("env -i PATH=$PATH PYTHONPATH=$PYTHONPATH corescale scan -q -r 1 -t 1 -- true", 0, "1 thread: "),
    ("HOME=/nonexistent TMPDIR=/nonexistent corescale scan -q -r 1 -t 1 -- true", 0, "1 thread: "),
    ("LC_ALL=xx_YY.UTF-8 PYTHONIOENCODING=ascii corescale scan -q --out l -r 2 -t 1 -- true", 0, "1 thread: .* .xb1 "),
    ("corescale scan -q -r 1 -t 1 -- cat <&-", 0, "1 thread: "),
    ("ulimit -f 0; corescale scan -q -r 1 -t 1 -- true", 6, "corescale: corescale-runs/.*: File too large"),
    ("mkdir gone; cd gone; rmdir ../gone; corescale scan -q -t 1 -- true", 6, "corescale: the working folder was"),
    (
        "mkdir gone; cd gone; rmdir ../gone; corescale scan --dry-run -t 1 -- true 2>&1 | tail -1",
        6,
        "corescale: the working folder was removed; cd to a folder that is there",
    ),
    ("ulimit -v 100000; corescale scan -q -r 1 -t 1 -- true", 7, "corescale: the system gives no more: .*; raise the"),
    # A signal is what Ctrl-C is; nohup is heeded.
    (
        f"corescale scan -q -r 1000 -t 1 --out cut -- sleep 0.3 & {UNTIL_MEASURED}; kill $!; wait $!",
        143,
        "corescale: interrupted; what was measured is kept in cut/.*; the same command continues",
    ),
    (
        "corescale scan -q --fresh -r 1000 -t 1 --out anew -- sleep 0.3 &"
        f" {UNTIL_MEASURED.replace('cut', 'anew')}; kill $!; wait $!",
        143,
        "corescale: interrupted; what was measured is kept in anew/.* .corescale report.$",
    ),
    (
        "corescale explain -q -t 1 --out none -- sh -c 'touch begun; sleep 60' &"
        " until test -e begun; do sleep 0.1; done; kill $!; wait $!",
        143,
        "corescale: interrupted; no launch is kept$",
    ),
    (
        "trap '' HUP; rm -r cut; corescale scan -q -r 4 -t 1 --out cut -- sleep 0.3 &"
        f" {UNTIL_MEASURED}; kill -HUP $!; wait $!",
        0,
        "1 thread: ",
    ),
)


@pytest.fixture(scope="module")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Here the command starts from nothing: limits, locale and signals are those of its own process."""
    return typed(tmp_path_factory.mktemp("tries"), afresh=True).parent


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)


@each(AFRESH)
def test_a_try_in_a_process_of_its_own(line: str, code: int, first: str, own_folder: Path) -> None:
    must_be(line, code, first, own_folder)
