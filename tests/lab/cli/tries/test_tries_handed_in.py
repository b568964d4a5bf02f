# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): files that somebody hands in, and places where nothing may be written."""

from pathlib import Path

from support.tries import Try, each, must_be

QUIETLY = "-q -r 1 -t 1"

FIRST = f"""set -e
corescale explain -q --no-swap -t 1 --out ex -- sh -c 'for k in $(seq 100000); do :; done' >/dev/null
mv ex/*/1.json e.json
head -c 100000 /dev/zero | tr '\\0' '[' > deep.json
printf '#!/bin/sh\\nprintf "\\\\033]0;title\\\\007red\\\\007" >&2; exit 1\\n' > red; chmod +x red
corescale scan {QUIETLY} --out runs -- true >/dev/null; mv runs/scan-*/1 kept
echo mine > notes; cp notes notes.html; ln -s loop loop
"""
"""what several tries read"""

TRIES: tuple[Try, ...] = (
    # Results of explain that somebody changed.
    ("grep -c place e.json", 0, "[1-9]"),
    ("corescale report -o e.html e.json", 0, "1 thread x "),
    (
        'sed \'s/"wall": .*/"wall": 1e999,/\' e.json > inf.json; corescale report inf.json',
        2,
        "corescale: report: 'inf.json' is not a result of explain [(]wall: .*; name a file or folder that an earlier",
    ),
    ('sed \'s/"threads": 1,/"threads": -5,/\' e.json > few.json; corescale report few.json', 2, "corescale: rep"),
    (
        'sed \'s/"seconds": .*,/"seconds": 1e300,/\' e.json > many.json; corescale explain --before many.json -- true',
        2,
        "corescale: --before: 'many.json' is not a result of explain [(]rows",
    ),
    ("corescale explain --before /dev/zero -- true", 2, "corescale: --before: '/dev/zero' .*is not a regular file"),
    ("corescale report deep.json", 2, "corescale: report: 'deep"),
    ("corescale explain --before deep.json -- true", 2, "corescale: --before: 'deep.json' is not a result of explain"),
    (
        "CORESCALE_PASSPORT=deep.json corescale compare --gate auto true true",
        2,
        "corescale: deep.json: is not a noise passport [(].*; make it again",
    ),
    (
        "CORESCALE_PASSPORT=/dev/zero corescale compare --gate auto true true",
        2,
        "corescale: /dev/zero: cannot be read: is not a regular file; name another file by CORESCALE_PASSPORT",
    ),
    # The words of a program are obeyed by no terminal.
    (
        "corescale explain --no-swap -t 1 -- ./red 2>&1 | LC_ALL=C grep -c $'[\\033\\007]'",
        1,
        "0",
    ),
    ("corescale explain --no-swap -t 1 -- ./red 2>&1 | grep -c '^note: ./red failed with exit code 1: red'", 4, "1"),
    (
        'sed \'s/"place": "/"place": "\\\\u001b[2J/\' e.json > red.json;'
        " corescale report red.json 2>&1 | grep -c -e Warning -e 2J",
        1,
        "0",
    ),
    # A run of which a file is missing.
    (
        "cp -r kept nowhere; rm nowhere/environment.json; corescale report nowhere",
        6,
        "corescale: nowhere/environment.json: cannot be read: No such file or directory; restore the file",
    ),
    (
        "cp -r kept empty; rm empty/records.jsonl; corescale report empty",
        6,
        "corescale: empty/records.jsonl: cannot be read: No such file or directory; restore the file",
    ),
    ("corescale study run --replay kept -r 0", 2, "corescale: -r: 0 runs measure nothing; write -r 10"),
    ("corescale study run --replay kept -r 9999999", 2, "corescale: -r: 9,999,999 runs are more than 1,000,000; write"),
    # No file is lost.
    (
        f"corescale scan {QUIETLY} --report notes.html -- true",
        2,
        "corescale: notes.html: exists, and is not a report of corescale; name another file",
    ),
    (
        "corescale report -o notes.html kept",
        2,
        "corescale: notes.html: exists, and is not a report of corescale; name another",
    ),
    ("cat notes.html", 0, "mine"),
    ("corescale report -o out kept", 2, "corescale: out: is not the name of an HTML page, .*; name it out.html$"),
    ("corescale report --export-records a.xlsx kept", 2, "corescale: a.xlsx: is not the name of a text file, as an"),
    (
        f"for k in 1 2; do corescale scan {QUIETLY} --report r.html -- true 2>&1 | grep -c '^report: r'; done | sort",
        0,
        "1",
    ),
    ("corescale calibrate --output notes", 2, "corescale: notes: exists, and is not a calibration of corescale;"),
    ("CORESCALE_PASSPORT=notes corescale doctor --noise 1s", 2, "corescale: notes: exists, and is not a noise passp"),
    ("cat < notes", 0, "mine"),
    (f"corescale scan {QUIETLY} --export-csv notes -- true >/dev/null; head -1 notes", 0, "command,mean"),
    (f"ln -s later link; corescale scan {QUIETLY} --out link -- true >/dev/null; ls later", 0, "scan-"),
    (
        "CORESCALE_PASSPORT=p/n.json corescale doctor --noise 1s -- sleep 1",
        3,
        "corescale: --noise: 0.5 s for the command allow no pair; .*it takes 8, .* at least --noise [1-9][0-9]s",
    ),
    ("corescale report -o loop kept", 2, "corescale: loop: cannot be written: Too many lev"),
    ("corescale compare -r 1 --export-json loop true", 2, "corescale: loop: cannot be written: Too many .*; name a "),
    # What was likely meant.
    ("corescale help scan", 2, "corescale: no such command 'help'; .*: corescale scan --help"),
    ("corescale compare ls -la", 2, "corescale: compare: no such option: -l; quote each command: .*'ls -la' '"),
    ("corescale scan -t auto,auto -- true", 2, "corescale: -t: threads=auto is given twice; each level once"),
    ("corescale tune --baseline , -- true", 2, "corescale: --baseline: '' is not NAME=LEVEL; write --baseline NAME"),
    (
        "corescale scan --weak -L load x,y -t 1,2 -r 1 -- 'echo {load}'",
        2,
        "corescale: --weak: 'p [*] load' calculates with load, which is text at .*; change the formula, or leave those",
    ),
    ("COLUMNS=60 corescale scan --help | grep -c -e '--parameter-list'", 0, "1"),
    # A program that says why it failed on standard output alone.
    (
        f"corescale scan {QUIETLY} -- sh -c 'echo no heap; exit 1'",
        4,
        "corescale: the program failed with exit code 1; .*; --show-output shows what it wrote",
    ),
    (
        f"corescale scan {QUIETLY} --show-output -- sh -c 'echo no heap; exit 1' 2>&1 | tail -1",
        4,
        "corescale: the program failed with exit code 1: no heap; ",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
