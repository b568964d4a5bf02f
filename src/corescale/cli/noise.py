# SPDX-License-Identifier: Apache-2.0
"""`doctor --noise 5m`: times pairs of equal launches, and prints how small a difference a gate can show here."""

import contextlib
import json as json_format
import math
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import typer

from corescale import passport
from corescale.cli.measure import measure
from corescale.conclude import detectable, noise, stats
from corescale.conclude.budget import ENDING
from corescale.conclude.response import table
from corescale.conclude.warnings import warnings
from corescale.declare import command_line, quantities
from corescale.declare.request import CompareRequest
from corescale.errors import InconclusiveError, ProgramError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers
from corescale.observe.store import Run
from corescale.passport import CALM, SENTINEL, Pairs, Passport
from corescale.show import files, text

SECONDS = 0.1
"""seconds of the sentinel: as long as a test's launch, and much longer than the start of a process"""
BLOCKS = (8, 12, 20, 40, 100)
"""numbers of blocks for which the smallest difference is printed"""
FEWEST = stats.fewest_blocks(detectable.CONFIDENCE)
"""the fewest blocks of a gate"""
MOST_PAIRS = 100_000


class _TooFewError(InconclusiveError):
    """A share of the time allowed too few pairs; `enough`: the seconds that as many as needed take at least."""

    def __init__(self, what: str, enough: float) -> None:
        self.enough = enough
        super().__init__(what)


def measured(duration: str, words: Sequence[str], *, json: bool) -> None:
    """Measures for half of the time the sentinel and for half the command, if one is given; writes the passport.

    Raises InconclusiveError if the time allows too few pairs of one. It is raised at once if the first pair shows that,
    and otherwise after those of the other are printed.
    """
    machine, command = launchers.machine("", {}), shlex.join(words)
    commands = ({command: command} if command else {}) | {SENTINEL: _sentinel()}  # the one that may fail comes first
    share = quantities.seconds(duration, "--noise") / len(commands)
    file = passport.file()
    if not file.parent.is_dir():
        files.make_folder(file.parent)
    files.must_be_writable(str(file))
    if file != passport.standard():
        files.must_be_ours(str(file), kind="noise passport")
    runs = str(file.with_suffix(".runs"))
    equal = {
        name: _Equal(one, "the sentinel" if name == SENTINEL else "the command", machine, runs, share)
        for name, one in commands.items()
    }
    found: dict[str, Pairs] = {}
    short: list[_TooFewError] = []
    for one in equal.values():
        with _added(short):
            one.must_fit()
    for name, one in equal.items() if not short else ():
        with _added(short):
            found[name] = one.pairs()
    known = _earlier(machine) | found
    if written := bool(found) and SENTINEL in known:
        files.write(str(file), passport.text(Passport(machine.fingerprint(), known)))
    _show(
        found, f"wrote {file}; corescale compare --gate auto reads it; its launches are in {runs}" * written, json=json
    )
    if short:
        enough = math.ceil(len(commands) * max(error.enough for error in short))
        remedy = f"it takes {FEWEST}, and so at least --noise {enough}s"
        raise InconclusiveError("; ".join(error.what for error in short), where="--noise", remedy=remedy)


def _show(found: Mapping[str, Pairs], wrote: str, *, json: bool) -> None:
    if json and found:
        typer.echo(json_format.dumps({name: asdict(pairs) for name, pairs in found.items()}))
    elif not json:
        for line in (*(line for name, pairs in found.items() for line in _said(name, pairs)), *filter(None, [wrote])):
            typer.echo(line)


def _earlier(machine: Machine) -> dict[str, Pairs]:
    """What this machine's passport knows of other commands."""
    try:
        return dict(passport.of_machine(machine.fingerprint()).commands)
    except UsageError:
        return {}


def _sentinel() -> str:
    """A fixed piece of work of about SECONDS on this machine."""
    loop, count = "n = 0\nfor k in range({}): n += k", 1_000_000
    began = time.process_time()
    exec(loop.format(count))
    count = max(1000, round(count * SECONDS / max(time.process_time() - began, 1e-3)))
    return shlex.join([sys.executable, "-I", "-S", "-c", loop.format(count)])


