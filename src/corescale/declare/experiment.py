# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one model and its parts)
"""The Experiment: everything that was asked, validated. It is the same from a command line, a study file or Python."""

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from corescale.declare import factors, metric_sources, template
from corescale.declare.base import Model
from corescale.declare.outputs import Output, Selection
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.records import Configuration, Level, Phase, canonical

Verb = Literal["tune", "scan", "compare", "study"]
MetricSource = Annotated[
    str, AfterValidator(metric_sources.source), Field(json_schema_extra={"pattern": metric_sources.PATTERN})
]
Response = Annotated[
    str, AfterValidator(metric_sources.response), Field(json_schema_extra={"pattern": metric_sources.RESPONSE})
]

SERIAL = "serial"
"""The name of the command given by `--serial`: the best serial program, which is the baseline of the speedup."""


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
    """A parameter that follows a factor: it has one value for each level."""

    name: str
    factor: str
    values: tuple[tuple[Level, Level], ...]
    """level of the factor, value"""


class Constraint(Model):
    """A bound on a metric, as a number or as a multiple of the baseline's value: `bytes<=1.02*baseline`."""

    metric: str
    relation: Literal["<=", ">="]
    bound: float
    relative: bool = False

    @classmethod
    def parse(cls, text: str, where: str = "--subject-to") -> Self:
        """The constraint `METRIC<=NUMBER`, `METRIC<=10MiB` or `METRIC<=NUMBER*baseline`; raises UsageError."""
        number = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
        unit = r"(?:([KMGT])(i?)B|(\*\s*(?:baseline|today)))?"
        match = re.fullmatch(rf"\s*([\w.-]+)\s*(<=|>=)\s*{number}\s*{unit}\s*", text)
        of = 1024 if match is not None and match[5] else 1000
        bound = math.nan if match is None else float(match[3]) * of ** " KMGT".index(match[4] or " ")
        if match is None or not math.isfinite(bound):
            remedy = "write METRIC<=NUMBER, METRIC<=10MiB, METRIC<=10MB or METRIC<=NUMBER*baseline"
            raise UsageError(f"not a constraint: {text!r}", where=where, remedy=remedy)
        found = {"metric": match[1], "relation": match[2], "bound": bound, "relative": match[6] is not None}
        return cls.model_validate(found)


SHOWN = "inherit"
"""hyperfine's word for showing standard output; a record then keeps the end of it, and of standard error"""


class Weak(Model):
    """Weak scaling: the names of the columns that hold the work per thread and the total work."""

    load: str = "load"
    work: str = "work"


class Hooks(Model):
    """Commands before and after launches, as in hyperfine. They are not timed, and a failing one ends the run."""

    setup: str | None = None
    prepare: str | None = None
    conclude: str | None = None
    cleanup: str | None = None


class Baseline(Model):
    """The baseline, with which everything is compared."""

    levels: tuple[tuple[str, Level], ...] = ()
    """levels that are not the first of their factor; they need not be among those to try"""
    as_typed: tuple[str, ...] = ()
    """factors whose baseline level is the shell's own, so that nothing needs to be set"""
    allocator: str = ""
    """the allocator that was inherited when this was declared; empty if it is not in allocators.ALLOCATORS"""
    returns: bool = True
    """whether it is launched again within long blocks, so that slow drift cannot hide there"""


class Tuning(Model):
    """The additional settings of a race."""

    constraints: tuple[Constraint, ...] = ()
    rehearsal: tuple[str, ...] = ()
    """argv template of the same program on a smaller input, tried first"""


class Scaling(Model):
    """The additional settings of a scan."""

    p_ref: int = Field(default=1, ge=1)
    weak: Weak | None = None
    """weak scaling, if it is asked for; None: the same work at every p"""
    seal: bool = False
    """p <= P / 2 is measured first, and a forecast is sealed before P, the largest p, is launched"""


