# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: everything that is said of a result)
"""The ledger of thread-seconds as text for a person."""

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from corescale.conclude.explain.changes import CHANGES, WORTH
from corescale.conclude.explain.inflated import Cause
from corescale.conclude.explain.rows import LedgerRow
from corescale.declare.catalogue.settings import SHORT
from corescale.show import text

Shown = Mapping[str, Any]
"""A result, or a part of one, as explain_json.py makes it."""

MOST_SITES = 3
"""call sites of a row on a terminal; --json has five"""
SHOWN = 0.0005
"""Rows with a smaller share are not shown."""
TERMINAL = 60
"""width of a timeline in characters"""
BAR = 50
"""length in characters of a bar for the whole time"""
LEVELS = " ▁▂▃▄▅▆▇█"

MOST_LINES = 8
"""most timelines, and most places of a table, on a terminal"""


def lines(shown: Shown) -> Iterator[str]:
    """The whole text: a sentence, a line for each row that has time, and the other views. Text from the program is
    cleaned."""
    return map(text.clean, _lines(shown))


def _lines(shown: Shown) -> Iterator[str]:
    lost = max(0.0, shown["threads"] - shown["cores_used"])
    yield (
        f"{_counted(shown)} x {shown['wall']:.3g} s = {shown['thread_seconds']:.3g} thread-seconds; "
        f"{shown['cores_used']:.2g} cores' worth used, {lost:.2g} lost"
    )
    places = decimals(shown["thread_seconds"])
    for row, found in shown["rows"].items():
        if found["share"] >= SHOWN:
            words = "   ".join(filter(None, (_about(row, shown), _places(found["sites"]))))
            words = f"{found.get('source', ''):<13}{words}"
            yield f"  {row:<22}{found['seconds']:>8.{places}f}{found['share']:>7.1%}   {words}".rstrip()
    yield from (f"  {sentence}" for sentence in said(shown))
    yield from _cpus(shown)
    yield from _timelines(shown)
    for table in tables(shown):
        if table["name"] != "rows" and table["lines"]:
            yield from _as_text(table)
    yield from (f"  note: {note}" for note in shown["notes"])


def said(shown: Shown) -> Iterator[str]:
    """The sentences about serial time, gains from swaps, spinning, and the metrics."""
    yield from _serial(shown)
    yield from _inflated(shown)
    yield from _blocks(shown)
    yield from (_swapped(swap, shown) for swap in shown["swaps"])
    yield from _in_cpp(shown)
    if shown["spinning_in_waits"] > 0.01 * shown["thread_seconds"]:
        yield f"{shown['spinning_in_waits']:.2f} s of the waits were spent on a CPU: spinning"
    if shown["threads"] > 1 and shown["efficiency"] is not None:
        yield _metrics(shown["efficiency"])


def decimals(whole: float) -> int:
    """Decimals of seconds: two, or, if the whole is less than 0.1 s, as many as give it three significant digits."""
    return 2 - math.floor(math.log10(whole)) if 0 < whole < 0.1 else 2


def _places(sites: Sequence[Shown]) -> str:
    return "  ·  ".join(f"{brief(one['place'])}  {one['share']:.0%}" for one in sites[:MOST_SITES])


def _about(row: str, shown: Shown) -> str:
    """The uncertainty of a row, and its difference to the same work with one thread. Results of earlier versions have
    neither."""
    rows, parts, places = shown["rows"], [], decimals(shown["thread_seconds"])
    if sampled := rows[row].get("sampled"):
        parts.append(f"[{sampled['low']:.{places}f}, {sampled['high']:.{places}f}]")
    if row == LedgerRow.COMPUTING and shown["compared"]:
        inflated = rows[LedgerRow.INFLATED]
        parts.append(f"as at {_one(shown)}" if inflated["share"] >= SHOWN else _beyond(inflated, places, _one(shown)))
    elif row != LedgerRow.COMPUTING:
        parts.append(_beyond(rows[row], places, _one(shown)))
    return ", ".join(filter(None, parts))


