# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): answers in one line, budgets and failures."""

from pathlib import Path

from support.tries import Try, each, must_be

FAKE = "--on fake --landscape"
"""times of a known truth, for answers that a loaded machine would change"""

GATED = f"corescale compare -q -r 9 --gate 5% {FAKE} gate.toml -n a -n b -L n 1,3 'x {{n}}' 'y {{n}}'"

TRIES: tuple[Try, ...] = (
    # Of one launch each nothing is decided, and there is no model of two p.
    ("printf 'seed = 1\\nbase = 0.03\\n[noise]\\nsize = 0.1\\n[times.n]\\n1 = 1\\n2 = 0.9\\n' > noisy.toml", 0, ""),
    (
        f"corescale tune -q --budget 3x -t 1 -L n 1,2 {FAKE} noisy.toml -- x {{n}}",
        3,
        "not decided: .*|no answer",
    ),
    (
        f"touch flat.toml; corescale scan -q -r 6 -f layout=1x1x1,2x1x1,1x2x1 {FAKE} flat.toml -- x {{ranks}}"
        " | grep -c -E 'model:|forecast'",
        1,
        "0",
    ),
    # Answers.
    ("printf '[times.command]\\na = 1\\nb = 1\\n[times.n]\\n1 = 1\\n3 = 3\\n' > gate.toml", 0, ""),
    (
        GATED,
        1,
        "gate failed: [ab] n=3: time [23].*x .*, at most 1.05x allowed",
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
    ("corescale scan -q -r 3 -t 1 -- sleep 0.01", 0, "1 thread: [0-9.]+ ms ± "),
    ("corescale scan -q -t 1 --budget 4x -- sleep 0.01", 3, "1 thread: [0-9.]+ ms ± "),
    ("corescale compare -q -r 6 true true true", 3, "true #[23] looks .* true, but there is no 95% interval"),
    ("printf 'serial = 0.1\\n' > model.toml", 0, ""),
    (f"corescale scan -q -r 6 -t 1,2 {FAKE} model.toml -- x | grep -E 'model:|speedup 1 is'", 1, ""),
    (f"corescale scan -q -r 6 -t 1,2 --model {FAKE} model.toml -- x | grep -c -E 'model:|speedup 1 is'", 0, "2"),
    (  # What fails at the largest p says nothing of the others.
        "corescale scan -q -r 3 -t 1,2 -- sh -c 'exit $((OMP_NUM_THREADS - 1))'",
        3,
        "2 threads: each of 2 launches failed with exit code 1; 1 thread took",
    ),
    (  # Twelve launches and a warm-up come before the largest p, whose forecast is sealed.
        "corescale scan -q --seal -r 6 -t 1,2,4 -- sh -c 'echo $OMP_NUM_THREADS >> sealed' >/dev/null;"
        " grep -n -m1 4 sealed",
        0,
        "1[4-9]:4",
    ),
    (
        "corescale scan -q -r 3 -t 1,2 -i -- sh -c 'exit $((OMP_NUM_THREADS - 1))'",
        3,
        "2 threads: each of 3 launches failed with exit code 1; 1 thread took",
    ),
    (
        "corescale tune -q --budget 20x -t 1 -L n 1,2 --metric b=stdout-size --subject-to 'b<=0' -- echo {n}",
        3,
        "no answer: nothing that was tried meets the constraint .threads=1 n=1: b = 2, not <= 0",
    ),
    (
        "corescale tune -q --budget 20x -t 1 -L n 1,100 --metric b=stdout-size --subject-to 'b<=1*baseline' --"
        " echo {n}",
        0,
        "keep threads=1 n=1: all else is excluded",
    ),
    (
        "corescale tune -q --budget 20x -t 1 -L n 100,1 --metric b=stdout-size --subject-to 'b<=3' -- echo {n}",
        0,
        "threads=1 n=1 is the fastest that meets the constraint, and threads=1 n=100 breaks it",
    ),
    (
        "corescale scan -q -f p=1,2 -- sleep {p}",
        2,
        "corescale: -f: p is threads x ranks x nodes, and no factor; vary threads, or give the placeholder another",
    ),
    (
        "printf '#!/bin/sh\\necho >> m4; test $(wc -l < m4) -lt 4\\n' > fails; chmod +x fails;"
        " corescale tune -q --budget 10s --baseline v=1 -t 1 -f v=1,2 -- ./fails {v}",
        3,
        "no answer: threads=1 v=. failed with exit code 1; threads=1 v=. failed with exit code 1",
    ),
    (
        "printf '(sleep 0.01 &)\\ncat /proc/$PPID/task/*/children | wc -w >> k\\n' > leaves;"
        " corescale compare -q -r 12 --prepare 'sh leaves' true 'true a' >/dev/null 2>&1; sort -n k | tail -1",
        0,
        "[1-9]$",
    ),
    (
        "corescale scan -q --budget 1s -- sleep 100",
        3,
        "corescale: --budget: the budget ended during a launch .sleep 100.; give it more time by a larger --budget, or"
        " end such launches by --timeout",
    ),
    ("mkfifo -m 755 fifo; corescale scan -q -- ./fifo", 4, "corescale: ./fifo: is not a program"),
    (
        "corescale scan -q -r 1 -t 1 --timeout 0.0000001 -- sleep 9",
        4,
        "corescale: .* did not end, .*a larger --timeout, or less work",
    ),
    (  # A warm-up that succeeded is no answer.
        "printf '#!/bin/sh\\nrm gone\\n' > gone; chmod +x gone; corescale scan -q -r 1 -w 1 -t 1 -- ./gone",
        4,
        "corescale: the program could not be started: no such program: .*, and it was started before; put it back",
    ),
    (
        "corescale scan -q -- false",
        4,
        "corescale: (threads=[0-9]+|the program) failed with exit code 1; make it work, or add -i: launches may fail",
    ),
    ("corescale compare -q -r 2 --export-json - true false -i 2>/dev/null | head -1", 3, "{"),
    ("corescale compare -q -r 2 --export-csv /dev/stdout true 2>&1 >/dev/null | head -1", 0, "true: "),
    # What is open is written to, behind what it holds.
    (
        "echo precious > log; corescale compare -q -r 1 --export-csv /dev/stdout true 2>/dev/null >> log;"
        " head -c 8 log; grep -c command,mean log",
        0,
        "precious1",
    ),
    (
        "ln -s /proc/self/fd/3 third; echo precious > log;"
        " corescale compare -q -r 1 --export-csv third true 3>> log >/dev/null; test -L third; head -1 log",
        0,
        "precious",
    ),
    # A response that no launch of the first block gives.
    *(
        (
            f"printf '#!/bin/sh\\necho {{\"a\":1}}\\necho >> launched\\n' > a; chmod +x a; rm -f launched;"
            f" corescale {line} --response metric:b -- ./a; echo $? $(wc -l < launched)",
            0,
            f"2 [1-{most}]",
        )
        for line, most in (("tune -q --budget 9s", 9), ("scan -q -r 9", 3), ("compare -q -r 9", 2))
    ),
    (
        "corescale scan -q -r 1 -t 1 -P n 1 2 -- sleep 0.0{n}",
        3,
        "n=2 looks .* than n=1, but there is no",
    ),
    # A budget that was typed binds whatever else was: a number of blocks, and a block that is under way.
    ("timeout 99 corescale scan -q -r 9999 --budget 3s -t 1 -- sleep 0.05 >/dev/null; test $? != 124", 0, ""),
    (
        "corescale scan -q -r 3 -t 1 --budget 3s -P n 1 200 -- sh -c 'sleep 0.1' {n}",
        3,
        "corescale: --budget: 3 s sufficed for [0-9]+ of [0-9]+ configurations: launches took [.0-9]+ s, and start, .*"
        " [.0-9]+ s; give it [0-9]+s",
    ),
    ("corescale scan -r 1000 --budget 4s --dry-run -- sleep 0.05 | tail -1", 0, "time: .* at most 4 s .--budget"),
    # What was measured least sure: threads beyond the cores, a launch that failed, a race that ended early.
    (f"corescale scan -q -r 6 -t 1,64 {FAKE} model.toml -- x", 0, "64 threads .oversubscribed. are .* faster than 1 "),
    (
        "printf '#!/bin/sh\\necho >> n; test $(wc -l < n) != 5\\n' > fifth; chmod +x fifth;"
        " corescale compare -q -r 6 ./fifth true",
        3,
        "no verdict on true against ./fifth: 1 launch of ./fifth failed",
    ),
    (
        "printf '#!/bin/sh\\necho >> m; test $(($(wc -l < m) %% 3)) != 2\\n' > every; chmod +x every;"
        " corescale scan -q -i -r 9 -t 1,2 -- ./every | grep -c '^9 blocks, 18 launches'",
        3,
        "1",
    ),
    (
        "corescale study run demo --levels threads=1,,2",
        2,
        "corescale: --levels:",
    ),
    (  # What confirmation pairs show to be slower is not said to be unknown, whatever the race knows.
        "printf 'seed = 3\\nbase = 0.03\\n[noise]\\nsize = 0.2\\n[times.n]\\n1 = 1\\n2 = 0.45\\n' > gain.toml;"
        f" corescale tune -q --budget 20x -t 1 -L n 1,2 {FAKE} gain.toml -- x {{n}} > gain;"
        " head -1 gain; ! grep '^not shown to be slower' gain",
        0,
        "1.* faster than threads=1 n=1|2.* faster than|3.* faster than|not decided",
    ),
    (f"corescale tune -q --budget 4x -t 1,2 {FAKE} flat.toml -- x | grep -c 'next: .*larger --budget'", 3, "1"),
    ("corescale tune -q -f OMP_NUM_THREADS=1,2 -- true", 2, "corescale: -f OMP_NUM_THREADS: is what .*; write -t 1,2"),
    (
        "corescale scan -q -r 1 -t 1 --out told -- true >/dev/null; corescale report told/scan-*/1 2>&1 >/dev/null",
        0,
        "report: report.html",
    ),
    ("corescale --help | grep -c -E '<bool>|<list'; corescale scan --help | grep -c -E '<bool>|<list'", 1, "0"),
    # A command that never succeeds, and -i as hyperfine has it.
    ("corescale compare -q -r 3 true false", 3, "false never succeeded: its last launch failed with exit code 1"),
    ("corescale compare -q -r 6 -i 'sleep 0.01' 'sh -c \"sleep 0.1; exit 3\"' | grep -c 'sh -c .*0.031'", 0, "1"),
    (
        "corescale compare -q -r 8 -i true false | grep warning | head -1",
        0,
        "warning: false failed with exit code 1, and counts: -i .in 8 of 16",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