class Presentation(Model):
    """The additional settings of a study file: how its records are shown. They change no launch."""

    name: str = ""
    """empty if the experiment came from the command line"""
    title: str = ""
    source: str = ""
    """where the study was published"""
    columns: Mapping[str, str] = {}
    """computed from a launch's other columns by declare/arithmetic.py, such as `work / time`"""
    outputs: tuple[Output, ...] = ()
    agree: Mapping[str, tuple[str, ...]] = {}
    """metrics that have one value wherever these factors and derived parameters are equal"""
    samples: str = ""
    """the factor whose levels are random draws: outputs take its levels, and not blocks, as replicates"""
    bandwidth: Mapping[str, float] = {}
    """bytes a second that one core reads from memory, as calibrated, by machine; '' if there is only one machine"""


BEYOND_LAUNCHES: Any = {
    "study": True,
    "left_out": True,
    "no_preload": True,
    "stop": True,
    "scaling": {"weak"},
    "baseline": {"allocator", "as_typed"},
}
"""Fields that change no launch: how results are shown; how long to measure, because a larger budget continues a run,
except that a race without confirmation is another question; and facts that were found rather than asked for, such as
the shell's levels. If those facts differ, a new run starts."""


class Launching(Model):
    """What is launched and measured, besides the factors. Study files have the same fields."""

    derived: Mapping[str, str] = {}
    """parameters that follow from the levels by declare/arithmetic.py; placeholders of the command, and columns"""
    response: Response = "wall"
    metrics: Mapping[str, MetricSource] = {}
    hooks: Hooks = Hooks()
    warmup: int = Field(default=0, ge=0)
    """untimed launches of each configuration first"""
    ignore_failure: bool = False
    same_output: bool = False
    """a configuration that writes another output fails"""
    input: str | None = None
    output: str | None = None
    cgroup: Literal["auto", "off"] = "auto"
    """`auto`: each launch is in a control group of its own if one can be made; `off`: in the group of this process"""

    @model_validator(mode="before")
    @classmethod
    def _has_the_metric_that_every_launch_has(cls, values: Any) -> Any:
        """Declares the metric of a response like `peak-memory`, which is short for `metric:peak-memory`."""
        name = str(values.get("response", "")).removeprefix("metric:")
        if name not in metric_sources.UNKEYED:
            return values
        return {**values, "response": f"metric:{name}", "metrics": {name: name, **(values.get("metrics") or {})}}


IN_A_FILE = {
    "-i": "ignore_failure = true",
    "--show-output": f'output = "{SHOWN}"',
    "--shell": "shell = true",
    "--same-output": "same_output = true",
    "--metric": "[metrics]",
    **{f"--{name}": name for name in ("timeout", "input", "output", "response")},
    **{f"--{name}": f"hooks.{name}" for name in Hooks.model_fields},
}
"""what a study file has instead of an option"""


