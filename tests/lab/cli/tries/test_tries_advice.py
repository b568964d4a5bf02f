# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): what a message names is at fault, and what it advises works."""

from pathlib import Path

from support.tries import Try, each, must_be

STUDY = r"""title = "t"
command = "true {n}"
[factors]
n = [1, 2]
[stop]
rule = "replicates"
replicates = 2
"""

FINDING = '[[finding]]\nname = "f"\nstatement = "s"\na = {{n = 1}}\nb = {{n = {}}}\nclaim = "<= 1"\n'


def study(file: str, *more: str, text: str = STUDY) -> Try:
    """Writes a study."""
    return f"cat > {file}.toml <<'E'\n{text}{''.join(more)}\nE", 0, ""


LAST = "p=$(tail -1 said); p=${p#*next: }; p=${p/ tune / tune -q --budget 3s }"
"""the line that a scan advises, as p"""

TRIES: tuple[Try, ...] = (
    # The serial program, with which all levels are compared.
    (
        "corescale scan -q -r 2 -t 1,2 --serial 'sh -c \"echo no grid >&2; exit 7\"' -- sleep 0.01",
        4,
        "corescale: the serial program failed with exit code 7: no grid; make it work, or add -i: .* .the command: sh ",
    ),
    (
        "corescale scan -q -i -r 8 -t 1,2 --serial false -- sleep 0.01",
        3,
        "the serial program: each of 8 launches failed with exit code 1$",
    ),
    # A budget that ends within the first block: configurations, not launches, and what suffices.
    (
        "corescale compare -q --budget 3s -L n $(seq -s, 300) 'sleep 0.1{n}' 2>said; cat said; exit 3",
        3,
        r"corescale: --budget: 3 s sufficed for \d+ of 300 configurations: .*; give it \d+s, or name fewer levels",
    ),
    (
        "corescale compare -q --budget 3s -L n $(seq -s, 20) 'sleep 0.3{n}' 2>said; b=$(grep -o 'it [0-9]*s' said);"
        " corescale compare -q --budget ${b#it } -L n $(seq -s, 20) 'sleep 0.3{n}' | grep -c '^ sleep'",
        3,
        "20",
    ),
    # A level that fails.
    (
        "printf '#!/bin/sh\n[ $1 -gt 1 ] && exit 3; sleep 0.3\n' > one; chmod +x one;"
        " corescale tune -q --budget 5s -t 1,2 -- ./one {threads}",
        4,
        "corescale: threads=2 failed with exit code 3; make it work, or add -i: launches may fail then;",
    ),
    (
        "corescale tune -q --budget 5s -i -t 1,2 -- ./one {threads}",
        0,
        "threads=1 is the fastest that never failed; threads=2 never succeeded",
    ),
    (
        "COLUMNS= corescale scan -q -r 1 -t 1,2 -- ./one {threads} > said; tail -1 said",
        0,
        "next: .* --baseline threads=1 -f th",
    ),
    (f'{LAST}; eval "$p" 2>&1 | head -1; true', 0, "(?!corescale: )"),
    (
        "COLUMNS= corescale scan -q -r 1 -t 1,2 -- sh -c 'exit $((OMP_NUM_THREADS - 1))' > said; tail -1 said",
        0,
        "next: .* --baseline threads=1 -f threads=1 -- sh -c",
    ),
    (f'{LAST}; eval "$p" 2>&1 | head -n 1; true', 0, "(?!corescale: )"),
    (
        "echo hi > in; COLUMNS= corescale scan -q -r 1 -t 1 --input in --prepare 'touch a' -- grep hi | tail -1",
        0,
        "next: corescale tune .*--input in --prepare 'touch a' -- grep hi",
    ),
    # A program that can be launched once.
    (
        "echo a > once; corescale compare -q -r 2 'rm once' true | grep -o 'an earlier launch succeeded: .*'",
        3,
        "an earlier launch succeeded: if the program removes or makes files, restore them by --prepare$",
    ),
    (  # One that writes another output each time has spoiled no file.
        "corescale compare -q -r 2 --same-output 'date +%N' 'date +%N' | grep -c 'an earlier launch succeeded'",
        1,
        "0",
    ),
    (  # One that fails at one level has spoiled nothing for the other. The order of the launches is random.
        "for k in {1..6}; do corescale scan -q -r 1 -t 1,2 -- sh -c 'exit $((2 - {threads}))' 2>&1 || true; done"
        " | grep -o 'an earlier launch succeeded\\|make it work' | sort | uniq -c",
        0,
        r"\s*6 make it work$",
    ),
    (
        "echo a > once; corescale explain -q --no-swap -- rm once 2>&1 | grep earlier",
        4,
        "note: an earlier launch succeeded: if the program removes or makes files, restore them by a script that ",
    ),
    ("echo a > once; corescale compare -q -r 3 'rm once'", 3, "rm once: .* in one launch; 2 launches failed$"),
    # A page that would replace the run that it shows.
    ("corescale scan -q -r 1 -t 1 --out pages -- true >/dev/null; corescale report pages/*/1 -o p.html", 0, ""),
    ("corescale report p.html -o p.html", 2, "corescale: p.html: is the run that is shown, and would be lost; name an"),
    # An option of the program.
    (
        "corescale scan gzip -c f",
        2,
        "corescale: -c: may be an option of gzip or of corescale; put -- before .*: corescale scan -- gzip -c f",
    ),
    (
        "corescale tune -t 1 gzip -i -c f",
        2,
        "corescale: -i: may be an option of gzip .*: corescale tune -t 1 -- gzip -i",
    ),
    ("corescale scan 'sleep 0.01' -r 1 -t 1 -q", 0, "1 thread: "),
    # Studies: what a file has instead of an option, and what check says before hours of measuring.
    study("power", FINDING.format(2)),
    ("corescale study run -q --levels n=1 --out one_level power.toml >/dev/null; true", 0, ""),
    (
        "corescale study check power.toml --power one_level/*/1",
        0,
        "f: not (on this machine|measured): ",
    ),
    ("corescale study check power.toml --power one_level/*/1 | tail -1", 0, "no power is known: that takes a run with"),
    study("same", FINDING.format(1)),
    ("corescale study check same.toml", 2, "corescale: same.toml:8: finding: `a` and `b` are the same launches; name"),
    study("fails", text=STUDY.replace("true {n}", "false {n}")),
    (
        "corescale study run -q fails.toml",
        4,
        'corescale: .* failed with exit code 1; make the program work; output = "inherit" shows what it wrote',
    ),
    study("half", text=STUDY.replace("true {n}", "test {n} = 1")),
    ("corescale study run -q half.toml", 3, "n=2: each of 2 launches failed with exit code 1; "),
    study("hook", '[hooks]\nprepare = "echo > x"\n'),
    ("corescale study check hook.toml", 2, "corescale: hooks.prepare: '>' in 'echo > x' is .*, or add shell = true"),
    study("typo", '[hooks]\nprepare = "tuoch x"\n'),
    (
        "corescale study run -q typo.toml",
        4,
        "corescale: hooks.prepare tuoch x: cannot be started: .*; correct it; .* needs shell = true, or sh -c",
    ),
    ("corescale study check typo.toml | grep note", 0, "note: hooks.prepare tuoch x: cannot be started: No such file"),
    study("input", text=f'input = "nosuch"\n{STUDY}'),
    ("corescale study check input.toml | grep note", 0, "note: input nosuch: no such file"),
    # The line and the key that are at fault.
    study("dotted", text='title = "t"\ncommand = "true"\nstop.rule = "often"\n'),
    ("corescale study check dotted.toml", 2, "corescale: dotted.toml:3: stop.rule: should be "),
    study(
        "second",
        *(
            '[[chart]]\nname = "c{}"\nkind = "lines"\ntitle = "t"\n[chart.normalise]\n{} = 1\n'.format(*each)
            for each in (("1", "to.n"), ("2", "too"))
        ),
    ),
    (
        "corescale study check second.toml",
        2,
        "corescale: second.toml:19: chart.normalise.too: unknown key .too.; did you mean to",
    ),
    study("inner", '[[chart]]\nname = "c"\nkind = "lines"\ntitle = "t"\ninverse = true\n'),
    (
        "corescale study check inner.toml",
        2,
        "corescale: .*:12: chart.inverse: unknown .*; write it below .chart.normal",
    ),
    study("single", text=STUDY.replace("[1, 2]", "4")),
    ("corescale study check single.toml", 2, "corescale: single.toml:4: factors.n: levels are numbers or strings, at"),
    study("nested", text=STUDY.replace("[1, 2]", "[[1, 2]]")),
    ("corescale study check nested.toml", 2, "corescale: nested.toml:4: factors.n: levels are numbers or strings, at"),
    study("untitled", '[[chart]]\nname = "c"\nkind = "lines"\n'),
    (
        "corescale study check untitled.toml",
        2,
        r"corescale: .*:8: chart.title: is missing; write title = ... below \[\[ch",
    ),
    study("badly", '[[chart]]\nname = "a b"\nkind = "lines"\ntitle = "t"\n'),
    (
        "corescale study check badly.toml",
        2,
        "corescale: .*:9: chart.name: 'a b' is no name of .*; write letters, digits",
    ),
    study("both", '[commands]\na = "true"\n'),
    (
        "corescale study check both.toml",
        2,
        "corescale: both.toml:1: file: `command` and `commands` contradict each other;",
    ),
    # Words that can be read once.
    (
        "corescale tune --metric m=peak-memory --subject-to 'm<=1XB' -- true",
        2,
        "corescale: --subject-to: not a constraint: 'm<=1XB'; write .*, METRIC<=10MiB, METRIC<=10MB or",
    ),
    ("corescale tune -q --budget 8x -t 1,2 --metric m=peak-memory --subject-to 'm<=1GB' -- true | grep subject", 0, ""),
    (
        "COLUMNS= corescale scan -q -r 1 -t 1,2 --metric m=peak-memory --metric c=cpu-time -- true | grep iB",
        3,
        r" 1 .* \d+\.\d [KM]iB +\d.* [mu]s",
    ),
    ("corescale scan --metric time=cpu-time -- true", 2, "corescale: --metric: a column is named time already; use an"),
    study("column", '[metrics]\ntime = "output:time"\n'),
    ("corescale study check column.toml", 2, "corescale: column.toml:9: metrics.time: a column has this name already"),
    (r"corescale scan $'no\xffsuch'", 4, r"corescale: no\\xffsuch: no such program"),
    (
        "corescale scan -q -r 1 -t 1 --timeout 0.1s -- sleep 9",
        4,
        "corescale: the program did not end, .*; give it more time by a larger --timeout, or less work .the command",
    ),
    (
        "HOME=$PWD/nowhere corescale calibrate; code=$?; ls nowhere; exit $code",
        2,
        "corescale: HOME=.*: no such folder;",
    ),
    ("corescale predict nosuch", 6, "corescale: nosuch: "),
    study("other", text=STUDY.replace("[stop]", "[baseline]\nn = 7\n[stop]")),
    study("none", text='title = "t"\ncommand = "true"\n[baseline]\nn = 7\n'),
    ("corescale study check none.toml", 2, "corescale: none.toml:3: baseline: no factor 'n'; here are none"),
    ("corescale study check other.toml | grep baseline", 0, "baseline, launched too: n=7"),
    (
        "corescale tune -q --budget 9s -t 1 --rehearse 0.01 -- sleep 0.02 | grep rehearsal",
        0,
        "rehearsal: not used, because there is nothing to choose from",
    ),
    (
        "timeout -s INT 20 corescale scan -r 1 -- sleep 100 2>said; grep ended said",
        0,
        "note: no launch has ended after 15 s; --timeout limits a launch; Ctrl-C ends all",
    ),
    (
        "git init -q; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a;"
        " corescale scan -q -r 8 -t 1 --out hist -- sleep 0.01 >/dev/null; corescale history h.jsonl hist/*/1",
        0,
        "sleep 0.01 threads=1 on ",
    ),
    (
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m b; corescale history h.jsonl hist/*/1",
        2,
        "corescale: sleep 0.01 .*: is in the history as another commit's; measure this commit, or name the other",
    ),
    ("corescale study check -- nosuch.toml", 2, "corescale: nosuch.toml: no such file; "),
    ("corescale calibrate -- ./work", 2, "corescale: LOOPS: no effect without --train; "),
    ("corescale compare 'read x' true", 4, "corescale: read: no such program; only a shell has it: write sh -c 'read"),
    (
        "corescale compare -q --budget 1s 'sleep 100' 'sleep 101' 'sleep 102' 'sleep 103'",
        3,
        "corescale: --budget: the budget ended during a launch .sleep 10[0-3].; give it more time by a larger --budget",
    ),
    (
        "corescale compare -q -r 1 -f ranks=2 --timeout 1 --out late -N 'sleep 30' 2>/dev/null;"
        " grep -c 'stopped or killed meanwhile' late/*/*/records.jsonl",
        1,
        "0",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
