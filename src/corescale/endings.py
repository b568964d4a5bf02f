# SPDX-License-Identifier: Apache-2.0
"""Says how a launch ended, with the line of output that probably gives the reason; warns of short launches."""

import re
import signal
from collections.abc import Sequence
from typing import Protocol

SPEAKING = ("failed", "signal", "timeout", "not-started", "check")
"""statuses for which the output probably gives the reason"""

LONGEST = 200
"""characters of that line that are shown"""

ERROR = re.compile(
    r"(?!\s|.*warn).*?(?<![\w/'.-])"
    r"(\w*error|\w*exception|fatal|panic(ked)?|fail(ed|ure)|assertion|cannot|can't|couldn't|(could|does|did) not|unable"
    r"|un(declared|defined|expected|known|recognized|supported)|invalid|missing|no such|not found|denied|refused)"
    r"(?![\w(/'-]|[ :=]*[-+.]?\d)",
    re.IGNORECASE,
)
"""matches an unindented line that names an error, in the words of a message; not `error: 1e-5`, raise ValueError("x"),
or a warning"""

NAMED = re.compile(r"\s*(?!usage:)\S+: ", re.IGNORECASE)
"""matches a line that begins with the name of what speaks, as in `x.c: message`"""

ANY = re.compile("")
"""matches every line"""

SHORT = 0.010
"""seconds; in shorter launches, starting the process is a large part of the time"""

HALTED = "a signal stopped a process of it, which cannot go on by itself"
"""why a launch with `halted` processes did not end"""

CONTINUE = "let it stop no process, or let it send SIGCONT"
"""what to do about it"""

UNSTARTED = (126, 127)
"""exit codes by which POSIX's utilities say that they could not start a program"""

RULE = re.compile(r"^-{20,}$", re.MULTILINE)
"""line of hyphens before and after a message, as mpirun writes them"""


LIST = re.compile(r"(?<=\.) [^.]*:$")
"""a sentence that only introduces a list"""


def boxed(said: str) -> str:
    """The first paragraph of the first message between two rules, as one line without a full stop; empty for none. One
    that ends with a colon includes the next line."""
    _, *messages = RULE.split(said)
    first, _, rest = messages[0].strip().partition("\n\n") if messages else ("", "", "")
    line = LIST.sub("", " ".join(first.split()))
    following = rest.strip().splitlines()[:1] if line.endswith(":") else []
    return " ".join([line, *following]).rstrip(".")


class Ended(Protocol):
    """How a launch ended, according to a record or to the spawner's report."""

    @property
    def status(self) -> str:
        """The same as in records."""

    @property
    def exit_code(self) -> int | None:
        """Negative for the number of a signal in records."""

    @property
    def wall(self) -> float:
        """Seconds."""

    @property
    def tail(self) -> str:
        """The end of its output."""

    @property
    def leftovers(self) -> int:
        """Processes that ran on after its end until they were killed."""

    @property
    def halted(self) -> int:
        """Its processes that a signal had stopped at its time limit."""


def reason(said: str) -> str:
    """What a program's output says about why it failed, as one line without a full stop; empty if it says nothing.

    The first line that names an error, because others may follow from it; else the last with a name and a message; else
    the last. One that ends with a colon includes the next. Of a message between rules, see `boxed`.
    """
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[::-1]
    kinds = ((ERROR, lines), (NAMED, last), (ANY, last))
    found = next((line for kind, ordered in kinds for line in ordered if kind.match(line)), "")
    place = lines.index(found) if found else 0
    line = " ".join(" ".join(lines[place : place + 1 + found.endswith(":")]).split()).rstrip(".")
    line = boxed(said) if RULE.match(said) else line
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def names_error(said: str) -> bool:
    """Whether a line of a program's output names an error."""
    return any(map(ERROR.match, said.splitlines()))


def telling(*outputs: str) -> str:
    """The first of a program's outputs that names an error; if none does, the first that is not empty."""
    return next(filter(names_error, outputs), next(filter(None, outputs), ""))


_UNWRITTEN = re.compile(r"^(?:rank \d+: )?corescale: .*?: (.*; the results of this process are not recorded)$", re.M)


def unwritten(said: str) -> tuple[str, ...]:
    """Why processes could not write their results, in the words of region.h in their output."""
    return tuple(f"region.h: {why}" for why in dict.fromkeys(_UNWRITTEN.findall(said)))


def ending(record: Ended) -> str:
    """What the launch did, as the rest of a sentence: `failed with exit code 7: cannot open grid.dat`."""
    said = reason(record.tail) if record.status in SPEAKING else ""
    return f"{outcome(record)}: {said}" if said else outcome(record)


def not_started(record: Ended) -> bool:
    """Whether the program could not be started, be it through a shell, env, nice or the like."""
    return record.status == "not-started" or (record.status == "failed" and record.exit_code in UNSTARTED)


def spoiled(launches: Sequence[Ended], prepare: str) -> str:
    """What to do if launches of a program succeeded until one failed, and none succeeded since; empty otherwise.

    `prepare`: how a command before each launch is asked for.
    """
    worked = [one.status == "ok" for one in launches if one.status != "capped"]
    if any(one.status == "output-differs" for one in launches):
        return ""  # such a launch succeeded, apart from --same-output
    if worked[:1] != [True] or worked[-1] or worked != sorted(worked, reverse=True):
        return ""
    return f"an earlier launch succeeded: if the program removes or makes files, restore them by {prepare}"


def outcome(record: Ended) -> str:
    """The same without its output: `failed with exit code 7`."""
    broken = ", ".join(name for name, ok in getattr(record, "checks", {}).items() if not ok)
    number = getattr(record, "signal", None) or abs(record.exit_code or 0)
    return {
        "ok": "succeeded",
        "failed": f"failed with exit code {record.exit_code}" if record.exit_code else "failed",
        "signal": f"was killed by {_signal(number)}",
        "timeout": f"did not end{f' ({HALTED})' * bool(record.halted)}, and was killed after {record.wall:.3g} s",
        "not-started": "could not be started",
        "check": f"broke its own check {broken}".strip(),
        "output-differs": "wrote another output than the first launch of all (--same-output)",
        "unproved": "succeeded, but nothing shows that the allocator was in it",
        "capped": f"was stopped after {record.wall:.3g} s: too slow to win",
    }[record.status]


def _signal(number: int) -> str:
    """`SIGSEGV`; `signal 40` if that number has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def left_running(launches: Sequence[Ended]) -> str:
    """A warning about processes that outlived their launch, if any. They are killed with a killed launch."""
    found = [one.leftovers for one in launches if one.leftovers and one.status not in ("timeout", "capped")]
    if not found:
        return ""
    what, were = (f"{max(found)} processes", "were") if max(found) > 1 else ("a process", "was")
    return f"{what} that ran on after the program's end {were} killed (in {len(found)} of {len(launches)} launches)"


def too_short(wall: float) -> str:
    """A warning if a launch, or the median of several, is too short; empty if it is long enough."""
    if not wall < SHORT:
        return ""
    rule = f"below {1000 * SHORT:.0f} ms, starting the process is a large part of it"
    return f"a launch takes {1000 * wall:.2g} ms: {rule}"
