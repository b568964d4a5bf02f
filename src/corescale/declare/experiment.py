# SPDX-License-Identifier: Apache-2.0
"""The Experiment: everything that was asked, validated, independent of which door it came through."""

import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from corescale.declare import arithmetic, factors, template
from corescale.declare.model import Model
from corescale.declare.outputs import Output
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import INHERITED, Configuration, Layout, Level, Phase, canonical

Verb = Literal["tune", "scan", "compare", "study"]
MetricSource = Annotated[str, Field(pattern=r"^(stdout-size|peak-memory|cpu-time|output:[A-Za-z_][\w.-]*)$")]

SERIAL = "serial"
"""The command that `--serial` names: the best serial program, baseline of the speedup."""


class Command(Model):
    """A command template. `argv` goes to no shell unless `shell` says so."""

    name: str
    argv: tuple[str, ...] = Field(min_length=1)
    shell: bool = False


class Factor(Model):
    """What is varied, how it reaches the program (a key of factors.KINDS) and its levels."""

    name: str
    kind: str
    levels: tuple[Level, ...]

    @property
    def how(self) -> factors.Kind:
        """Its kind, as an object."""
        return factors.KINDS[self.kind]


class Along(Model):
    """A parameter that goes along with a factor: for each level of it one value."""

    name: str
    factor: str
    values: tuple[tuple[Level, Level], ...]
    """level of the factor, value"""


class Constraint(Model):
    """A bound on a metric, as a number or as a multiple of today's value: `bytes<=1.02*today`."""

    metric: str
    relation: Literal["<=", ">="]
    bound: float
    relative: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `METRIC<=NUMBER[*today]`; raises UsageError."""
        match = re.fullmatch(r"\s*([\w.-]+)\s*(<=|>=)\s*([0-9.eE+-]+)\s*(\*\s*today)?\s*", text)
        try:
            if match is None:
                raise ValueError
            name, relation, bound, relative = match.groups()
            return cls.model_validate(
                {"metric": name, "relation": relation, "bound": float(bound), "relative": relative is not None}
            )
        except ValueError:
            raise UsageError(
                f"not a constraint: {text!r}",
                where="--subject-to",
                remedy="write METRIC<=NUMBER or METRIC<=NUMBER*today",
            ) from None


class Weak(Model):
    """The work grows with the threads: which column is the work per thread, and which the work."""

    load: str = "load"
    work: str = "work"


class Hooks(Model):
    """Commands around the launches, as hyperfine has them; untimed, and a failing one ends the run."""

    setup: str | None = None
    prepare: str | None = None
    conclude: str | None = None
    cleanup: str | None = None


PRESENTATION = {"name", "title", "source", "columns", "outputs", "left_out", "weak"}
"""Fields of an Experiment that say how records are shown, and change no launch."""

FOUND = {"inherited_allocator"}
"""Fields that were not asked for but found: the run's environment tells them too, and refuses others."""