@contextlib.contextmanager
def _added(short: list[_TooFewError]) -> Iterator[None]:
    try:
        yield
    except _TooFewError as error:
        short.append(error)


@dataclass(frozen=True)
class _Equal:
    """Pairs of equal launches of a command, for `share` seconds in all. Messages call it `called`."""

    command: str
    called: str
    machine: Machine
    runs: str
    share: float

    def must_fit(self) -> None:
        """Makes the first pair; raises _TooFewError if even launches as fast as these would be too few."""
        fastest = min(record.wall for record in self._run(1, fresh=True).records)
        if (enough := 2 * FEWEST * fastest + ENDING) > self.share:
            raise _TooFewError(f"{self.share:.3g} s for {self.called} allow too few pairs", enough)

    def pairs(self) -> Pairs:
        """The first pair, and as many more as fit into the time. Raises _TooFewError."""
        run = self._run(MOST_PAIRS, fresh=False)
        made = run.records
        if failed := next((record for record in made if record.timed and not record.ok), None):
            what = f"fails (exit {failed.exit_code}), so its noise says nothing"
            raise ProgramError(what, where=self.command, remedy=f"its output is in {run.folder}")
        calm, times = warnings(made, run.experiment).undisturbed, table(made, run.experiment.response)
        if len(times.blocks) < FEWEST:
            what = f"{self.share:.3g} s for {self.called} allow only {text.count(len(times.blocks), 'pair')}"
            raise _TooFewError(what, FEWEST * self.share / len(times.blocks))
        kept = table(calm, run.experiment.response)
        usual = kept if len(kept.blocks) >= CALM * len(times.blocks) else times  # this machine is mostly disturbed
        ratios = usual.log_ratio(*usual.configurations).tolist()
        later = made[2:]  # the first pair was made earlier
        lasted = (later[-1].started + later[-1].wall - later[0].started) / (len(times.blocks) - 1)
        return Pairs(ratios, lasted, len(times.blocks), len(times.blocks) - len(kept.blocks))

    def _run(self, most: int, *, fresh: bool) -> Run:
        """The run with at most so many pairs: a new one, or more of the last one."""
        request = CompareRequest(name=["A", "B"], budget=f"{self.share:f}s", max_runs=most, width="0.001%",
                                 timeout="10m", fresh=fresh, continued=not fresh, out=self.runs)  # fmt: skip
        experiment = command_line.compare(request, [self.command, self.command], self.machine)
        began = time.monotonic()
        try:
            return measure(experiment, request, self.machine, began)
        except ProgramError as error:
            if error.where:
                raise
            ended = error.what.removeprefix(f"{request.name[0]} ").rpartition("; the last one ")[2]
            what = f"{ended}, so its noise says nothing"
            raise ProgramError(what, where=self.command, remedy="make it work") from error
        except InconclusiveError as error:
            pair = 2 * (time.monotonic() - began)  # one launch ended, or was killed when the time ended
            what = f"{self.share:.3g} s for {self.called} allow no pair"
            raise _TooFewError(what, FEWEST * pair + ENDING) from error


def _said(name: str, pairs: Pairs) -> Iterator[str]:
    count, least = len(pairs.log_ratios), FEWEST
    alarms, gates = detectable.alarms(pairs.log_ratios, least)
    spread = stats.median_interval([abs(one) for one in pairs.log_ratios]).estimate
    left = "" if count == pairs.made or not pairs.disturbed else " and left out"
    yield f"{name}: {text.count(pairs.made, 'pair')} of equal launches, {pairs.disturbed} disturbed{left}"
    yield f"  half of the pairs differ by more than {text.percent(spread)}"
    yield f"  false alarms: {alarms} of {text.count(gates, 'gate')} of {least} blocks"
    shown = ((n, detectable.smallest(pairs.log_ratios, n)) for n in BLOCKS)
    lasts = pairs.repeats * pairs.seconds
    said = ", ".join(f"{text.at_most(size)} in {n} blocks ({text.duration(n * lasts)})" for n, size in shown)
    yield f"  smallest difference that {detectable.POWER:.0%} of gates show: {said}"
    trend, memory = noise.drift(pairs.log_ratios, [0] * count)
    drifts = [one.says for one in (trend, memory) if one.exceeded]
    yield f"  drift of the ratios: {'; '.join(drifts) or 'none seen'}"
