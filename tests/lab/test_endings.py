# SPDX-License-Identifier: Apache-2.0
"""The reason of a failure is what the program said, not the place where it stood."""

import pytest

from corescale.declare.plan import Block, invocations
from corescale.endings import ending
from corescale.records import Configuration

JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: queue is full\n\tat F.main(F.java:1)\n\t... 3 more\n'
)
GO = """panic: runtime error: index out of range [5] with length 1

goroutine 1 [running]:
main.f({0xc000012345?, 0x1, 0x2})
\t/src/m.go:3 +0x1d
main.main()
\t/src/m.go:4 +0xa
exit status 2
"""
RUST = "thread 'main' panicked at src/main.rs:2:5:\nno mesh\nnote: run with `RUST_BACKTRACE=1` environment variable\n"
NODE = "/x.js:1\nthrow e\n^\n\nError: no mesh\n    at Object.<anonymous> (/x.js:1:7)\n\nNode.js v18.19.0\n"
PYTHON = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    f()\nValueError: no mesh\n'
CPP = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no mesh\n"


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (JAVA, "java.lang.IllegalStateException: queue is full"),
        (GO, "panic: runtime error: index out of range [5] with length 1"),
        (RUST, "no mesh"),
        (NODE, "Error: no mesh"),
        (PYTHON, "ValueError: no mesh"),
        ("sleep: invalid time\nTry 'sleep --help' for more information.\n", "sleep: invalid time"),
        ("error: no such mesh.\n\nFor more information, try '--help'.\n", "error: no such mesh"),
        ("x: no mesh\nSee 'x --help'.\n", "x: no mesh"),
        ("Too small maximum heap\nPicked up JAVA_TOOL_OPTIONS: -Xmx1k\n", "Too small maximum heap"),
        ("Picked up JAVA_TOOL_OPTIONS: -Xmx1k\n", "failed with exit code 1"),
        (
            "git: 'stauts' is no command.\n\nThe most similar command is\n\tstatus\n",
            "The most similar command is status",
        ),
        (CPP, "instance of 'std::runtime_error' what():  no mesh"),
        ("a.c:1:1: error: no type\n    1 | x\n      | ^\n", "a.c:1:1: error: no type"),
        ("cc1: fatal error: a.c: No such file\ncompilation terminated.\n", "cc1: fatal error: a.c: No such file"),
        (
            'Error: near "selct": syntax error\n  selct 1\n  ^--- here\n',
            'Error: near "selct": syntax error selct 1 ^--- here',
        ),
        ("Can't locate X.pm.\nBEGIN failed--compilation aborted.\n", "Can't locate X.pm"),
        ("tar: a: Cannot open\ntar: Error is not recoverable: exiting now\n", "tar: a: Cannot open"),
        (
            "a.o: undefined reference to f\ncollect2: error: ld returned 1 exit status\n",
            "a.o: undefined reference to f",
        ),
        ("cp: no a.c\nmake: *** [Makefile:4: a.o] Error 1\n", "cp: no a.c"),
        ("make: *** No rule to make target 'x'.  Stop.\n", "make: *** No rule to make target 'x'.  Stop"),
        (
            "error: no toolchain.\nhelp: run x\n\nStack backtrace:\n   0: f\n             at ./x.c:3:1\n",
            "error: no toolchain",
        ),
        ("step(3) of solve(mesh)\n", "step(3) of solve(mesh)"),
        ("\tat F.main(F.java:1)\n", "at F.main(F.java:1)"),
        (f"{'-' * 74}\nThere are no\nslots.\n\nAsk for fewer.\n{'-' * 74}\n", "There are no slots"),
    ],
)
def test_the_reason_is_what_was_said(tail: str, said: str) -> None:
    (launch,) = invocations(Block("measure", (only := Configuration(),)), 0, 0, only, 1, None)
    record = launch.record("x", started=0.0, wall=1.0, status="failed", exit_code=1, tail=tail)
    assert ending(record).endswith(said)