class Experiment(Model):
    """Factors with levels, the commands they apply to, the response, and when to stop."""

    verb: Verb
    name: str = ""
    """of the study, empty where it came from the command line"""
    title: str = ""
    source: str = ""
    """where the study was published"""
    commands: tuple[Command, ...] = Field(min_length=1)
    factors: tuple[Factor, ...] = ()
    today: tuple[tuple[str, Level], ...] = ()
    """levels of today's launch that differ from the default"""
    anchored: bool = True
    """whether today's launch returns within long blocks, so that slow drift cannot hide there"""
    along: tuple[Along, ...] = ()
    derived: Mapping[str, str] = {}
    """parameters that follow from the levels by declare/arithmetic.py; placeholders of the command, and columns"""
    weak: Weak | None = None
    """weak scaling is asked for; None: the same work at every p"""
    response: Annotated[str, Field(pattern=r"^(wall|region:.+|metric:.+)$")] = "wall"
    metrics: Mapping[str, MetricSource] = {}
    constraints: tuple[Constraint, ...] = ()
    inherited_allocator: str = ""
    """what the level `inherited` of an allocator was when this was declared; empty for none of allocators.ALLOCATORS"""
    p_ref: int = Field(default=1, ge=1)
    stop: Stop = Stop()
    hooks: Hooks = Hooks()
    warmup: int = Field(default=0, ge=0)
    timeout: float | None = Field(default=None, gt=0)
    """seconds per launch"""
    cores: int | None = None
    """most threads of all ranks together: combinations beyond are not launched; None: no limit"""
    ignore_failure: bool = False
    same_output: bool = False
    rehearsal: tuple[str, ...] = ()
    """argv template of the same program on a smaller input, tried first"""
    input: str | None = None
    output: str | None = None
    left_out: tuple[str, ...] = ()
    """what was asked or usual and is not measured here, with the reason"""
    columns: Mapping[str, str] = {}
    """computed from a launch's other columns by declare/arithmetic.py, such as `work / time`"""
    outputs: tuple[Output, ...] = ()

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        names = [factor.name for factor in self.factors]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"factor {name!r} is given twice", remedy="merge its levels")
        for constraint in self.constraints:
            if constraint.metric not in self.metrics:
                raise UsageError(
                    f"no metric {constraint.metric!r}",
                    where="--subject-to",
                    remedy=f"declare it: --metric {constraint.metric}=SOURCE",
                )
        return self

    def factor(self, name: str) -> Factor | None:
        """The factor of that name, or None."""
        return next((factor for factor in self.factors if factor.name == name), None)

    @property
    def makes_p(self) -> frozenset[str]:
        """Names of the factors whose levels make p."""
        return frozenset(factor.name for factor in self.factors if factor.how.makes)

    @property
    def makes_threads(self) -> bool:
        """Whether a factor says how many threads there are; beside one of ranks it is one in each."""
        return any({"threads", "ranks"} & factor.how.makes for factor in self.factors)

    def beside_p(self, configuration: Configuration, *also: str) -> tuple[tuple[str, Level], ...]:
        """The levels of a configuration that are not part of p, without those of the factors named `also`."""
        apart = self.makes_p.union(also)
        return tuple((name, level) for name, level in configuration.levels if name not in apart)

    def command(self, configuration: Configuration, phase: Phase = "measure") -> Command:
        """The template that a configuration launches."""
        if phase == "rehearse":
            return Command(name="rehearsal", argv=self.rehearsal)
        wanted = configuration.get("command")
        return next((command for command in self.commands if command.name == wanted), self.commands[0])

    @property
    def hash(self) -> str:
        """Names the run folder: equal requests share it, so that the same command line resumes.

        Only what changes the launches counts: a chart may be redrawn over records that are there.
        """
        return hashlib.sha256(canonical(self.asked).encode()).hexdigest()[:12]

    @property
    def asked(self) -> dict[str, Any]:
        """What decides the launches, as JSON values."""
        return self.model_dump(mode="json", exclude=PRESENTATION | FOUND, exclude_defaults=True)


def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """Every combination of levels: today's launch first, the serial baseline (if any) last.

    Of combinations that are the same launch, such as a setting of an allocator that another replaces, `tune` has one.
    """
    grid = (configuration(experiment, choice) for choice in _grid(experiment))
    serial = [_serial(experiment)] if any(command.name == SERIAL for command in experiment.commands) else []
    return tuple(dict.fromkeys([today(experiment), *grid, *serial]))


def today(experiment: Experiment) -> Configuration:
    """Today's launch: each factor's first level (threads: the largest), unless `--today` says otherwise.

    Where that is more than the cores, the largest p that fits, of as many threads in a rank as can be.
    """
    chosen: dict[str, Level] = {factor.name: factor.how.today(factor.levels) for factor in experiment.factors}
    first = configuration(experiment, chosen | dict(experiment.today))
    if fits(experiment, first):
        return first
    said = dict(experiment.today)
    open_ = {f.name: f.levels for f in experiment.factors if f.how.makes and f.name not in said}
    others = (configuration(experiment, chosen | said | made) for made in _choices(open_))
    return max(
        (other for other in others if fits(experiment, other)),
        key=lambda other: (other.layout.p, other.layout.threads_per_rank),
        default=first,
    )


def fits(experiment: Experiment, chosen: Configuration) -> bool:
    """Whether its threads are within what the experiment allows for all ranks together."""
    return experiment.cores is None or chosen.layout.p <= experiment.cores


