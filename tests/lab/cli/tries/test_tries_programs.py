# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): programs that fail, words that a shell would read, and names of files."""

from pathlib import Path

from support.tries import Try, each, must_be

TRIES: tuple[Try, ...] = (
    ("corescale scan -- python3 -m nofile 2>&1 | grep -c 'exit code 1: .*No module named nofile'", 4, "1"),
    (
        "corescale compare --prepare 'sleep x' true true 2>&1 | grep -c 'code 1: sleep: invalid time interval'",
        4,
        "1",
    ),
    ("corescale scan -- perl -e 'sub {' 2>&1 | grep -c 'failed with exit code 255: Missing right curly'", 4, "1"),
    (
        "corescale scan --metric m=output:m -- sh -c 'echo notice >&2; echo mesh.dat: cannot be read; exit 7' 2>&1"
        " | grep -c 'exit code 7: mesh.dat: cannot be read'",
        4,
        "1",
    ),
    (
        "printf '>a\n>b\n' > g.fa; corescale scan -- grep -c '>' g.fa",
        2,
        "corescale: command: '>' in 'grep -c > g.fa' is for a shell, .*; -N if '>' is text for grep",
    ),
    ("corescale scan -q -N -t 1 -r 1 -- grep -c '>' g.fa | tail -1", 0, "next: corescale tune -N .*grep -c '>' g.fa"),
    (
        "corescale scan -- sh -c \"grep -c 'a b' g.fa\" '|' sort 2>&1 | grep -c 'write sh -c .*, or add --shell; -N'",
        2,
        "1",
    ),
    (
        "corescale compare 'grep -c \"a b\" g.fa | sort' 2>&1 | sed 's/.*write //; s/, or add.*//' > said; sh said",
        0,
        "0",
    ),
    (
        "corescale scan -q --shell -t 1 -r 1 -- 'sleep 0.01 | cat' | tail -1",
        0,
        "next: corescale tune --shell --allocators auto -- 'sleep 0.01 [|] cat'",
    ),
    (
        "corescale scan --report p.pdf -- true",
        2,
        "corescale: p.pdf: is not the name of an HTML page, as a report is; name it p.html",
    ),
    (
        'printf \'title = "t"\ncommand = "true"\nresponse = "metric:m"\n\' > m.toml; corescale study check m.toml',
        0,
        "note: the program itself must report metric:m",
    ),
    (
        "corescale scan --on direct --ranks 2 -- true",
        2,
        "corescale: --on: the direct launcher starts one rank on one node .*; other launchers may: --on mpi or",
    ),
    (
        "corescale scan --on direct --nodes 2 -- true",
        2,
        "corescale: --on: the direct launcher .*; other launchers may: --on slurm or",
    ),
    (
        "printf 'title = \"t\"\n\n[factor.t]\nlevels = [1]\n' > t.toml; corescale study check t.toml",
        2,
        "corescale: t.toml:3: factor: unknown key 'factor'; did you mean factors",
    ),
    (
        "corescale tune --subject-to 'wall<=1' -- true",
        2,
        "corescale: --subject-to: no metric 'wall'; declare it: --metric wall=SOURCE, from stdout-size, ",
    ),
    # A key of another table.
    (
        "echo 'budget = \"5s\"' >> m.toml; corescale study check m.toml",
        2,
        "corescale: .* write it below .stop",
    ),
    (
        'printf \'title = "t"\n[stop]\ntimeout = "5s"\n\' > s.toml; corescale study check s.toml',
        2,
        "corescale: s.toml:3: stop.timeout: unknown key 'timeout'; write it before the first .table",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