class Experiment(Launching):
    """Factors with levels, the commands they apply to, the response, the stop rule, and each verb's settings."""

    verb: Verb
    commands: tuple[Command, ...] = Field(min_length=1)
    factors: tuple[Factor, ...] = ()
    baseline: Baseline = Baseline()
    along: tuple[Along, ...] = ()
    omit: tuple[Selection, ...] = ()
    """combinations that are not launched: those that match all levels of one of these selections"""
    stop: Stop = Stop()
    timeout: float | None = Field(default=None, gt=0)
    """seconds per launch"""
    cores: int | None = None
    """most threads of all ranks of a node together. Combinations with more are not launched; None: no limit"""
    left_out: tuple[str, ...] = ()
    """what was asked for, or is usual, but is not measured here, each with the reason"""
    no_preload: str = ""
    """why no allocator can be preloaded into the program, if that was found"""
    tuning: Tuning = Tuning()
    scaling: Scaling = Scaling()
    study: Presentation = Presentation()

    @model_validator(mode="after")
    def _metrics_are_declared(self) -> Self:
        for metric in set(self.study.agree) - set(self.metrics):
            remedy = f'metrics.{metric} = "output:KEY"'
            raise UsageError(f"no metric {metric!r}", where=f"agree.{metric}", remedy=remedy)
        for constraint in self.tuning.constraints:
            if constraint.metric not in self.metrics:
                source = constraint.metric if constraint.metric in metric_sources.UNKEYED else "SOURCE"
                typed = "--subject-to", f"--metric {constraint.metric}={source}"
                where, line = ("constraints", f'metrics.{constraint.metric} = "{source}"') if self.study.name else typed
                what = "" if source != "SOURCE" else f", from {', '.join(metric_sources.WRITTEN)}"
                raise UsageError(f"no metric {constraint.metric!r}", where=where, remedy=f"declare it: {line}{what}")
        return self

    @model_validator(mode="after")
    def _levels_are_finite(self) -> Self:
        beside = ((one.name, value) for one in self.along for _, value in one.values)
        for name, level in (*self.baseline.levels, *beside):
            if isinstance(level, float) and not math.isfinite(level):
                raise UsageError(f"{name}={level} is not a finite number", remedy="write a number, or another word")
        return self

    def factor(self, name: str) -> Factor | None:
        """The factor of that name, or None."""
        return next((factor for factor in self.factors if factor.name == name), None)

    def typed(self, option: str) -> str:
        """The option, as messages name it: what a study file has instead, if the experiment came from one."""
        return IN_A_FILE.get(option, option) if self.study.name else option

    def levels(self, name: str) -> tuple[Level, ...]:
        """The levels of the factor of that name; none if there is none."""
        return next((factor.levels for factor in self.factors if factor.name == name), ())

    @property
    def makes_p(self) -> frozenset[str]:
        """Names of the factors whose levels make p."""
        return frozenset(factor.name for factor in self.factors if factor.how.makes)

    @property
    def makes_threads(self) -> bool:
        """Whether a factor says how many threads there are; else each rank or node has one."""
        return any({"threads", "ranks", "nodes"} & factor.how.makes for factor in self.factors)

    @property
    def starts_ranks(self) -> bool:
        """Whether every command starts its ranks itself: `mpirun -n {ranks} ./program`."""
        return all(template.starter(one.argv) and "ranks" in template.placeholders(one.argv) for one in self.commands)

    def beside_p(self, configuration: Configuration, *also: str) -> tuple[tuple[str, Level], ...]:
        """The levels of a configuration that are not part of p, without those of the factors named `also`."""
        apart = self.makes_p.union(also)
        return tuple((name, level) for name, level in configuration.levels if name not in apart)

    def command(self, configuration: Configuration, phase: Phase = "measure") -> Command:
        """The template that a configuration launches."""
        if phase == "rehearse":
            return Command(name="rehearsal", argv=self.tuning.rehearsal)
        wanted = configuration.get("command")
        return next((command for command in self.commands if command.name == wanted), self.commands[0])

    @property
    def has_serial(self) -> bool:
        """Whether a serial program is the baseline; commands that are compared may have any name."""
        compared = self.factor("command")
        named = compared is not None and SERIAL in compared.levels
        return not named and any(command.name == SERIAL for command in self.commands)

    def is_serial(self, configuration: Configuration) -> bool:
        """Whether that is the launch of the serial program."""
        return self.has_serial and configuration.get("command") == SERIAL

    @property
    def scans(self) -> bool:
        """Whether it is asked how time changes with p."""
        return self.verb == "scan"

    @property
    def compares(self) -> bool:
        """Whether all configurations are compared with the first."""
        return self.verb == "compare"

    @property
    def finds(self) -> bool:
        """Whether the answer is the outputs that a study declares, and not the best launch."""
        return self.verb == "study" and self.stop.rule != "race"

    @property
    def lets_fail(self) -> bool:
        """Whether failed launches count with their times, as with hyperfine's -i."""
        return self.compares and self.ignore_failure

    @property
    def hash(self) -> str:
        """A hash that names the run folder; equal launches have the same, so the same command line resumes a run."""
        return hashlib.sha256(canonical(self.asked).encode()).hexdigest()[:12]

    @property
    def asked(self) -> dict[str, Any]:
        """Everything that determines the launches, as JSON values."""
        timeouts = {"timeout": True} if self.timeout == self.stop.budget else {}  # it follows from the budget
        given = {*self.baseline.as_typed}
        levels = tuple(pair for pair in self.baseline.levels if pair[0] not in given)
        typed = self.model_copy(update={"baseline": self.baseline.model_copy(update={"levels": levels})})
        said = typed.model_dump(mode="json", exclude=BEYOND_LAUNCHES | timeouts, exclude_defaults=True)
        said |= {"confirms": False} if self.stop.rule == "race" and self.stop.confirm_pairs == 0 else {}
        return {name: value for name, value in said.items() if value != {}}