def configuration(experiment: Experiment, levels: Mapping[str, Level]) -> Configuration:
    """One level of each factor, with the layout that follows from them."""
    layout = Layout()
    for factor in experiment.factors:
        layout = factor.how.layout(levels[factor.name], layout)
    return Configuration(tuple((factor.name, levels[factor.name]) for factor in experiment.factors), layout)


def parameters(experiment: Experiment, chosen: Configuration) -> dict[str, Level]:
    """What placeholders stand for: levels, the layout's p, threads, ranks and nodes, and every derived parameter."""
    layout = chosen.layout
    values: dict[str, Level] = {"p": layout.p, "ranks": layout.ranks_per_node, "nodes": layout.nodes}
    values |= dict(chosen.levels) | {"threads": layout.threads_per_rank}
    values |= {along.name: dict(along.values)[values[along.factor]] for along in experiment.along}
    formulas = {name: arithmetic.parse(text, f"derived.{name}") for name, text in experiment.derived.items()}
    for name in arithmetic.ordered(formulas, values, "derived"):
        values[name] = formulas[name].value(values, f"derived.{name}")
    return values


def launch(experiment: Experiment, chosen: Configuration, machine: Machine, phase: Phase = "measure") -> factors.Launch:
    """What a configuration becomes: argv, environment, placement. Shown by --dry-run and run by the launcher."""
    command = experiment.command(chosen, phase)
    values = {name: str(value) for name, value in parameters(experiment, chosen).items()}
    result = factors.Launch(argv=template.fill(command.argv, values), shell=command.shell)
    if "threads" not in template.placeholders(command.argv) and experiment.makes_threads:
        result = factors.with_thread_variables(result, chosen.layout.threads_per_rank)
    for factor in experiment.factors:
        result = factor.how.apply(factor.name, chosen[factor.name], result, machine)
    return result


def combinations(experiment: Experiment) -> int:
    """Of levels, the same launches counted as often as they can be written."""
    deciding, others = _apart(experiment)
    return sum(1 for _ in _decided(experiment, deciding)) * math.prod(len(factor.levels) for factor in others)


def _grid(experiment: Experiment) -> Iterator[dict[str, Level]]:
    """Every combination; of `tune` with today's level alone of what changes nothing beside the deciding ones."""
    now = dict(today(experiment).levels)
    deciding, others = _apart(experiment)
    for decided in _decided(experiment, deciding):
        threads = configuration(experiment, now | decided).layout.threads_per_rank
        alone = experiment.makes_threads and threads == 1
        known = {f.name: _known(experiment, f, decided[f.name]) for f in deciding}
        idle = {f.name for f in others if f.how.idle(f.name, known, one_thread=alone)}
        idle = idle if experiment.verb == "tune" else set()
        yield from (
            decided | choice
            for choice in _choices({f.name: (now[f.name],) if f.name in idle else f.levels for f in others})
        )


def _apart(experiment: Experiment) -> tuple[list[Factor], list[Factor]]:
    """The factors that decide p or whether another changes anything, and the others."""
    deciding = [factor for factor in experiment.factors if factor.how.decides or factor.how.makes]
    return deciding, [factor for factor in experiment.factors if factor not in deciding]


def _decided(experiment: Experiment, deciding: Sequence[Factor]) -> Iterator[dict[str, Level]]:
    """Every choice of levels of the deciding factors that fits."""
    now = dict(today(experiment).levels)
    for decided in _choices({factor.name: factor.levels for factor in deciding}):
        if fits(experiment, configuration(experiment, now | decided)):
            yield decided


def _known(experiment: Experiment, factor: Factor, level: Level) -> Level:
    return experiment.inherited_allocator if factor.kind == "allocator" and level == INHERITED else level


def _choices(levels: Mapping[str, Sequence[Level]]) -> Iterator[dict[str, Level]]:
    return (dict(zip(levels, chosen, strict=True)) for chosen in itertools.product(*levels.values()))


def _serial(experiment: Experiment) -> Configuration:
    now = today(experiment)
    levels = {factor.name: factor.how.serial(now[factor.name]) for factor in experiment.factors}
    return Configuration((("command", SERIAL), *levels.items()), Layout())
