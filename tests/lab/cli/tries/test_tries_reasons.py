# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): what was once lost, taken without a word, or told without its reason."""

from pathlib import Path

from support.tries import Try, each, must_be

TRIES: tuple[Try, ...] = (
    ("corescale study new $'a\nb.toml' >/dev/null && corescale study check $'a\nb.toml' | grep -c blocks", 0, "1"),
    (
        "mkdir own; cd own; echo mine > study.schema.json; corescale study new 2>&1 >/dev/null; cat study.schema.json",
        0,
        "note: study.schema.json: is there already, and is another",
    ),
    ("cat own/study.schema.json", 0, "mine"),
    ("corescale explain --input - -- cat <&-", 2, "corescale: standard input: is closed; pipe the file in, or name it"),
    (
        "printf '\xff\xfe' > p.json; CORESCALE_PASSPORT=p.json corescale compare --gate auto true false",
        2,
        "corescale: p.json: is not a noise passport",
    ),
    ("corescale explain --input nofile -- cat", 2, "corescale: --input nofile: no such file; name a file, or - for st"),
    ("corescale explain --no-swap -- nosuch", 4, "corescale: nosuch: no such program; no folder of PATH has it: check"),
    (
        "corescale explain --no-swap -t 1 -- sh -c 'echo no >&2; exit 7' 2>&1 | grep -c 'failed with exit code 7: no'",
        4,
        "1",
    ),
    ("corescale explain --no-swap -t 1 -- sh -c 'kill -9 $$' 2>&1 | grep -c 'was killed by SIGKILL'", 4, "1"),
    (
        "printf '#!/bin/sh\necho --allow-run-as-root >&2; exit 1\n' > starts; chmod +x starts;"
        " corescale scan -q -r 1 -t 1 -- ./starts 2>&1 | grep -c '; add --allow-run-as-root .*OMPI_ALLOW_RUN'",
        4,
        "1",
    ),
    (
        "corescale compare -r 1 --timeout 1s \"sh -c 'kill -STOP \\$\\$'\"",
        4,
        r"corescale: .* did not end \(a signal stopped a process of it, .*\), and was killed .*; let it stop no",
    ),
    (
        "corescale compare -r 1 --budget 2s \"sh -c 'kill -STOP \\$\\$'\"",
        3,
        r"corescale: --budget: the budget ended during a launch .*: a signal stopped a process of it, .*; let",
    ),
    ("corescale scan --serial '$P/omp' -- true", 2, r"corescale: --serial: '\$' in '\$P/omp' is for a shell"),
    ("corescale scan --serial ' ' -- true", 2, "corescale: --serial: no command; name a program"),
    (
        "printf '#!/bin/sh\nn=$(cat tried 2>/dev/null); echo x$n >tried; test ${#n} -lt 3\n' > flaky; chmod +x flaky;"
        " corescale scan -q -r 8 -t 1 -- ./flaky",
        3,
        "1 thread: ",
    ),
    (
        "printf '#!/bin/sh\necho >> $0\n' > changes; chmod +x changes;"
        " corescale scan -q -r 2 -t 1 -- ./changes 2>&1 | grep -c 'corescale: ./changes changed while'",
        3,
        "1",
    ),
    ("corescale doctor --noise 10m -- nosuch", 4, "corescale: nosuch: no such program; no folder of PATH has it"),
    (
        "corescale scan -r 3 -m 5 -- true",
        2,
        "corescale: -r: leaves no choice to -m, -M and --width; leave out -r, or -m",
    ),
    ("corescale scan -r 6 -m 10 -M 3 -- true", 2, "corescale: -m: 10 .* 3 .*; write -m 3 -M 10"),
    ("corescale scan -w -1 -- true", 2, "corescale: -w: -1 .*; write -w 1, or leave it out"),
    (
        "printf '\\xef\\xbb\\xbf' > bom.jsonl; corescale history bom.jsonl",
        2,
        "corescale: bom.jsonl: holds no history; add",
    ),
    ("corescale study new -", 2, "corescale: -: .*; name a file that ends in .toml"),
    ("corescale scan -t 1 -f level=1,2 -- echo {threads}", 2, "corescale: -f: .*name one of threads, ranks"),
    (
        "corescale scan -f cores=1,2 -- true",
        2,
        "corescale: -f: unknown factor 'cores'; put {cores} into the command",
    ),
    ("corescale scan --metric x=counter:nope -- true", 2, "corescale: --metric: no counter 'nope'; write one of"),
    (
        "corescale compare --gate cpu=5%,memory=5% true false",
        2,
        "corescale: --gate: no gate on 'cpu=5%,memory'; write one of .*, and --gate once for each",
    ),
    ("corescale compare --gate 200% true", 2, "corescale: --gate 200%: there is nothing to compare with; name a sec"),
    ("corescale compare --gate 200 true false", 2, "corescale: --gate: '200' would be 20000%; write 200%$"),
    ("corescale scan -L n 1,2 -L n 3 -- echo {n}", 2, "corescale: -L: factor 'n' is given twice; merge its levels"),
    ("corescale scan -L '' 1,2 -- echo {n}", 2, "corescale: -L: the name is empty; write -L NAME A,B"),
    ("corescale scan -P '' 1 2 -- echo {n}", 2, "corescale: -P: the name is empty; write -P NAME MIN MAX"),
    (
        "corescale scan -L n '' -- echo {n}",
        2,
        "corescale: -L: factor 'n' has no level; write at least one; , separates",
    ),
    ("corescale scan --metric stdout-size -- true", 2, "corescale: --metric: 'stdout-size' is not NAME=SOURCE; write"),
    # A folder in which only the kernel makes files.
    *(
        (
            f"corescale {line} --out /proc/x",
            6,
            "corescale: /proc/x.*: cannot be written: no f.* can be made in /proc; c",
        )
        for line in (
            "compare true false",
            "scan --shell 'touch made'",
            "explain --shell 'touch made'",
            "scan --dry-run 'sleep 0' >/dev/null",
        )
    ),
    ("ls made", 2, ""),
    (
        "corescale explain --outputs /proc/x true",
        2,
        "corescale: /proc/x: cannot be made: no folder can be made in /proc",
    ),
    # Standard output that is full, by each of its names; what was measured is kept.
    *(
        (
            f"corescale {line} -q >/dev/full",
            6,
            "corescale: standard output: cannot be written: .*; what was measured is kept",
        )
        for line in (
            "compare -r 1 --export-json /dev/stdout true",
            "compare -r 1 --export-csv - true",
            "scan -r 1 -t 1 --report /dev/stdout 'sleep 0'",
            "explain --json --no-swap -t 1 --out full 'sleep 0'",
        )
    ),
    ("ls full/explain-*", 0, "1.json"),
    ("corescale scan --help >/dev/full", 6, "corescale: standard output: .*; free some room, or write elsewhere$"),
    # What a launch leaves running, and what else could be varied.
    (
        "corescale explain -q --no-swap -t 1 -- sh -c 'sleep 60 & sleep 0.1' | grep 'ran on'",
        0,
        "  note: a process that ran on after the program's end was killed .in 1 of 1 launches",
    ),
    (
        "corescale tune -q -t 1 -- true | grep next",
        0,
        "next: name what to vary: --allocators auto or -f NAME=a,b with .NAME. in the command$",
    ),
    # A folder of many runs, of which a verb reads some only; a file that is no history.
    (
        "{ corescale scan -q -r 1 -t 1 --out both -- true; corescale compare -q -r 1 --out both true; } >/dev/null;"
        " corescale predict both --cores 4",
        6,
        "corescale: both: is no run, and holds 2; name the last scan: both/scan-",
    ),
    (
        "echo int main > main.c; corescale history main.c",
        2,
        "corescale: main.c:1: is not .* or name another file$",
    ),
    # A program that ends at once, and one that removes itself.
    ("corescale explain -q --no-swap -t 1 -- true | grep -c 'over the time, .*: *$'", 1, "0"),
    (
        "cp $(readlink -f $(which bash)) gone; corescale explain -q --no-swap -t 1 --"
        " ./gone -c 'rm gone; i=0; while ((i++ < 99999)); do :; done' | grep 'no symbols'",
        0,
        "  note: no symbols of gone: removed or changed since it was launched, so its places are addresses",
    ),
    # A study file is told what it takes, and no option.
    *(
        (f"echo '{lines}' | tr ';' '\\n' > s.toml; corescale study check s.toml", 2, f"corescale: s.toml:{says}")
        for lines, says in (
            (
                'title = "x";command = "true {m}"',
                "2: command: unknown placeholder .m.; give its levels .m = .1, 2. below .factors..",
            ),
            (
                'title = "x";command = "true";timeout = "fast"',
                "3: timeout: 'fast' is not a time above 0;.* \"90s\", ",
            ),
            ('title = "x";command = "true";timeout = -3', "3: timeout: '-3' is not a time above 0; write \"90s\", "),
            ('title = "x";command = "true";[stop];width = 5', "4: stop.width: '5' would be 500%; write \"5%\" or 0.05"),
            (
                'title = "x";command = "true {n}";[factors];n = 1',
                "4: factors.n.*: levels are .*; write them as a list: .1",
            ),
            ('title = "x";commands = ["true", "false"]', "2: commands: should be a table, such as .a = 1., not "),
            (
                'title = "x";command = "true";[metrics];m = "peakmemory"',
                "4: metrics.m: 'peakm.*; did you mean peak-memory.$",
            ),
            (
                'title = "x";command = "true";[metrics];m = "rss"',
                "4: metrics.m: 'rss' is not a source of a metric; write one of stdout-size, peak-memory,",
            ),
            (
                'title = "x";command = "true";response = "size"',
                "3: response: no response 'size'; write wall, .*, or metric:NAME of a declared metric$",
            ),
            ('title = "x";command = "true";[factors];threads = [0, 1]', "4: factors.threads: '0' .*; write .1, 2, 4.$"),
            (
                'title = "x";command = "true";[factors];threads = [1];[baseline];threads = "one"',
                "6: baseline.threads: 'one' is not .*; write a level of threads$",
            ),
            (
                'title = "x";command = "true";warmup = "two"',
                "3: warmup: should be a whole number, not 'two'; see",
            ),
            ('title = "x";command = "true";omit = { n = 1 }', "3: omit: should be a list, in . ., not "),
            (
                'title = "x";command = "true";constraints = ["m <= 1XB"]',
                "3: constraints: not a constraint: 'm <= 1XB'; ",
            ),
            (
                'title = "x";command = "true";constraints = ["b <= 1"]',
                "3: constraints: no metric 'b'; declare it: metrics.b = ",
            ),
            (
                'title = "x";[commands];a = "true {command}";b = "true";[factors];command = [1, 2]',
                "6: factors.command: is what .commands. varies; use another name",
            ),
        )
    ),
    (
        "corescale compare --export-html x.html true",
        2,
        "corescale: .*: --export-html; --report FILE.html writes a page",
    ),
    ("corescale scan -- ulimit -n", 4, "corescale: ulimit: no such program; only a shell has it: write sh -c 'ulimit"),
    (  # A tab in what a program said.
        "corescale scan -q -t 1 -- sh -c 'printf \"no such\\tme\\tsh\\n\" >&2; exit 1'",
        4,
        "corescale: .*: no such me sh; make",
    ),
    ("corescale scan --env A=1 -- true", 2, "corescale: scan: no such option: --env; corescale scan --help lists"),
    ("corescale report x --html", 2, "corescale: report: no such option: --html; corescale report --help lists"),
    ("corescale compare --gate cpu true true", 2, "corescale: --gate: 'cpu' has no limit; write cpu=5%"),
    # A program that cannot start, a run of which no block is complete, levels that fail, and output of what counts.
    (
        "corescale compare -q -r 2 'env nosuchprog' true",
        4,
        "corescale: env nosuchprog failed with exit code 127: .*; correct the command .the command: env nosuchprog.$",
    ),
    (
        "corescale compare -q -r 2 --out never false true; corescale report never/*/1 2>&1 | grep -c 'of launches: "
        "the last one failed with exit code 1; make the program work; the command that began it continues it then$'",
        6,
        "1",
    ),
    ("corescale scan -q -r 1 -t 1 -L n 0,x -- sleep {n} | grep next", 3, "next: corescale tune .* -f n=0 -- sleep"),
    ("corescale scan -q -r 2 -t 1,2 --show-output -- echo hi 2>&1 >/dev/null | grep -c '^hi$'", 3, "4$"),
    (
        "corescale predict --cores 4 -- /bin/true",
        6,
        "corescale: /bin/true: is not an .*; measure it first: corescale scan",
    ),
    # A limit of a study, as its file takes it.
    (
        'printf \'title = "x"\ncommand = "sleep 9"\ntimeout = "0.2s"\n\' > slow.toml;'
        " corescale study run -q -r 1 slow.toml",
        4,
        "corescale: .* did not end, and was killed after .* s; give it more time by a larger timeout, or less work",
    ),
    # What has no effect is no option there.
    (
        "corescale scan --metric m=peak-memory --subject-to 'm<=1' -- true",
        2,
        "corescale: scan: no such option: --subject-to; only tune takes a bound",
    ),
    ("corescale tune --width 1% -- true", 2, "corescale: tune: no such option: --width; it is an option of scan"),
    ("corescale scan -r 6 --width 1% -- true", 2, "corescale: -r: leaves no choice to -m, -M and --width; leave out"),
    ("corescale compare true nosuch", 4, "corescale: compare: 'nosuch' is not a program; .*; or correct 'nosuch'"),
    ("corescale explain ls -l", 2, "corescale: explain: no such option: -l; put -- before the program: "),
    ("corescale study run --replay x --outputs y", 2, "corescale: --replay: launches what .*; drop --levels"),
    ("corescale doctor --noise 5m --topology", 2, "corescale: --noise --topology: contradict each other; drop one"),
    ("corescale compare --baseline command=nosuch true false", 2, "corescale: --baseline: no factor 'command'; fac"),
    # Numbers of any size.
    ("corescale scan -f affinity=0-99999999999 -- true", 2, "corescale: .*'0-99999999999'; write numbers and ranges"),
    ("corescale scan -t 1-$(printf 9%04999d 0) -- true", 2, "corescale: threads: '1-90"),
    ("corescale tune --confirm $(printf 9%04999d 0) -- true", 2, "corescale: --confirm: not a number of blocks: '90"),
    ("corescale tune --budget $(printf 9%0400d 0)x -- true", 2, "corescale: --budget: '90.*; write 90s, 5m or 1h30m"),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
