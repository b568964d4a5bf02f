# SPDX-License-Identifier: Apache-2.0
"""What strangers type (support/tries.py) to tune: the baseline, what a budget buys, and how one goes on."""

from pathlib import Path

from support.tries import Try, each, must_be

TRIES: tuple[Try, ...] = (
    # The baseline is what the shell has, and a larger budget goes on.
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
        "left out: the baseline's threads from OMP_NUM_THREADS='many': it is not a number of threads",
    ),
    (
        "{ corescale tune --budget 3s -t 1,2 -L s 9,8 -- sleep 0.{s} 2>&1 >/dev/null || test $? = 3; }"
        " | grep -c -E 'buys about [0-9]+ launch(es)?; 2 configurations need about'",
        0,
        "1",
    ),
    (  # A race without confirmation is another question than one with it.
        "corescale tune -q --budget 8x --confirm 0 --within 0.1% -L s 1,5 -- env S={s} sleep 0.02 | tail -1",
        3,
        "next: the same command without --confirm 0 measures anew, and confirms the answer$",
    ),
    (
        "{ corescale tune -q --budget 8x -t 1 -L s 1,5 -- sleep 0.0{s} || test $? = 3; } | grep -c -E ' run 1'",
        1,
        "0",
    ),
    (  # A launch has its hooks with it: 4 s buy less than 14 of them.
        "corescale tune --budget 4s -t 1 -P n 1 9 --prepare 'sleep 0.3' -- true {n} 2>&1 >/dev/null"
        " | grep -c -E 'in all, so the rest of --budget 4s buys about 1?[0-9] launch(es)?; 9 conf'",
        3,
        "1",
    ),
    # One launch, if there is nothing to race: its line, its failure and its constraint.
    ("OMP_NUM_THREADS=1 corescale tune -q -t 1 -- sleep 0.01 | head -4 | tail -1", 0, "  sleep 0.01$"),
    ("OMP_NUM_THREADS=1 corescale tune -q -t 1 -- false", 4, "corescale: your current launch failed with exit code 1"),
    (
        "corescale tune -q -t 1 --metric m=peak-memory --subject-to 'm<=1KB' -- true",
        3,
        "no answer: nothing that was tried meets the constraint .your current launch: m = [0-9.]+ MiB, not",
    ),
    (  # What the program does not read names no launch.
        "corescale tune -q --budget 9x --allocators system,corescale -- sh -c 'sleep 0.01' | head -12"
        " | grep -c threads=",
        1,
        "0",
    ),
    (  # What never succeeded is nothing to keep, however few launches show it.
        "corescale tune -q -i --budget 20x -t 1 -L n 3,0 -- sh -c 'exit {n}'",
        0,
        "threads=1 n=0 is the fastest that never failed; threads=1 n=3 never succeeded: its last launch",
    ),
    ("corescale tune -q --budget 3x -t 1,2,3,4 -- sh -c ': $OMP_NUM_THREADS; sleep 0.1'", 3, "no answer|not decided"),
    # What nothing reads is not raced: it could only be noise.
    ("corescale tune -q --budget 9s -t 1 -- true", 0, "keep your current launch: the program reads no number of "),
    ("corescale tune -q --budget 9s -t 1,2 -w 3 -- true | sed -n '/^your current/{n;p}'", 0, "  true$"),
    (
        "corescale tune -q --budget 9s -f k=1 -t 1,2 -- sleep 0.0{k}",
        0,
        "keep k=1: k has one level; the program reads no ",
    ),
    ("corescale tune -q -f affinity=0,1 -- sleep 0.01", 0, "keep your current launch: affinity has one level; the pro"),
    (  # What is read shows at the first launch that succeeds, whichever that is.
        "corescale tune -q -i --budget 20x -f x=1,2 -- sh -c 'sleep 0.02; exit $((2-{x}))'",
        0,
        "x=2 is the fastest that never failed; x=1 never succeeded: its last launch failed",
    ),
    (
        "corescale tune -q --budget 9s -t 1,2 --rehearse 0.01 -- sleep 0.02",
        0,
        "keep your current launch: the program reads no number of threads",
    ),
    (
        "corescale tune -q --budget 9s -t 2 -f OMP_WAIT_POLICY=active,passive -- sleep 0.01",
        0,
        "keep your current launch: the program does not read OMP_WAIT_POLICY",
    ),
    (
        "{ corescale tune -q --budget 9x -t 1,2 -L n 1,2 -- sleep 0.0{n} || test $? = 3; } | grep '^not tried'",
        0,
        "not tried: 2 combinations; the program reads no number of threads: ",
    ),
    (  # What a constraint excluded was launched.
        "{ corescale tune -q --budget 40x -t 1 -L n 1,2 --metric b=stdout-size --subject-to 'b<=-1' -- echo {n} || test"
        " $? = 3; } | grep -c -E 'never launched|not measured'",
        1,
        "0",
    ),
    (
        "corescale tune --budget 40x -t 1 -L n 1,2 --metric b=stdout-size --subject-to 'b<=-1' --out barred -- echo {n}"
        " 2>&1 >/dev/null | grep -c leads",
        1,
        "0",
    ),
    (
        "corescale tune -q --budget 4x -t 1,2 -- sh -c 'case $LD_PRELOAD in *env_reads*) exit 9; esac; sleep 0.0$((3 /"
        " ${OMP_NUM_THREADS:-1}))' >/dev/null; test $? != 4 && echo it bears no env_reads",
        0,
        "it bears no env_reads",
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
        "2$",
    ),
    (
        "corescale tune -q --more --out none",
        2,
        "corescale: --more: there is no tune in none; corescale tune -- COMMAND",
    ),
    ("corescale tune --more --dry-run --out more | grep -c '^4 configurations: '", 0, "1"),
    (
        "printf 'base = 0.1\\n' > l.toml; corescale tune -q --budget 3x --on fake --landscape l.toml --out faked -t 1,2"
        " -- true >/dev/null; corescale tune -q --more --out faked",
        2,
        "corescale: --on fake: the fake launcher needs a landscape; add --landscape FILE",
    ),
    (
        "corescale tune -q --more --budget 2x --out more",
        2,
        "corescale: --more --budget 2x: .* had --budget [39]x; name",
    ),
    (
        "corescale tune -q --more -t 1 --out more",
        2,
        "corescale: --more: goes on with the launches of the last run, and",
    ),
    ("corescale tune -q --more --out more >/dev/null; ls -r more/tune-*", 0, "2$"),
    (  # It is no history, and says why.
        "git init -q . && git -c user.name=n -c user.email=e commit -qm 1 --allow-empty;"
        " corescale tune -q -t 1,2 --out idle -- sleep 0.01 >/dev/null && corescale history h.jsonl idle/tune-*/1",
        6,
        "corescale: idle/.*: is a tune that timed no launch; scan the program",
    ),
    (  # What its launches left running is said, although none of them is timed.
        "corescale tune -q -t 1,2 --out leaves -- sh -c 'sleep 60 &' | grep -c 'ran on after the program'",
        0,
        "1",
    ),
    (  # A metric that is the response has one column.
        "corescale tune -q --budget 9x -t 1 -L n 1,2 --metric c=cpu-time --response metric:c --export-csv - -- true {n}"
        " 2>/dev/null | head -1 | grep -c metric_c",
        1,
        "0",
    ),
    ("corescale tune -- true '&&' sleep 1", 2, "corescale: command: '&&' in 'true && sleep 1' is for a shell"),
    (  # A tune that found nothing else to launch is shown again with its answer.
        "corescale tune -q -t 1,2 --out kept -- sleep 0.01 >/dev/null && corescale report -o kept.html kept/tune-*/1",
        0,
        "keep your current launch: the program reads no number of threads",
    ),
)


@each(TRIES)
def test_a_try(line: str, code: int, first: str, tries_folder: Path) -> None:
    must_be(line, code, first, tries_folder)