def _one(shown: Shown) -> str:
    """`1 thread`, or `1 rank` if each rank has one thread."""
    return "1 rank" if shown.get("ranks", 1) == shown["threads"] > 1 else "1 thread"


def _beyond(row: Shown, places: int, one: str) -> str:
    """The difference to the same work with `one` thread or rank."""
    found = row.get("beyond_one_thread")
    if not found or not found["n"]:
        return ""
    seconds, low, high = (found[name] for name in ("seconds", "low", "high"))
    if low is None:
        more = f"{seconds:.{places}f} more than at {one}, by too few launches: noise may explain it"
        return more if seconds > 0 else f"not more than at {one}, by too few launches"
    if low > 0:
        return f"{seconds:.{places}f} [{low:.{places}f}, {high:.{places}f}] more than at {one}"
    if high < 0:
        return f"{-seconds:.{places}f} [{-high:.{places}f}, {-low:.{places}f}] less than at {one}"
    return f"as at {one}: {seconds:+z.{places}f} [{low:+z.{places}f}, {high:+z.{places}f}]"


def _serial(shown: Shown) -> Iterator[str]:
    """Elapsed time with one thread at work; earlier versions did not keep it."""
    if serial := shown.get("serial"):
        said = f"serial: {serial['seconds']:.3g} s of {shown['wall']:.3g} s elapsed"
        said += ", one thread computing or waiting for a core"
        yield "   ".join(filter(None, (said, _places(serial["sites"]))))


def _inflated(shown: Shown) -> Iterator[str]:
    """The parts of inflated computing, the largest first; earlier versions did not keep them."""
    places = decimals(shown["thread_seconds"])
    parts = sorted(shown.get("inflated_parts", ()), key=lambda part: -part["seconds"])
    said = [
        f"{part['cause']} {part['seconds']:.{places}f}"
        + ("" if part["low"] is None else f" [{part['low']:.{places}f}, {part['high']:.{places}f}]")
        for part in parts
    ]
    if parts:
        yield f"inflated computing: {'; '.join(said)}; by {parts[0]['blocks']} blocks of copies with one thread"


def _blocks(shown: Shown) -> Iterator[str]:
    """The share of blocks freed by a thread that did not allocate them, if allocating takes enough time; earlier
    versions did not keep it."""
    if not (found := _worthy(shown)) or not (elsewhere := found[0]["elsewhere"]):
        return
    left = found[0]["watched"] - elsewhere["n"]
    low, high = f"{elsewhere['low']:.1%}", f"{elsewhere['high']:.1%}"
    yield (
        f"another thread than took them freed {elsewhere['share']:.1%} [{low}, {high}] "
        f"of {elsewhere['n']} watched memory blocks" + (f"; {left} more stayed taken" if left else "")
    )


def _worthy(shown: Shown) -> Sequence[Shown]:
    """The blocks, if allocating takes enough of the thread-seconds."""
    return shown.get("memory_blocks", ()) if shown["rows"][LedgerRow.ALLOCATING]["share"] >= WORTH else ()


def _counted(shown: Shown) -> str:
    """`4 threads`, `2 ranks` or `4 threads of 2 ranks`, with a note if they are oversubscribed. Results of earlier
    versions have only threads."""
    threads, ranks, cores = shown["threads"], shown.get("ranks", 1), shown.get("cores_available")
    said = text.count(threads, "thread") if ranks != threads or ranks == 1 else f"{ranks} ranks"
    said += f" of {ranks} ranks" if ranks not in (1, threads) else ""
    return said if cores is None else f"{said} (oversubscribed: {text.count(cores, 'core')})"


