# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a table)
"""What strangers type (support/tries.py): a line that cannot be read, and what is checked before any launch."""

from pathlib import Path

from support.tries import Try, each, must_be

TRIES: tuple[Try, ...] = (
    # A line that cannot be read: what was likely meant.
    ("corescale ls -l", 2, "corescale: no such command 'ls'; a verb comes first: corescale scan -- ls -l"),
    ("corescale scn", 2, "corescale: no such command 'scn'; did you mean scan?"),
    (
        "corescale -q scan -- true",
        2,
        "corescale: no such option: -q; an option comes after its verb: corescale scan -q",
    ),
    ("corescale scan --budget 5 s -- true", 2, "corescale: s: .* no option .*; drop it, quote it with"),
    ("corescale scan -h | grep -c bool", 1, "0"),
    ("corescale study", 2, "corescale: study: a verb is missing; corescale study list | check | run | new | claims"),
    ("corescale scan --version", 2, "corescale: scan: no such option: --version; corescale --version prints it"),
    ("corescale study run demo --budget 9s", 2, "corescale: study run: no such option: --budget; -r N makes exactly"),
    ("corescale tune -r 3 -- true", 2, "corescale: tune: no such option: -r; --budget 60s limits it"),
    ("corescale report --budget 9s", 2, "corescale: report: no such option: --budget; it is an option of tune, scan"),
    ("corescale scan --budgte 9s -- true", 2, "corescale: scan: no such option: --budgte; did you mean --budget"),
    ("corescale scan -r", 2, "corescale: scan: option '-r' requires an argument; corescale scan --help"),
    (
        "corescale tune -f huge-pages=auto -- true",
        2,
        "corescale: -f: unknown factor 'huge-pages'; it is a level of GLIBC_TUNABLES, .*; write GLIBC_TUNABLES=auto",
    ),
    ("corescale scan -t 1 -f 'é=1,2' -- echo '{é}'", 2, "corescale: -f: unknown factor .*; a name has letters from a"),
    ("mkdir d.toml; corescale study check d.toml", 2, "corescale: d.toml: is not a file"),
    ("corescale scan -t -- true", 2, "corescale: -t: needs a value; write it between the option and --"),
    ("corescale scan -w -- true", 2, "corescale: -w: needs a value; write it between the option and --"),
    ("corescale scan --on fake --setup -s -t -- true", 2, "corescale: -t: needs a value"),
    ("corescale scan --on fake --allocation -s -- true", 2, "corescale: (?!-s: needs a value)"),
    ("corescale scan -t '' -- true", 2, "corescale: -t --threads: has an empty value"),
    ("corescale doctor --noise=", 2, "corescale: --noise: has an empty value"),
    ("corescale study run x --levels ''", 2, "corescale: --levels: has an empty value"),
    ("corescale scan -- cat <(true)", 2, "corescale: /dev/fd/[0-9]+: .*; .* --input"),
    ("corescale study new x.json", 2, "corescale: x.json: .*; name a file that ends in .toml"),
    ("corescale study run demo -r 0", 2, "corescale: -r: 0 runs .*; write -r 10"),
    (
        "corescale scan -r 1 -t 1 -f n=1-9 -q -- echo {n} 2>&1 | grep 'left out'",
        0,
        "left out: n=1-9 is one level: list each level, or on the command line write -P n 1 9",
    ),
    (
        "corescale scan -r 1 -t 1 -L n 1..9 -- sleep {n}",
        4,
        "corescale: the program failed .*; n=1..9 is one level: list each level, or .* -P n 1 9 .the command: sleep ",
    ),
    (
        "corescale scan -P n 1,9 -- sleep {n}",
        2,
        "corescale: -P: needs NAME MIN MAX; write -L n 1,9, and {n} in the comm",
    ),
    (
        "corescale scan -P n -- sleep {n}",
        2,
        "corescale: -P: needs NAME MIN MAX; write -P n 1 8, and {n} in the command",
    ),
    ("corescale scan -P n 1 8 2 -- true {n}", 2, "corescale: 2: belongs to no option .*; drop it, quote it with"),
    ("corescale compare --name a true", 2, "corescale: compare: no such option: --name; -n NAME names a command"),
    # Options that would have no effect.
    ("corescale doctor --noise 4s --no-noise", 2, "corescale: --noise --no-noise: contradict each other"),
    ("corescale predict x --cores 2 --grade mpi", 2, "corescale: --grade: no effect without --layouts"),
    ("corescale history x --commit y", 2, "corescale: --commit: no effect without a run; add a run"),
    ("corescale report x --extract --json", 2, "corescale: --extract: writes run folders, and shows nothing"),
    ("corescale calibrate --train --output x", 2, "corescale: --output: --train adds to the file that is in use"),
    ("corescale scan $(printf %0300d 0)", 4, "corescale: 0*: no such program"),
    ("corescale claims", 2, "corescale: no such command 'claims'; did you mean study claims?"),
    (
        "corescale scan ls -l",
        2,
        "corescale: scan: no such option: -l; put -- before the program: corescale scan -- ls -l",
    ),
    ("corescale scan --thread 2 -- true", 2, "corescale: scan: no such option: --thread; did you mean --threads?"),
    ("corescale scan -r two -- true", 2, "corescale: scan: -r: 'two' is not a whole number; "),
    ("corescale scan", 2, "corescale: no command; put it after the options"),
    ("corescale report", 2, "corescale: report: missing argument 'RUN...'"),
    ("corescale compare sleep 0.01 sleep 0.02", 4, "corescale: compare: .* compare 'sleep 0.01' 'sleep 0.02'; or corr"),
    ("corescale 'sleep 0.1'", 2, "corescale: no such command 'sleep 0.1'; .*: corescale compare 'sleep 0.1'$"),
    ("corescale study new a b", 2, "corescale: study new: b: is more than it takes; "),
    ("corescale scan --p-ref=0 -- true", 2, "corescale: scan: --p-ref: '0' should be greater than or equal to 1; "),
    *(
        (f"corescale {typed}", 2, f"corescale: .*: no such option: .*; did you mean {meant}[?]$")
        for typed, meant in (
            ("scan --repeat 3 -- true", "--runs"),
            ("compare --threshold 5% true true", "--gate"),
            ("tune --time 3s -- true", "--budget"),
            ("scan -j 3 -- true", "--threads"),
            ("scan --format json -- true", "--json"),
            ("scan --csv x -- true", "--export-csv"),
        )
    ),
    ("corescale tune --repeat 3 -- true", 2, "corescale: tune: no such option: --repeat; --budget 60s limits it"),
    *(
        (f"corescale scan -q {each} -t 1,2 -- true", 2, f"corescale: {each}: '-t' stands where its value should; give")
        for each in ("-r", "--out", "-f")
    ),
    ("corescale compare 'true {threads}'", 2, "corescale: command: unknown .*; give their number: --threads 1,2$"),
    (
        "corescale scan --input /dev/null -- true",
        2,
        "corescale: --input /dev/null: .*; leave it out: a launch reads no",
    ),
    ("echo text > letter.txt; corescale scan -- letter.txt", 4, "corescale: letter.txt: .*, as in cat letter.txt"),
    (
        "printf %080d 0 > long.toml; corescale study check long.toml",
        2,
        "corescale: long.toml:1: not TOML: '0{60}[.]{3}'",
    ),
    ("corescale compare sleep 0.1", 4, "corescale: compare: '0.1' is not a program; quote each command"),
    (
        "corescale compare -- wc -l 'my data.txt'",
        4,
        "corescale: compare: '-l' is not a program; quote each command:"
        """ corescale compare "wc -l 'my data.txt'" 'ANOTHER'; or correct '-l'$""",
    ),
    (
        "printf '#!/bin/sh\\n' > no_x; corescale compare true ./no_x",
        4,
        "corescale: compare: './no_x' is not a program; .*; or chmod [+]x ./no_x, if it is a program$",
    ),
    ("corescale scan -- no_x", 4, "corescale: no_x: no such program; .*: write ./no_x, after chmod [+]x no_x$"),
    (
        "printf '#!/bin/sh\\r\\ntrue\\r\\n' > crlf; chmod +x crlf; corescale scan -- ./crlf",
        4,
        "corescale: ./crlf: its first line ends in CR LF, so the kernel finds no interpreter; sed -i 's/.r.//' ./crlf$",
    ),
    (
        "printf '#!/usr/bin/env sh\\r\\ntrue\\r\\n' > crlf; corescale compare true ./crlf",
        4,
        "corescale: ./crlf: its first line ends in CR LF",
    ),
    ("corescale study run own.toml -- extra", 2, "corescale: study run: extra: is more than the study that it takes; "),
    (  # Without a factor that makes p, JSON has none either.
        'printf \'title = "t"\\ncommand = ["sleep", "0.0{s}"]\\n[factors]\\ns = [1, 2]\\n\' > no_p.toml;'
        " corescale study run -q -r 2 --json no_p.toml | python3 -c 'import json, sys;"
        ' scan = json.load(sys.stdin)["conclusion"]["scan"]; row = scan["curves"][0]["rows"][0];'
        """ print(scan["p_ref"], row["p"], row["speedup"], row["efficiency"], row["time"]["n"])'""",
        0,
        "None None None None 2",
    ),
    # A parameter that only a hook has, and a response that every launch has.
    ("corescale compare -q -r 1 -L x 1,2 --prepare 'touch of-{x}' true 2>&1 >/dev/null; ls of-1 of-2", 0, "of-1"),
    ("corescale scan -L x 1,2 --setup 'echo {x}' -- true", 2, "corescale: --setup: runs once, for all levels of {x}"),
    ("corescale compare -q -r 6 --response peak-memory true 'ls /'", 0, "ls / has .*x the peak-memory of true"),
    ("corescale compare -q -r 1 --response metric:cpu-time true", 0, "true: 0?[.0-9e-]+"),
    (
        "corescale compare -r 2 -- ls -l -- ls -a",
        2,
        "corescale: --: separates no commands; quote each: corescale compare 'ls -l' 'ls -a'$",
    ),
    ("corescale compare true -- false", 2, "corescale: --: separates no commands; quote each: .* true false$"),
    ("corescale compare --budget 5 s -- true", 2, "corescale: s: belongs to no option"),
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
    ("corescale --version", 0, "corescale [0-9]+[.][0-9]+"),
    ("corescale -V", 0, "corescale [0-9]+[.][0-9]+"),
    ("corescale -h | grep -c Usage", 0, "1"),
    ("corescale scan -h | grep -c Usage", 0, "1"),
    ("corescale compare -n a -n b true", 2, "corescale: -n: 2 names .* 1 command; name each command once, in order"),
    (
        "corescale compare 'OMP_NUM_THREADS=1 ./a' true",
        4,
        "corescale: OMP_NUM_THREADS=1: no such program; a variable before a program is for a shell: write env OMP_NUM",
    ),
    ("corescale compare -N --shell true", 2, "corescale: -N --shell: contradict each other; drop one"),
    (
        "corescale scan --response metric:f:max -- true",
        2,
        "corescale: --response: .*metric:f:max.*; let the program print its inverse",
    ),
    ("corescale scan -q -r 1 -t 1 --input <(echo a) -- grep -q a", 0, "1 thread: "),
    (
        "printf '#!/bin/sh\\n' > 'my prog'; chmod +x 'my prog'; corescale scan -q -r 1 -t 1 -- './my prog'",
        0,
        "1 thread: ",
    ),
    ("corescale compare -D 2 true", 2, "corescale: -D: .*; write -P NAME MIN MAX"),
    ("corescale compare -L n '' 'sleep 0.0{n}'", 2, "corescale: -L: factor 'n' has no level"),
    ("corescale compare -L n 1,2 'sleep 0.01'", 2, "corescale: -L: the command has no {n}; put {n} into it"),
    (
        "corescale compare -L n 1,2 --setup 'make {n}' 'a {n}'",
        2,
        "corescale: --setup: runs once, for all levels of {n}",
    ),
    ("corescale explain --budget 0 -- touch made", 2, "corescale: --budget: '0' is not a time above 0"),
    ("corescale compare 'sleep 0.0{n}'", 2, "corescale: command: unknown placeholder {n}; give its levels"),
    (
        "corescale explain -- true {n}",
        2,
        "corescale: command: unknown placeholder {n}; give its value or write {{n}} for",
    ),
    (
        "corescale compare --shell none true",
        2,
        "corescale: compare: 'none' would be .*; leave --shell out: no shell is",
    ),
    ("corescale compare --shell default true", 2, "corescale: compare: 'default' would be .*; leave it out$"),
    (
        "corescale compare 'source x'",
        4,
        "corescale: source: no such program; only a shell has it: write bash -c 'source",
    ),
    ("corescale compare '[[ -f x ]]'", 4, "corescale: [[][[]: no such .*: write bash -c '[[][[] "),
    (
        "corescale scan -- declare x",
        4,
        "corescale: declare: no such program; only a shell has it: write bash -c 'declare",
    ),
    ("corescale scan -- ! true", 4, "corescale: !: no such program; only a shell has it: write sh -c '! ..."),
    ("corescale scan -- pushd x", 4, "corescale: pushd: no such program; only a shell has it: write bash -c 'pushd"),
    (
        "corescale scan --setup 'source x' -- true",
        4,
        "corescale: --setup .*: only a shell has source; .* needs bash -c 's",
    ),
    (
        "corescale compare -q -r 60 --budget 3s 'sleep 0.1' 'sleep 0.12' | grep next",
        3,
        "next: a larger --budget narrows the interval$",
    ),
    ('corescale compare "echo \'a"', 2, "corescale: command: .*: no closing quotation; close the quotes"),
    ("corescale compare 'sleep 0.01 | cat'", 2, "corescale: command: '|' in .* is for a shell"),
    (
        "corescale scan -q -t 1 -f LD_PRELOAD=/no/such.so,unset -- true",
        2,
        "corescale: LD_PRELOAD: /no/such.so: no such",
    ),
    ("corescale compare -q 'env LD_PRELOAD=./no.so true' true", 2, "corescale: LD_PRELOAD: ./no.so: no such file, "),
    ("LD_PRELOAD=/no/x.so corescale scan -q -r 1 -t 1 -- true 2>&1 | grep -c 'x.so of this shell: no such'", 0, "1"),
    (
        "corescale scan -q -r 3 -t 1,2 -- true",
        3,
        "the program reads no number of threads: put .threads., or .ranks. of MPI, where it goes",
    ),
    (  # Several threads, whose number is not from a variable: differences between levels are noise as well.
        "corescale scan -q -r 2 -t 1,2 -- sh -c 'seq 999999 >/dev/null & seq 999999 >/dev/null; wait'",
        3,
        "the program reads no number of threads: put .threads., or .ranks. of MPI, where it goes",
    ),
    (
        "corescale scan -q -r 1 -t 1 --response region:r -- true",
        2,
        "corescale: region:r: no launch gave it; the program gives none; region.h adds one .docs/region.md.",
    ),
    ("corescale scan -q -r 3 -t 2 -- sleep 0.02", 0, "asked for 2 threads, used .* cores; 2 threads: "),
    ("corescale compare -q -r 1 --gate 5% -t 1,2 true >/dev/null", 3, ""),
    (
        "corescale compare -q -r 6 -t 1,2 true",
        0,
        "no verdict on .* against .*: they are the same launch; ",
    ),
    ("corescale compare --gate 5% --gate time=9% true true", 2, "corescale: --gate: time is given twice; give it once"),
    ("corescale compare -p true -p false true true", 2, "corescale: --prepare -p: is given twice; give it once"),
    ("corescale predict x --cores 2 --cores=4", 2, "corescale: --cores: is given twice; give it once"),
    ("corescale study run demo -r 1 --runs 2", 2, "corescale: -r --runs: is given twice; give it once"),
    ("corescale scan --metric s=output:a --metric s=output:b true", 2, "corescale: --metric: s is given twice"),
    ("corescale scan -t 1,2 --baseline threads=1,threads=2 true", 2, "corescale: --baseline: threads is given twice"),
    (
        "corescale compare -q -r 1 -n 'a #2' -n a -n a true 'true 2' 'true 3' | grep -c '^ a'",
        3,
        "3",
    ),
    ("corescale compare -f command=1,2 'echo {command}'", 2, "corescale: {command}: is what compare varies itself"),
    (
        "corescale compare --export-json a.json --export-csv ./a.json true",
        2,
        "corescale: a.json: two outputs would go there",
    ),
    ("corescale predict x --track-record --anyway", 2, "corescale: --anyway: no effect on --track-record"),
    (
        "corescale scan -q -r 1 -t 1 --metric s=output:a -- true | grep -c ': metric s=output:a: no launch gave it'",
        0,
        "1",
    ),
    (
        "corescale compare -q --metric v=output:x --response metric:v -r 2 'echo {{\\\"v\\\":1}}' 'echo 2'",
        2,
        "corescale: metric:v: no launch gave it; the program gives none; let it print a line such as ..x.: 1.5. ",
    ),
    (
        "corescale compare -q --metric v=output:speed --response metric:v -r 6 'echo 7' 'echo 8'",
        2,
        "corescale: metric:v: no launch gave it; the program gives none; let it print a line such as ..speed.: 1.5. ",
    ),
    (
        "corescale scan -q -r 2 -t 1,2 --same-output -- date +%N",
        4,
        "corescale: threads=1 wrote another output than the first launch of all .--same-output.; leave out",
    ),
    (
        "corescale compare -q --same-output -r 2 'date +%N' | grep failed:",
        4,
        "failed: date .*, wrote another output than the first launch of all .--same-output.",
    ),
    (
        "corescale compare -q --same-output -r 2 'date +%N'",
        4,
        "date [+]%N never succeeded: its last launch wrote another output than the first launch of all",
    ),
    # A reference that fails is an error in JUnit's XML, as any other command is.
    (
        "corescale compare -q -r 6 --gate 5% --export-junit f.xml false true 2>/dev/null; cat f.xml | tr -d '\\n'",
        0,
        '.*errors="1".*<testcase classname="corescale compare" name="false"> *<error message="false failed with exit ',
    ),
    (
        "CORESCALE_PASSPORT=passport.toml corescale doctor --noise 2s -- false",
        4,
        "corescale: false: failed with exit code 1, so its noise says nothing; make it work$",
    ),
    ("corescale scan -w 99999999 --dry-run -t 1 -- true", 2, "corescale: -w: 99,999,999 is not a number of warm-ups "),
    ("corescale scan -w 3 -r 2 -t 1 --dry-run -- true | grep :", 0, "1 configuration: 5 launches, of them 3 "),
    (  # As many launches as a dry run says, with the one that shows what is read.
        "for o in '-t 1,2 -- true' '-w 2 -t 1,2 -- true' '-t 1 -L n 1,2,3 -- echo {n}'; do"
        " corescale scan -q -r 1 --out counted $o >all; made=$(grep -c '\"configuration\"' counted/*/1/records.jsonl);"
        " rm -r counted; said=$(corescale scan -r 1 --dry-run $o | grep -o '[0-9][0-9]* launches');"
        ' test "$said" = "$made launches" || echo $said, made $made; done; echo the same',
        0,
        "the same",
    ),
    ("corescale compare --gate 5% -r 8 true", 2, "corescale: --gate 5%: there is nothing to compare with"),
    (
        "echo a > own.txt; corescale scan -r 1 --input own.txt --output ./own.txt -- cat",
        2,
        "corescale: ./own.txt: is what --input reads, and would be lost; name another file",
    ),
    ("cat own.txt", 0, "a"),
    ("corescale compare --export-csv o.csv --output o.csv true", 2, "corescale: o.csv: two outputs would go there"),
    (
        "corescale tune -q --budget 4x -t 1 --metric m=peak-memory --subject-to 'm<=64MiB' -- true | grep subject",
        0,
        "subject to: m <= 64.0 MiB",
    ),
    (
        "corescale compare -q -r 2 -L threads=1,2 'sleep 0.0{threads}'",
        3,
        "sleep 0.02 looks .* slower than sleep 0.01, but",
    ),
    (
        "corescale explain -q --no-swap -- sh -c true | grep 'it ran'",
        0,
        "  note: it ran 1 thread, of [0-9]+ that are counted: put {threads} where it reads their number, or -t 1",
    ),
    # Words of our own, which name what was typed.
    ("corescale version --help | grep -c bool", 1, "0"),
    ("corescale study new ''", 2, "corescale: '': does not end in .toml; name a file that ends in .toml"),
    ("corescale tune -f n=auto -- true {n}", 2, "corescale: factor 'n' has no automatic levels; list them: n=a,b"),
    (
        "corescale scan -f 'opt=\"a,b\"' -- echo {opt}",
        2,
        'corescale: -f: the level "a is not closed, because a comma .*; write opt=a.,b for a level with a comma',
    ),
    (
        "corescale scan -- 'sleep 0.1' -r 1",
        4,
        "corescale: sleep 0.1: no such program; quotes make one word of it: write sleep 0.1 without them, behind --$",
    ),
    ("touch mine; chmod +x mine; corescale scan -- mine", 4, "corescale: mine: no such program; .*: write ./mine$"),
    ("touch of.py; corescale scan -- of.py", 4, "corescale: of.py: no such program; it is a file: write what reads it"),
    (
        "corescale explain -i true",
        2,
        "corescale: explain: no such option: -i; it is an option of tune, scan, compare; ",
    ),
    ("corescale compare -P n 1 'true {n}'", 2, "corescale: -P: needs NAME MIN MAX; write -P n 1 8, and {n} in the c"),
    ("corescale compare -L n 'true {n}'", 2, "corescale: -L: needs NAME A,B; write -L n 1,2, and {n} in the command"),
    (
        "corescale scan --on direct --nodes 2 -- true",
        2,
        "corescale: --on: the direct launcher starts one rank on one node .asked: 2 nodes with 1 rank each.;",
    ),
    (
        "corescale scan --setup 'export A=1' -- true",
        4,
        "corescale: --setup export A=1: cannot be started: only a shell has export; .*--shell, or sh -c 'export A=1'",
    ),
    (
        "echo true > no_script; chmod +x no_script; corescale compare -r 1 --prepare ./no_script true",
        4,
        "corescale: --prepare ./no_script: cannot be started: neither a program for .* nor a script with a #! line;",
    ),
    (
        "corescale scan -- ./no_script",
        4,
        "corescale: .* could not be started: neither .* with a #! line; correct the command .the command: ./no_script",
    ),
    (
        "corescale compare -q --budget 4s 'sleep 2' 'sleep 2.05' 'sleep 2.1'",
        3,
        "corescale: --budget: 4 s sufficed for 1 of 3 configurations: .*; give it [0-9]+s, or name fewer commands",
    ),
    *(
        (f"printf '{text}' > wrong.toml; corescale study check wrong.toml", 2, f"corescale: wrong.toml:{says}")
        for text, says in (
            ('title = "x"\ncommand = \n', "2: not TOML: 'command ='; write a number, true, false, a text between"),
            ('title = "x\n', "1: not TOML: 'title = \"x'; close the quotes of the text"),
            ("title = 1\ntitle = 2\n", "2: not TOML: 'title = 2'; the key is there already: leave one"),
            ("title = [\n1\n", "2: not TOML: '1'; close the brackets"),
        )
    ),
    (
        "corescale scan --budget 1x -t 1,2 -- touch made",
        3,
        "corescale: --budget: 1x .*; name more",
    ),
    ("corescale scan --report no/ -- touch made", 2, "corescale: no/: cannot be written: no such folder"),
    # Braces around no name are as typed.
    ("corescale scan -q -r 1 -t 1 -- test '{\"a\":{\"b\":1}}' = '{\"a\":{\"b\":1''}''}'", 0, "1 thread: "),
    ("corescale scan -q -r 1 -t 1 -- awk 'BEGIN{for(i=0;i<9;i++){x+=i}}'", 0, "1 thread: "),
    ('corescale scan -q -r 1 -t 1 -- sh -c \'test {{n}} = "{"n"}"\'', 0, "1 thread: "),
    # Levels.
    ("corescale scan -q -r=1 -t=1 -- true", 0, "1 thread: "),
    ("corescale scan -t 1 -L 's=a\\,b,c' --dry-run -- echo {s} | grep -c 'echo a,b$'", 0, "1"),
    ("corescale scan -q -r 1 -t 1 -L 's=a\\,b,c' -- echo {s} | grep -cF 's=a\\,b,c'", 3, "1"),
    (
        "corescale scan -f affinity='0;1' -- true",
        2,
        "corescale: .*'0;1'; write numbers and ranges, .*; / separates lev",
    ),
    ("corescale scan -r 0 -- true", 2, "corescale: -r: 0 runs .*; write -r 10"),
    ("corescale study run -r 0 demo", 2, "corescale: .*-r: 0 runs .*; write -r 10"),
    ("corescale scan -t 1,1,2 -- true", 2, "corescale: -t: threads=1 is given twice"),
    (
        "corescale scan -t 1000000 -- true",
        2,
        "corescale: threads: '1000000' is not a whole number of at least 1 and at most",
    ),
    ("corescale scan -t 1-3 --dry-run -- true | tail -1", 0, "time: "),
    ("corescale scan -t 1 -P x 1000000 1000003 --dry-run -- echo {x} | grep -c 'echo 100000[0-3]$'", 0, "4"),
    ("corescale scan -t 1 -P x 0.1 0.3 -D 0.1 --dry-run -- echo {x} | grep -c 'echo 0.[1-3]$'", 0, "3"),
    ("corescale scan -L x 1,inf -- echo {x}", 2, "corescale: -L: x=inf is not a finite number; write a number"),
    ("corescale scan -f x=nan,2 -- echo {x}", 2, "corescale: -f: x=nan is not a finite number; write a number"),
    ("corescale scan -L x 1,2 --baseline x=inf -- echo {x}", 2, "corescale: x=inf is not a finite number; write a"),
    ("corescale scan -L x 1,1.0 -- echo {x}", 2, "corescale: -L: x=1 and x=1.0 are the same number; each level once"),
    ("corescale scan -t 1 -L n=1,2 --dry-run -- echo {n} | grep -c 'echo [12]$'", 0, "2"),
    ("corescale scan -L n -- echo {n}", 2, "corescale: -L: needs NAME A,B"),
    (
        "corescale scan -t 1 -P x 123456789012345678901234567890123 123456789012345678901234567890124 --dry-run"
        " -- echo {x} | grep -c 'echo 12345678901234567890123456789012[34]$'",
        0,
        "2",
    ),
    (
        "corescale scan --confidence 40% -- true",
        2,
        "corescale: --confidence: '40%' is not above 50% and below 100%; write 95% or 0.95",
    ),
    (
        "corescale tune --metric b=stdout-size --subject-to 'b<=1e999' -- true",
        2,
        "corescale: --subject-to: not a constraint: 'b<=1e999'; write METRIC<=NUMBER",
    ),
    ("corescale scan -P x 1 nan -- echo {x}", 2, "corescale: -P: cannot go from 1 to nan by 1"),
    ("corescale scan -P x 1 inf -- echo {x}", 2, "corescale: -P: cannot go from 1 to inf by 1"),
    (
        "corescale scan -P x 1 1e400 -- echo {x}",
        2,
        "corescale: -P: x would have more than 1,000,000,000 levels, .* 10,000",
    ),
    ("corescale scan -P x 1 9999999 -- echo {x}", 2, "corescale: -P: x would have 9,999,999 levels, .* 10,000"),
    ("corescale scan -L ü 1,2 -- echo {ü}", 2, "corescale: -L: 'ü' cannot be a placeholder; use letters a to z"),
    (
        "corescale compare --dry-run -L c gcc,clang-99 '{c} -O2 x.c' >/dev/null",
        4,
        "corescale: clang-99: no such program; no folder of PATH has it",
    ),
    ("corescale scan -r 99999999999 -- true", 2, "corescale: -r: 99,999,999,999 runs are more than 1,000,000"),
    ("corescale scan -t 4-1 -- true", 2, "corescale: threads: '4-1' is not a whole number of at least 1"),
    ("corescale scan -t , -- true", 2, "corescale: -t: factor 'threads' has an empty level"),
    (
        "corescale compare -P x 0.3 0.7 'echo {x}'",
        2,
        "corescale: -P: 0.3 to 0.7 needs a step; add a step, such as -D 0.1$",
    ),
    ("corescale scan -P x 0.5 3 -- echo {x}", 2, "corescale: -P: 0.5 to 3 needs a step; add a step, such as -D 0.1$"),
    ("corescale scan -P x 5 1 -- echo {x}", 2, "corescale: -P: cannot go from 5 to 1 by 1"),
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
    *(
        (
            f"corescale scan --p-ref {p} -t 1,2 -- touch made",
            2,
            "corescale: scan: --p-ref: '.*' should be gr",
        )
        for p in (0, -1)
    ),
    ("corescale compare --gate 5 true false", 2, "corescale: --gate: '5' would be 500%; write 5% or 0.05"),
    (
        "corescale scan --json --export-json - -- true",
        2,
        "corescale: --json --export-json -: two outputs would be on standard output",
    ),
    (
        "corescale scan --response nothing -- true",
        2,
        "corescale: --response: .* write wall, .*peak-memory, cpu-time, re",
    ),
    (
        "printf '{}\\n' | iconv -t UTF-16 > h.jsonl; corescale history h.jsonl",
        2,
        "corescale: h.jsonl: cannot be read: not UTF-8; save it as UTF-8",
    ),
    ("corescale compare --gate size=5% true false", 2, "corescale: --gate: no gate on 'size'; write one of time, mean"),
    ("corescale compare --gate memory:5% true false", 2, "corescale: --gate: 'memory:5%' has no =; write memory=5%"),
    ("corescale predict x -p 8", 2, "corescale: predict: no such option: -p; --cores P is the number of cores"),
    ("corescale predict x --at 8", 2, "corescale: predict: no such option: --at; --cores P is the number of cores"),
    ("corescale scan --serial 'true {n}' -- true", 2, "corescale: --serial: unknown placeholder {n}; give its levels"),
    ("corescale scan --prepare 'rm {f}' -- true", 2, "corescale: --prepare: unknown placeholder {f}; give its levels"),
    (
        "corescale study run --replay kept own.toml",
        2,
        "corescale: study run: own.toml: is more than the study that it takes",
    ),
    (
        "corescale compare --export-json - --export-csv /dev/stdout true",
        2,
        "corescale: --export-json - --export-csv /dev/stdout: two ",
    ),
    ("corescale scan --dry-run --json true", 2, "corescale: --dry-run --json: a plan is text"),
    ("corescale study claims --machine x", 2, "corescale: --machine: no effect without a run"),
    ("corescale history /dev/full", 2, "corescale: /dev/full: is not a regular file"),
    ("corescale report nosuch.html", 6, "corescale: nosuch.html: no such file or folder"),
    ("mkdir -p f; mkfifo f/records.jsonl; corescale report f", 6, "corescale: f/records.jsonl: is not a regular file"),
    ('corescale compare --gate "$UNSET" true false', 2, "corescale: --gate: has an empty value"),
    (
        "corescale scan --budget '' -- touch made",
        2,
        "corescale: --budget: '' is not a time above 0; write 90s, 5m or 1h30m",
    ),
    (
        "corescale scan --timeout '' -- touch made",
        2,
        "corescale: --timeout: '' is not a time above 0; write 90s, 5m or 1h30m",
    ),
    ('corescale tune --rehearse "\'a" -- touch made', 2, "corescale: --rehearse: .*: no closing quotation; close"),
    ("corescale scan --input - -- cat <&-", 2, "corescale: standard input: is closed; pipe the file in, or name it"),
    # What is piped in is kept whole, whatever an earlier write left there.
    (
        "mkdir -p corescale-runs/inputs/$(printf a | sha256sum | head -c 16); printf a | corescale scan --input - cat",
        6,
        "corescale: corescale-runs/inputs/.*: cannot be written: Is a directory; free some space",
    ),
    (
        "f=corescale-runs/inputs/$(printf whole | sha256sum | head -c 16) && mkdir -p ${f%/*} && printf w > $f;"
        " printf whole | corescale compare -q -r 1 --input - 'grep -q whole' >/dev/null; cat $f",
        0,
        "whole",
    ),
    ("corescale study check - <&-", 2, "corescale: standard input: is closed; pipe the file in, or name it"),
    *(
        (f"printf '{text}' > wrong.toml; corescale study check wrong.toml", 2, f"corescale: wrong.toml:{says}")
        for text, says in (
            ('title = "x"\\ncommand = "echo {n}"\\n[factors]\\nn = [1, nan]\\n', "4: factors.n: n=nan is not a finite"),
            (
                'title = "x"\\ncommand = "echo {n} {m}"\\n[factors]\\nn = {levels = [1, 2], along = {m = [inf, 2]}}\\n',
                "1: m=inf is not a finite",
            ),
            ('title = "x"\\ncommand = "true"\\ntimeout = inf\\n', "3: timeout: 'inf' is not a time above 0"),
            (
                'title = "x"\\ncommand = "true"\\n[stop]\\nconfidence = 0.3\\n',
                "4: stop.confidence: '0.3' is not above",
            ),
            (
                'title = "x"\\ncommand = "true"\\n[stop]\\nbudget = -5\\n',
                "4: stop.budget: '-5' is not a time above 0",
            ),
            (
                'title = "x"\\ncommand = "cat f | wc"\\n',
                "2: command: '[|]' in 'cat f [|] wc' is for a shell, .*; write sh -c .*, or add shell = true",
            ),
        )
    ),
    ("corescale tune --rehearse '' -- touch made", 2, "corescale: --rehearse: no arguments"),
    (
        "corescale scan --metric a=b -- true",
        2,
        "corescale: --metric: 'b' is not a source of a metric; write one of stdout-size",
    ),
    ("corescale scan --response fast -- true", 2, "corescale: --response: no response 'fast'; write wall"),
    (
        "corescale scan --budget 1x30 -- true",
        2,
        "corescale: --budget: '1x30' is not a time above 0; write 90s, 5m or 1h30m",
    ),
    ("corescale scan --budget 1d --dry-run -- true | tail -1", 0, "time: .*at most 24 h"),
    ("printf 12345 | corescale scan -q -r 1 -t 1 --input /dev/stdin -- grep -q 12345", 0, "1 thread: "),
    ("corescale study new n.toml >/dev/null && corescale study check - < n.toml | tail -1", 0, ".* configurations, "),
    ("corescale scan --budget 1h30m --dry-run -- true | tail -1", 0, "time: .*at most 1 h 30 min"),
    (
        'printf \'title = "x"\ncommand = "touch made {n}"\n[factors]\nn = [1, 2, 3]\n[stop]\nrule = "replicates"\n'
        'replicates = 1\n[[chart]]\nname = "c"\nkind = "lines"\ntitle = "C"\nx = "n"\n'
        "normalise = { to = { n = 1 } }\n' > relative.toml; corescale study run -q relative.toml --levels n=2,3",
        2,
        "corescale: chart c: is relative to n=1, and no launch has that; measure it too: --levels n=1,... .here: 2, 3",
    ),
    ("corescale study check relative.toml | tail -1", 0, "relative.toml: in order: 3 configurations, 1 blocks"),
    ("printf title | corescale study check -", 2, "corescale: standard input:1: not TOML: 'title'; write KEY = V"),
    ("corescale calibrate --output no/such", 2, "corescale: no/such: cannot be written: no such folder"),
    ("test ! -e made", 0, ""),
    (
        "corescale scan --export-csv x.csv --export-json x.csv -- touch made",
        2,
        "corescale: x.csv: two outputs would go there; name a file for each",
    ),
    (
        "corescale scan --input . -- touch made",
        2,
        "corescale: --input .: is not a regular file; name a file, or - for stdin",
    ),
    (
        "corescale scan --prepare 'exit 3' -- touch made",
        4,
        "corescale: --prepare exit 3: cannot be started: .*; what only a shell knows needs --shell, or sh -c 'exit 3'",
    ),
    ("corescale study run demo --levels threads=a", 2, "corescale: .*: 'a' is not a whole number of at least 1"),
    ("corescale study runn", 2, "corescale: study: no such command 'runn'; did you mean run?"),
    # Programs.
    (
        "corescale scan -- nonsuch",
        4,
        "corescale: nonsuch: no such program; no folder of PATH has it: check the spelling",
    ),
    (
        "corescale tune --dry-run -- ./nosuch 2>&1 >/dev/null",
        4,
        "corescale: ./nosuch: no such file; looked for /.*/nos",
    ),
    ("PATH=$PATH:/sbin corescale scan -- nonsuch 2>&1 | grep -c /sbin", 1, "0"),
    # Names that are too long to be looked at.
    ("corescale scan -q -r 1 -t 1 -- true /$(printf %0300d 0)", 0, "1 thread: "),
    (
        "corescale scan --input /$(printf %0300d 0) -- true",
        2,
        "corescale: --input .*: no such file; name a file",
    ),
    (
        "corescale scan --export-json $(printf %0300d 0) -- true",
        2,
        "corescale: 0*: cannot be written: File name too long",
    ),
    ("corescale report $(printf %0300d 0)", 6, "corescale: 0*: cannot be read: File name too long"),
    # What only a shell reads, as words of their own.
    (
        "corescale scan -- pigz -p {threads} -c f '|' wc -c",
        2,
        "corescale: command: '[|]' in 'pigz -p {threads} -c f [|] wc -c' is for a shell, .*, or add --shell",
    ),
    ("corescale explain -- sort '<' f", 2, "corescale: command: '<' in 'sort < f' is for a shell"),
    ("corescale scan -q -r 1 -t 1 -- find . -maxdepth 0 -exec true ';'", 0, ".*(the program|1 thread): "),
    # What a shell reads and nobody else can split.
    ('corescale compare -q -r 1 --shell "true # don\'t" true', 3, "true looks "),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
