# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py): output that nobody reads, and records that somebody changed."""

from pathlib import Path

from support.tries import Try, each, must_be

QUIETLY = "-q -r 1 -t 1"

FIRST = f"corescale scan {QUIETLY} --out runs -- true >/dev/null; mv runs/scan-*/1 kept"
"""what most tries read"""

TRIES: tuple[Try, ...] = (
    # A reader that leaves changes nothing; a full disk is told.
    ("corescale study list | true", 0, ""),
    (f"corescale scan {QUIETLY} -- true | head -c 1", 0, ""),
    (f"corescale scan {QUIETLY} -- true >/dev/full", 6, "corescale: standard output: cannot be written: No space left"),
    ("corescale study list >&-", 0, ""),
    ("corescale study list 2>&1 >&-", 0, "note: standard output is closed"),
    # A program that takes the folder of its launch away.
    (f"corescale scan {QUIETLY} -- sh -c 'rm -rf \"$(dirname $CORESCALE_RESULT)\"' | head -1", 0, ".*in one launch"),
    (
        f"corescale scan {QUIETLY} -- sh -c 'rmdir $CORESCALE_RESULT; mkfifo $CORESCALE_RESULT' | head -1",
        0,
        ".*in one launch",
    ),
    (f"corescale scan {QUIETLY} -- true $'\\xff' >/dev/null", 0, ""),
    (  # A second run is compared with the first: its program, and the variables.
        f"printf '#!/bin/sh\\n' > $'\\xff'; chmod +x $'\\xff'; for k in 1 2; do LC_X=$'\\xff' corescale scan {QUIETLY}"
        " -- $'./\\xff' | head -1; done",
        0,
        "1 thread: ",
    ),
    ("corescale scan $'--\\xff' -- true", 2, r"corescale: scan: no such option: --\\xff"),
    # Records that somebody changed.
    ("corescale report -o r.html kept", 0, ""),
    ("cd /proc && corescale report $OLDPWD/kept", 0, "1 thread: "),
    ("cd /proc && corescale report -o r.html $OLDPWD/kept", 2, "corescale: r.html: cannot be written: no file can"),
    ("corescale report -o no/r.html kept", 2, "corescale: no/r.html: cannot be written: no such folder"),
    ("corescale report -o - kept 2>/dev/null | tail -1", 0, "</html>"),
    ("corescale report -o - --json kept", 2, "corescale: --json --report -: two outputs would be on standard output"),
    (f"corescale scan {QUIETLY} --report - -- true 2>/dev/null | head -1", 0, "<!DOCTYPE html>"),
    ("corescale report --extract kept", 6, "corescale: kept: cannot be read: Is a directory; give a report.html"),
    ("corescale report --extract no.html", 6, "corescale: no.html: cannot be read: No such file .*; give a report"),
    ("corescale report --extract r.html --out /proc/no", 6, "corescale: .*: cannot be written: .*; choose --out DIR"),
    ("corescale report '' kept", 2, "corescale: report: an empty name; give the folder of a run"),
    ("corescale report runs", 6, "corescale: runs: holds no run; give the folder of one run, such as"),
    ("mkdir empty; cd empty; corescale report .", 6, "corescale: .: holds no run; give the folder of one run, such as"),
    (
        "corescale compare -q -r 1 --export-json e.json true >/dev/null; corescale report e.json",
        2,
        "corescale: report: e.json: is an export, and a run is shown from its records; give the folder of the run",
    ),
    (
        "corescale compare -q -r 1 --json true > j.json; corescale report j.json",
        2,
        "corescale: report: j.json: is an export",
    ),
    (  # A budget that is spent goes on with a larger one.
        "touch l.toml; for k in '' --continue; do COLUMNS= corescale scan -q -t 1 -r 40 --budget 2x --on fake"
        " --landscape l.toml --out again $k -- true | head -1; done | tail -1",
        3,
        "1 thread: .* .shown from run 1, nothing was measured: a larger --budget goes on.$",
    ),
    ("corescale report kept kept", 2, "corescale: report: kept: is given twice; give each run once"),
    (
        "cp -r kept copied; corescale report kept copied",
        2,
        "corescale: report: copied: has launches that kept has too; give each run once",
    ),
    (
        "cp -r kept unknown; echo {} > unknown/environment.json; corescale report unknown",
        6,
        "corescale: unknown/environment.json: names no machine; restore the file",
    ),
    (
        "cp -r kept torn; echo '{' > torn/plan.json; corescale report torn",
        6,
        "corescale: torn/plan.json: is damaged: no JSON; restore the file",
    ),
    # What was launched otherwise is not pooled; the same once more is.
    (
        f"corescale scan {QUIETLY} --out more -- true >/dev/null; corescale report kept more/*/1",
        0,
        "from .* at 1 thread|1 thread|thr",
    ),
    (
        f"corescale scan {QUIETLY} --out other -- sleep 0.01 >/dev/null; corescale report kept other/*/1",
        2,
        "corescale: report: cannot be seen together: true and sleep 0.01; give runs of one experiment",
    ),
    (
        "corescale scan -q -r 1 -t 1 --prepare true --out hooked -- true >/dev/null; corescale report kept hooked/*/1",
        2,
        "corescale: report: cannot be seen together: no hooks and --prepare true; give",
    ),
    (
        f"touch flat.toml; corescale scan {QUIETLY} --on fake --landscape flat.toml --out faked -- true >/dev/null;"
        " mv faked/*/1 fake; corescale report a=kept b=fake",
        2,
        "corescale: report: cannot be seen together: measured and fake; give",
    ),
    (
        "corescale tune -q -t 1 -L n 1,2 --budget 9x --out tuned -- true {n} >/dev/null;"
        " corescale report kept tuned/*/1",
        2,
        "corescale: report: cannot be seen together: a scan and a tune; give",
    ),
    (
        "corescale report fake >/dev/null; corescale study run --replay fake",
        2,
        "corescale: fake: is a fake run; add --on fake --landscape FILE, or give a measured run",
    ),
    ("corescale compare --against fake true", 2, "corescale: --against fake: is a fake run; add --on fake"),
    (
        "corescale compare --against kept --on fake --landscape flat.toml true",
        2,
        "corescale: --against kept: is no fake run; leave out --on fake",
    ),
    (
        f"cp -r kept swapped; corescale scan {QUIETLY} --out other -- sleep 0.01 >/dev/null;"
        " cp other/*/1/plan.json swapped; corescale report swapped",
        6,
        "corescale: swapped/plan.json: is the plan of other launches than those recorded; restore the file",
    ),
    (
        "corescale scan -q -r 3 -t 1,2 --out flat -- true >/dev/null;"
        " corescale predict flat/*/1 --cores 4 2>&1 | grep -c 'reads no number of threads'",
        3,
        "1",
    ),
    ("corescale predict kept --cores nan", 2, "corescale: predict: --cores: 'nan' is not a whole"),
    ("corescale predict kept --cores 1000000000000000000000", 2, "corescale: predict: --cores: '10*' "),
    (
        "cp -r kept p && echo '{}' > p/plan.json; corescale report p",
        6,
        "corescale: p/plan.json: is not a plan of a run; give the folder of a run",
    ),
    (
        "printf '\\xff' > bad.toml; corescale study check bad.toml",
        2,
        "corescale: bad.toml: cannot be read: not UTF-8; save it as UTF-8",
    ),
    (
        "cp -r kept a && sed -i '/wall/d' a/records.jsonl; corescale report a",
        6,
        "corescale: a/records.jsonl: holds 0 launches that count, but 2 were measured",
    ),
    (
        'cp -r kept b && sed -i \'s/"wall":[^,]*/"wall":NaN/\' b/records.jsonl; corescale report b',
        6,
        "corescale: b/records.jsonl:1: wall = nan s ",
    ),
    (
        'cp -r kept c && sed -i \'s/"wall":[^,]*/"wall":-1/\' c/records.jsonl; corescale report c',
        6,
        "corescale: c/records.jsonl:1: wall = -1 s ",
    ),
    (
        'cp -r kept f && sed -i \'s/"wall":[^,]*/"wall":1e-300/\' f/records.jsonl; corescale report f',
        6,
        "corescale: f/records.jsonl:1: wall = 1e-300 s ",
    ),
    (
        'cp -r kept g && sed -i \'s/"user":[^,]*,"wall"/"user":1e9,"wall"/\' g/records.jsonl; corescale report g',
        6,
        "corescale: g/records.jsonl:1: user . system = 1e.09 s within wall = .* s: ",
    ),
    (
        'cp -r kept h && sed -i \'s/"started":[^,]*/"started":-1/\' h/records.jsonl; corescale report h',
        6,
        "corescale: h/records.jsonl:1: started = -1 s is before 1970",
    ),
    (
        "cp -r kept behind && sed -i '1{h;d};2G' behind/records.jsonl; corescale report behind",
        6,
        "corescale: behind/records.jsonl:2: launch 0 of block 0 is behind the end of its block",
    ),
    (
        "cp -r kept d && sed -i 1p d/records.jsonl; corescale report d",
        6,
        "corescale: d/records.jsonl:2: launch 0 of block 0 is here a second time",
    ),
    (
        'cp -r kept e && sed -i \'s/\\["threads",1\\]/["threads",9]/\' e/records.jsonl; corescale report e',
        6,
        "corescale: e/records.jsonl: block 0 is of threads=9, which the plan does not have",
    ),
    (
        'cp -r kept i && sed -i \'s/"block":0,"attempt":0,"time"/"block":null,"attempt":0,"time"/\''
        " i/records.jsonl; corescale report i",
        6,
        "corescale: i/records.jsonl:2: block = None ",
    ),
    (
        'cp -r kept j && sed -i \'s/"started":[^,]*/"started":1e300/\' j/records.jsonl; corescale report j',
        6,
        "corescale: j/records.jsonl:1: started = 1e.300 s is beyond the year 9999",
    ),
    (
        'cp -r kept k && echo \'{"machine": {}, "variables": null}\' > k/environment.json; corescale report k',
        6,
        "corescale: k/environment.json: variables is none that a run has",
    ),
    (
        'cp -r kept l && echo \'{"machine": {}, "description": []}\' > l/environment.json; corescale report l',
        6,
        "corescale: l/environment.json: description is none that a run has",
    ),
    (
        'cp -r kept m && sed -i \'s/"experiment": {/"experiment": [], "x": {/\' m/plan.json; corescale report m',
        6,
        "corescale: m/plan.json: .*version",
    ),
    (
        'cp -r kept n && sed -i \'s/"kind": "threads"/"kind": "nosuch"/\' n/plan.json; corescale report n',
        6,
        "corescale: n/plan.json: .*version",
    ),
    (
        "cp -r kept o && printf '\\xff\\xfe' > o/finished; corescale report o",
        6,
        "corescale: o/records.jsonl: holds 2 launches that count, but .* were measured",
    ),
    *(
        (
            f"cp -r kept {name} && sed -i 's/{was}/{is_}/' {name}/{file}; corescale report {name}",
            6,
            f"corescale: {name}/{file}:{says}",
        )
        for name, file, was, is_, says in (
            ("q", "environment.json", '"created": [^,]*', '"created": "yesterday"', " created is none that a run has"),
            ("r", "environment.json", '"created": [^,]*', '"created": 1e300', " created is none that a run has"),
            ("s", "environment.json", '"machine": {', '"machine": 3, "was": {', " machine is none that a run has"),
            (
                "t",
                "environment.json",
                '"memory_bytes": [^,]*',
                '"memory_bytes": "much"',
                " description.memory_bytes is",
            ),
            ("u", "environment.json", '"programs": {', '"programs": 3, "was": {', " subject.programs is none that"),
            (
                "v",
                "records.jsonl",
                '"threads_per_rank":1',
                '"threads_per_rank":8',
                " block 0 is of layout 8x1x1 at thr",
            ),
            (
                "y",
                "records.jsonl",
                '"threads_asked":1',
                '"threads_asked":10000000',
                " block 0 asked for 10000000 threads, ",
            ),
            ("w", "records.jsonl", '"wall":[^,]*', '"wall":1e300', "1: wall = 1e.300 s "),
            ("x", "records.jsonl", '"exit_code":0', '"exit_code":9', "1: ended with exit code 9, and its status is ok"),
        )
    ),
    (
        "corescale scan -q -r 2 -t 1 --out two -- true >/dev/null;"
        ' sed -i \'1s/"plan":[^,]*/"plan":"beef"/\' two/*/1/records.jsonl;'
        " corescale report two/*/1",
        6,
        "corescale: two/.*/records.jsonl: has launches of several plans",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