def brief(place: str) -> str:
    """A place without template arguments, parameters and return type."""
    call, at, name = text.clean(place).rpartition(" at ")
    file = re.match(r"\S+:\d+ ", name)
    name, begin = re.sub(r" ?\[(clone|abi:)[^\]]*\]", "", name), file[0] if file else ""
    if operator := re.search(r"operator *(\(\)|\[\]|new|delete|[^\w\s(<]+|<+=?>?)", name):
        name = operator[0]
    elif "(" in name or "<" in name:  # else it has no types, and words may be words
        while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)( const)?", "", name)) != name:
            name = shorter
        name = begin + name.split()[-1].lstrip(":") if name.split() else place
    return call + at + name


def _swapped(swap: Shown, shown: Shown) -> str:
    level = SHORT.get(f"{swap['factor']}={swap['level']}", str(swap["level"]))
    changed = f"swapping {CHANGES[swap['factor']].words} ({level})"
    low, high = swap["low"], swap["high"]

    def share(seconds: float) -> str:
        return f"{seconds / shown['thread_seconds']:z.1%}"

    if low is not None and high < 0:
        return f"{changed} costs {share(-swap['returned'])} [{share(-high)}, {share(-low)}] of the thread-seconds"
    ends = "" if low is None else f" [{share(low)}, {share(high)}]"
    said = f"{changed} returns {share(swap['returned'])}{ends} of the thread-seconds; {share(swap['booked'])} booked"
    if low is None:
        return f"{said}, by {swap['pairs']} pairs: too few"
    if low <= 0:
        return f"{said}: nothing is shown"
    line = shlex.join(["corescale", "tune", "-f", f"{swap['factor']}=auto", "--", *shown["command"]])
    return f"{said}    try: {line}"


NO_CAUSE = (LedgerRow.COMPUTING, LedgerRow.QUEUED, LedgerRow.UNATTRIBUTED)
"""rows that name no cause in the program"""
IN_CPP = {
    LedgerRow.ALLOCATING: "thread_allocator keeps freed memory for the thread that freed it (runtime/README.md)",
    LedgerRow.BARRIER: "parallel_for divides a loop by the times of its earlier calls (runtime/README.md)",
    LedgerRow.INFLATED: "team starts its threads with a clean vector state (docs/results/vector_state.md)",
}
"""the part of corescale's C++ library that reduces a row, and its page"""


def _in_cpp(shown: Shown) -> Iterator[str]:
    """Suggests the C++ library, if it can reduce the row in which most time is lost, and that row exceeds the noise of
    one launch. Programs of one thread each, which those that are not known may be, wait at no barrier of threads, but
    for the end of a child. Results of earlier versions do not say whether the program is in C++."""
    if shown.get("is_cpp") is False:
        return
    lost = {row: found["share"] for row, found in shown["rows"].items() if row not in NO_CAUSE}
    most = LedgerRow(max(lost, key=lambda row: lost[row]))
    beyond = shown["rows"][most].get("beyond_one_thread")
    noise = most is LedgerRow.INFLATED and beyond and beyond["low"] is None
    parts = {part["cause"]: part["seconds"] for part in shown.get("inflated_parts", ())}
    children = most is LedgerRow.BARRIER and (shown.get("most_threads") or 1) == 1  # unknown: perhaps one
    machine = most is LedgerRow.INFLATED and parts and max(parts, key=lambda cause: parts[cause]) != Cause.SHARING
    if most in IN_CPP and lost[most] >= WORTH and not (noise or machine or children):
        yield f"against {most}, in C++ of your own: corescale's {IN_CPP[most]}"


WORDS = ("size", "place", "call sites", "source", "interval", "rank", "call", "partner", "row")
"""headings of text columns"""


def tables(shown: Shown) -> Iterator[dict[str, Any]]:
    """The tables of the page, whose first lines are also shown on a terminal: name, title, headings, text columns,
    cells."""

    def table(name: str, title: str, head: Sequence[str], cells: Iterable[Sequence[str]]) -> dict[str, Any]:
        return {"name": name, "title": title, "head": head, "words": WORDS, "lines": list(cells)}

    rows, places = shown["rows"].items(), max(3, decimals(shown["thread_seconds"]))
    head: tuple[str, ...] = ("row", "seconds", "share", "source", "interval", "call sites")
    yield table("rows", "Every row", head, (
        (row, f"{found['seconds']:.{places}f}", f"{found['share']:.1%}", found.get("source", ""), _about(row, shown),
         " · ".join(f"{one['place']} {one['share']:.0%}" for one in found["sites"])) for row, found in rows
    ))  # fmt: skip
    yield table("stretches", "One CPU at most was in use", ("place", "stretches", "seconds"), (
        (place or "unknown", str(count), f"{seconds:.{places}f}") for place, (count, seconds) in by_place(shown).items()
    ))  # fmt: skip
    clocks = sum(row["seconds"] for name, row in rows if LedgerRow(name).used)
    whole = max(clocks, sum(one["seconds"] for one in shown["hotspots"]))  # hotspots of few samples may add up to more
    yield table("hotspots", "Hotspots", ("place", "CPU seconds", "share", "of it allocating"), (
        (one["place"], f"{one['seconds']:.{places}f}", f"{one['seconds'] / whole if whole else 0:.1%}",
         f"{one['allocating']:.{places}f}") for one in shown["hotspots"]
    ))  # fmt: skip
    taken = _worthy(shown)
    head = ("size", "share of calls", "watched until freed", "by another thread", "interval")
    yield table("memory-blocks", "Memory blocks", head, (
        (f"up to {one['most']} bytes", f"{one['calls'] / taken[0]['calls']:.1%}", *_freed(one["elsewhere"]))
        for one in taken[1:]
    ))  # fmt: skip
    yield table("messages", "Calls of MPI", ("rank", "call", "partner", "calls", "seconds"), (
        (f"rank {one['rank']}", one["call"], partner(one), str(one["calls"]), f"{one['seconds']:.{places}f}")
        for one in shown.get("messages", ())
    ))  # fmt: skip
    head = ("place", "calls", "threads", "load balance", "thread-seconds waited")
    yield table("regions", "Parallel regions", head, (
        (one["place"], str(one["calls"]), f"{one['threads']:.3g}", f"{one['load_balance']:.3f}",
         f"{one['waited']:.{places}f}")
        for one in shown["regions"]
    ))  # fmt: skip


def _freed(elsewhere: Shown | None) -> tuple[str, str, str]:
    if not elsewhere:
        return "0", "", ""
    ends = f"[{elsewhere['low']:.1%}, {elsewhere['high']:.1%}]"
    return str(elsewhere["n"]), f"{elsewhere['share']:.1%}", ends


def _as_text(table: Mapping[str, Any]) -> Iterator[str]:
    """The first lines of a table, with numbers before words."""
    head: Sequence[str] = table["head"]
    numbers = {k: max(len(name), 8) + 2 for k, name in enumerate(head) if name not in WORDS}
    yield "".join([f"{table['title']:>28}", *(f"{head[k]:>{width}}" for k, width in numbers.items())])
    for line in table["lines"][:MOST_LINES]:
        words = " ".join(brief(cell) if head[k] == "place" else cell for k, cell in enumerate(line) if k not in numbers)
        yield f"{'':28}{''.join(f'{line[k]:>{width}}' for k, width in numbers.items())}   {words}".rstrip()


def _cpus(shown: Shown) -> Iterator[str]:
    """For how long each number of CPUs was in use, and when."""
    if not shown["cpus_in_use"]:
        return
    yield "  CPUs in use, share of the time"
    for cpus, share in shown["cpus_in_use"].items():
        yield f"  {cpus:>6} {share:>4.0%} {'█' * round(share * BAR)}".rstrip()
    highest = max(shown["threads"], 1)
    steps = (min(round(cpus / highest * (len(LEVELS) - 1)), len(LEVELS) - 1) for cpus in shown["cpus_over_time"])
    if line := "".join(LEVELS[step] for step in steps).rstrip():  # empty: at most half of the lowest level
        yield f"  over the time, 0 to {highest}: {line}"


def _timelines(shown: Shown) -> Iterator[str]:
    """For each thread, the row with the most time in each part of the wall time."""
    if not shown["timelines"]:
        return
    used = {letter for line in shown["timelines"] for letter in line["rows"]} - {" "}
    meaning = ", ".join(f"{row.letter} {row}" for row in LedgerRow if row.letter in used)
    yield f"  timeline of each thread: {meaning}"
    several = len({line["process"] for line in shown["timelines"]}) > 1
    for line in shown["timelines"][:MOST_LINES]:
        name = f"{line['process']}/{line['thread']}" if several else f"{line['thread']}"
        yield f"  {name:>14}  {''.join(_usual(line['rows'], TERMINAL))}".rstrip()
        for region in own_regions(line, shown):
            yield f"  {'':>14}  {_within(region['spans'], shown['wall'])}  {region['region']}"
    if (more := len(shown["timelines"]) - MOST_LINES) > 0:
        yield f"  {'':>14}  and {more} more threads"


def own_regions(line: Shown, shown: Shown) -> list[Shown]:
    """The regions of a timeline's thread; earlier versions kept none."""
    every: Sequence[Shown] = shown.get("own_regions", ())
    return [one for one in every if (one["process"], one["thread"]) == (line["process"], line["thread"])]


def _within(spans: Sequence[Sequence[float]], wall: float) -> str:
    """A mark for each part of the time in which the thread was in the region."""
    bounds = [[int(min(max(when / wall, 0.0), 1.0) * TERMINAL) for when in span] for span in spans]
    parts = {part for begin, end in bounds for part in range(begin, end + 1)}
    return "".join("=" if part in parts else " " for part in range(TERMINAL))


def _usual(rows: str, parts: int) -> Iterator[str]:
    """The most frequent letter in each of `parts` equal parts."""
    for part in range(parts):
        piece = rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
        yield max(sorted(set(piece)), key=piece.count, default=" ")


def by_place(shown: Shown) -> dict[str, tuple[int, float]]:
    """How many serial stretches each place has, and their seconds, the longest first."""
    found: dict[str, tuple[int, float]] = {}
    for one in shown["serial_stretches"]:
        count, seconds = found.get(one["place"], (0, 0.0))
        found[one["place"]] = (count + 1, seconds + one["length"])
    return dict(sorted(found.items(), key=lambda each: -each[1][1]))


def partner(message: Shown) -> str:
    """The partner of an MPI call, if it names one. Negative numbers are MPI constants, such as any source."""
    if message["partner"] is None:
        return ""
    return f"with rank {message['partner']}" if message["partner"] >= 0 else "with any rank"


def _metrics(found: Shown) -> str:
    """The POP metrics. Results of earlier versions lack `had_a_core`."""
    names = ("load_balance", "communication", "had_a_core")
    product = " x ".join(f"{name.replace('_', ' ')} {found[name]:.2f}" for name in names if name in found)
    scaling = found["computation_scaling"]
    return f"parallel efficiency {found['parallel']:.2f} = {product}" + (
        "" if scaling is None else f"; computation scaling {scaling:.2f}"
    )


def side_by_side(before: Shown, now: Shown) -> Iterator[str]:
    """Compares two results: the thread-seconds of each row then and now, and the difference."""
    places = max(decimals(each["thread_seconds"]) for each in (before, now))
    yield f"  {'':<22}{'before':>16}{'now':>16}{'difference':>12}"
    for name in ("wall", "thread_seconds"):
        old, new = before[name], now[name]
        yield f"  {name.replace('_', '-'):<22}{old:>16.{places}f}{new:>16.{places}f}{new - old:>+12.{places}f}"
    for row, current in now["rows"].items():
        earlier = before["rows"].get(row, {"seconds": 0.0, "share": 0.0})
        if max(earlier["share"], current["share"]) >= SHOWN:
            both = "".join(f"{one['seconds']:>9.{places}f}{one['share']:>7.1%}" for one in (earlier, current))
            yield f"  {row:<22}{both}{current['seconds'] - earlier['seconds']:>+12.{places}f}"
