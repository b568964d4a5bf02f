# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every output that a study declares)
"""The outputs of an experiment: charts, tables and findings, all computed from the columns of conclude/frame.py.

A column is a factor, a derived parameter, a metric, or one that every frame has (BUILT_IN).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from corescale.declare.arithmetic import Expression, parse
from corescale.declare.base import Model
from corescale.declare.claimed_range import MARGIN, Claim
from corescale.errors import UsageError
from corescale.records import Level

BUILT_IN: dict[str, str] = {
    "p": "parallelism: threads x ranks x nodes",
    "threads": "threads per rank",
    "ranks": "ranks per node",
    "nodes": "nodes",
    "layout": "threads x ranks x nodes, as 24x1x32",
    "time": "the response, in seconds where it is a time; empty where the launch failed",
    "peak_memory": "bytes",
    "effective_cores": "CPU time / wall time",
    "scatter": "how far time is off the median of its configuration on that machine, as a share of it",
    "replicate": "number of the block, or of the level of `samples`, from 1",
    "order": "place of the launch in the whole run, from 1",
    "machine": "name of the machine",
    "bandwidth": "bytes a second that one core reads from memory, by corescale calibrate; empty where it was not run",
    "status": "how the launch ended; ok is good",
    "noisy": "whether a rule of conclude/noise.py flagged it",
    "oversubscribed": "whether it asked for more threads than may run at once",
    "origin": "measured, simulated, fake or extrapolated",
}
"""Columns that every frame has, and what they hold."""

ChartKind = Literal[
    "lines", "bars", "heat", "forest", "time-order", "scaling", "efficiency", "overhead", "weak", "ladder"
]
_OVER_P = {"x": "p", "y": "time"}
CHART_COLUMNS: Mapping[ChartKind, Mapping[str, str]] = {
    "lines": {"x": "", "y": "time"},
    "bars": {"x": "", "y": "time"},
    "heat": {"x": "", "y": "", "colour": "time"},
    "forest": {"x": "", "y": "time"},
    "weak": {"x": "work", "y": "time"},
    "ladder": {"x": "", "y": "time"},
    "time-order": {"x": "order", "y": "time"},
    "scaling": _OVER_P,
    "efficiency": _OVER_P,
    "overhead": _OVER_P,
}
"""Default columns of a kind; an empty one must be declared. In a heat map, x and y are factors, and the colour is the
value. A ladder with `steps` needs no x."""
NAMED = r"^[A-Za-z0-9][\w.-]*$"


def _named(text: str) -> str:
    """The text; raises ValueError if it cannot be the name of a file here."""
    if not re.fullmatch(NAMED, text):
        remedy = "write letters, digits, _, . and -, and begin with a letter or digit"
        raise ValueError(f"{text!r} is no name of an output and its file; {remedy}")
    return text


Name = Annotated[str, AfterValidator(_named), Field(json_schema_extra={"pattern": NAMED})]
"""name of an output, and of its file"""
Selection = Mapping[str, Level | tuple[Level, ...]]
"""column -> level or levels, or one of EXTREMES"""


def listed(levels: Level | tuple[Level, ...]) -> tuple[Level, ...]:
    """The levels that a selection names of one column."""
    return levels if isinstance(levels, tuple) else (levels,)


EXTREMES = ("min", "max", "above min", "below max")
"""The smallest level measured, the largest, all but the smallest, and all but the largest."""


def extreme(name: Level, levels: Iterable[Level]) -> Sequence[Level]:
    """What one of EXTREMES means among these levels."""
    found = sorted(set(levels), key=lambda level: (isinstance(level, str), level))
    return {"min": found[:1], "max": found[-1:], "above min": found[1:], "below max": found[:-1]}[str(name)]


class _Reads(Model):
    """The columns that an output reads, by its parts."""

    def _names(self) -> Iterable[str]:
        """The columns whose values it reads; some names may be empty."""
        return ()

    def _selections(self) -> Iterable[Selection]:
        """The selections, which name levels of columns."""
        return ()

    def used(self) -> Iterator[str]:
        """Every column that it reads."""
        yield from filter(None, self._names())
        yield from (name for selection in self._selections() for name in selection)

    def selected(self) -> Iterator[tuple[str, Level]]:
        """Every level that it names, with its column."""
        for name, levels in (pair for selection in self._selections() for pair in selection.items()):
            yield from ((name, level) for level in listed(levels))


class Normalise(Model):
    """Divides y by a statistic of the reference rows: those with the levels `to`, and equal in the columns `within`.

    For a finding, `to` may name two levels of a column of numbers. Then y is divided by the straight line through both.
    """

    to: Selection
    within: tuple[str, ...] = ()
    inverse: bool = False
    """divides the reference by y, which turns a time into a speed"""
    subtract: bool = False
    """subtracts the reference instead, for a finding that is a `difference`"""
    less_one: bool = False
    """subtracts 1 from the ratio, for a chart of overheads"""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.inverse and self.subtract:
            raise ValueError("`inverse` divides and `subtract` does not: give one of them")
        pairs = [of for of in self.to.values() if isinstance(of, tuple)]
        if len(pairs) > 1 or any(len({*of}) != 2 or any(isinstance(end, str) for end in of) for of in pairs):
            raise ValueError("a straight line in `to` goes through two numbers of one column")
        return self

    @property
    def line(self) -> tuple[str, float, float] | None:
        """The column along which the reference is a straight line, and its two levels."""
        pairs = ((name, of) for name, of in self.to.items() if isinstance(of, tuple))
        return next(((name, float(first), float(last)) for name, (first, last) in pairs), None)


class Chart(_Reads):
    """A chart of the frame, written as PNG and SVG and drawn in report.html."""

    name: Name
    kind: ChartKind
    title: str
    caption: str = ""
    where: Selection = Field(default={})
    """draws only these rows"""
    each: str = ""
    """a chart of its own for each level of this column"""
    x: str = ""
    y: str = ""
    colour: str = ""
    style: str = ""
    """for lines: a column whose levels are line styles, in every colour"""
    facet: tuple[str, ...] = Field(default=(), max_length=2)
    """columns, at most two, with a panel for each level: rows by the first, columns by the second or the only one"""
    label: str = ""
    """title of the axis of values; without it, the column's name and what it is relative to"""
    error: Literal["bootstrap", "none"] = "bootstrap"
    """bootstrap: 95% interval of the statistic over replicates"""
    statistic: Literal["mean", "median"] = "mean"
    normalise: Normalise | None = None
    reference: float | None = None
    """a line across, at this y"""
    steps: tuple[Selection, ...] = ()
    """for a ladder: the rows of the first rung, and what each further rung changes"""
    best: str = ""
    """for a ladder: each rung uses the level of this column with the least y, which the other blocks choose"""
    log: tuple[Literal["x", "y"], ...] = ()
    """logarithmic axes of a chart of lines; x is logarithmic anyway if its levels are few and far apart"""
    at_zero: Selection = Field(default={})
    """the launches with these levels are drawn at x = 0, in every line, because they have none of what x counts"""

    @model_validator(mode="after")
    def _for_its_kind(self) -> Self:
        if self.normalise is not None and self.normalise.subtract:
            raise ValueError("`subtract` is for a finding that is a `difference`")
        if self.normalise is not None and self.normalise.line:
            raise ValueError("a straight line in `to` is for a finding")
        if self.normalise is not None and self.normalise.less_one and self.kind not in ("bars", "lines", "heat"):
            raise ValueError(f"`less_one` is for bars, lines and heat, and this is one of {self.kind}")
        if self.style and self.kind != "lines":
            raise ValueError(f"`style` is for a chart of lines, and this is one of {self.kind}")
        return self

    def completed(self) -> Self:
        """The chart with the default columns of its kind; raises UsageError if it lacks one that has no default."""
        lacking = {key: name for key, name in CHART_COLUMNS[self.kind].items() if not getattr(self, key)}
        needed = [key for key, name in lacking.items() if not name]
        if needed and not (self.kind == "ladder" and self.steps):
            raise UsageError(f"{needed[0]} is missing", where=f"chart {self.name}", remedy=f"write {needed[0]} = ...")
        return self.model_copy(update=lacking)

    def _names(self) -> Iterable[str]:
        within = self.normalise.within if self.normalise else ()
        return (self.each, self.x, self.y, self.colour, self.style, self.best, *self.facet, *within)

    def _selections(self) -> Iterable[Selection]:
        return (*([self.normalise.to] if self.normalise else []), self.where, self.at_zero, *self.steps)


COLUMNS_SCHEMA = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": "string"}, "description": "heading = column"},
        {"type": "array", "items": {"type": "string"}, "description": "columns, which are the headings too"},
    ]
}


class Table(_Reads):
    """The frame's rows under chosen headings: CSV or Markdown."""

    kind: Literal["table"] = "table"
    name: Name
    title: str = ""
    columns: Annotated[tuple[tuple[str, str], ...], WithJsonSchema(COLUMNS_SCHEMA)] = Field(min_length=1)
    """heading and column, in order; declared as heading = column, or as a list of columns"""
    format: Literal["csv", "markdown"] = "csv"

    @field_validator("columns", mode="before")
    @classmethod
    def _headed(cls, given: object) -> object:
        if isinstance(given, Mapping):
            return tuple(given.items())
        if isinstance(given, list | tuple):
            return tuple((name, name) if isinstance(name, str) else name for name in given)
        return given

    def _names(self) -> Iterable[str]:
        return (column for _, column in self.columns)


class Finding(_Reads):
    """A statement about the ratio y(a) / y(b), compared within blocks and within every other factor.

    Without b it is about y(a) itself. A `difference` is y(a) - y(b), for example of overheads. With `along` it is about
    a ratio of thresholds: the levels of that factor from which on y is at most `at_most`. Then the sides need not share
    blocks, so they may be machines.
    """

    kind: Literal["finding"] = "finding"
    name: Name
    statement: str
    y: str = "time"
    a: Selection
    b: Selection | None = None
    difference: bool = False
    best: str = ""
    """a column: b uses its level with the least y; for each block, the other blocks choose that level"""
    where: Selection = Field(default={})
    """restricts both sides"""
    along: str = ""
    at_most: float | None = Field(default=None, gt=0)
    each: tuple[str, ...] = ()
    """one answer for each level of these columns"""
    bars: str = ""
    """for a `difference`: a column of `each`, by whose levels the chart has bars"""
    label: str = ""
    """for a `difference`: title of that chart's axis of values"""
    general: bool = False
    several: int = Field(default=0, ge=0)
    """`general`: the claim is about the mean over all levels that neither side names. `several`: it is about this many
    of them. With neither, it is about every level"""
    normalise: Normalise | None = None
    """divides within the block, before the ratio is taken"""
    needs: Mapping[str, int] = Field(default={})
    """column -> least value of its largest level; for a column of words, least number of levels"""
    margin: float = Field(default=MARGIN, gt=0)
    """sides that differ by no more than this share count as equal; for a `difference`, by no more than this amount"""
    claim: str

    @field_validator("claim")
    @classmethod
    def _readable(cls, given: str) -> str:
        try:
            return Claim.parse(given).text
        except UsageError as error:
            raise ValueError(f"{error.what}; {error.remedy}") from None

    @model_validator(mode="after")
    def _along_what(self) -> Self:
        if bool(self.along) != (self.at_most is not None) or (self.b is None and (self.along or self.difference)):
            raise ValueError("`along`, `at_most` and `b` go together, and a `difference` is from a `b`")
        if self.b == self.a and not self.best:
            raise ValueError("`a` and `b` are the same launches; name another level in one of them")
        if self.several and (self.general or self.along):
            raise ValueError("`several`, `general` and `along` contradict each other: give one of them")
        if self.bars and (not self.difference or self.bars not in self.each):
            raise ValueError("`bars` is for a `difference`, and names a column of `each`")
        if self.best and (self.along or self.best not in (self.b or ())):
            raise ValueError("`best` must be a column that `b` names, and excludes `along`")
        if self.normalise is not None and self.normalise.subtract and (not self.difference or self.along):
            raise ValueError("`subtract` is for a finding that is a `difference`")
        if self.normalise is not None and self.normalise.less_one:
            raise ValueError("`less_one` is for a chart; with `difference` a finding is about overheads")
        return self

    @property
    def sides(self) -> Mapping[str, Selection]:
        """a, and b if there is one."""
        return {"a": self.a} if self.b is None else {"a": self.a, "b": self.b}

    def _names(self) -> Iterable[str]:
        within = self.normalise.within if self.normalise else ()
        return (self.y, *self.each, *self.needs, self.along, self.best, *within)

    def _selections(self) -> Iterable[Selection]:
        return (*([self.normalise.to] if self.normalise else []), *self.sides.values(), self.where)


class Overheads(_Reads):
    """A statement about the overhead f = p T(p) / (p_ref T(p_ref)) - 1: which sum of factors describes it.

    Launches that differ only in the factors that make p belong to one size. T(p_ref) of a size is the time at its
    smallest p.
    """

    kind: Literal["overheads"] = "overheads"
    name: Name
    statement: str
    y: str = "time"
    where: Selection = Field(default={})
    each: tuple[str, ...] = ()
    """one fit for each level of these columns"""
    factors: Mapping[str, str] = Field(min_length=1)
    """name = formula over columns, such as grain = "p / points" """
    models: tuple[str, ...] = Field(min_length=1)
    """sums that are compared, such as "grain" and "grain + p"; the simplest is chosen unless another predicts better"""
    claim: str
    """the model that, according to the claim, describes the overhead"""
    within: float = Field(default=0.05, gt=0)
    """largest root mean square error of f when each configuration is predicted from the others"""
    relative: bool = False
    """whether `within` is relative: to the root mean square of f, or with `fails_beyond` to times"""
    no_better: str = ""
    """if given, the claim is that this model's error is smaller than that of `claim` by at most `within`"""
    up_to: float | None = Field(default=None, gt=0)
    """if given, only launches with an overhead of at most this value are fitted and predicted"""
    fails_beyond: float | None = Field(default=None, gt=0)
    """if given, the claim: the model, fitted to f up to this, misses the times beyond it by more than `within`"""
    needs: Mapping[str, int] = Field(default={})
    worse_than: Selection = Field(default={})
    """if given, the claim is that the model predicts the launches of `where` worse than those with these levels"""
    bars: str = ""
    """a column, such as layout: the chart has bars by its levels, with the measured value next to every model"""

    @field_validator("models")
    @classmethod
    def _spelt(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(" + ".join(summands(one)) for one in given)

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in (name for one in self.models for name in summands(one)):
            if name not in self.factors:
                raise ValueError(f"no factor {name!r}; factors here: {', '.join(self.factors)}")
        if " + ".join(summands(self.claim)) not in self.models:
            raise ValueError(f"the claim {self.claim!r} is none of the models; models here: {', '.join(self.models)}")
        if self.no_better and " + ".join(summands(self.no_better)) not in self.models:
            raise ValueError(f"`no_better` {self.no_better!r} is none of the models: {', '.join(self.models)}")
        if self.no_better and (self.worse_than or self.fails_beyond is not None):
            raise ValueError("`no_better`, `worse_than` and `fails_beyond` are claims of their own: give one of them")
        if self.up_to is not None and (self.worse_than or self.fails_beyond is not None):
            raise ValueError("`worse_than` and `fails_beyond` are about all overheads: drop `up_to`")
        return self

    def formulas(self) -> Mapping[str, Expression]:
        """The factors, read; raises UsageError."""
        return {name: parse(text, f"overheads {self.name}") for name, text in self.factors.items()}

    def _names(self) -> Iterable[str]:
        in_formulas = (name for formula in self.formulas().values() for name in sorted(formula.names))
        return (self.y, *self.each, *self.needs, self.bars, *in_formulas)

    def _selections(self) -> Iterable[Selection]:
        return (self.where, self.worse_than)


def summands(model: str) -> tuple[str, ...]:
    """The factors of a sum: `grain + p`."""
    return tuple(part.strip() for part in model.split("+"))


Output = Annotated[Chart | Table | Finding | Overheads, Field(discriminator="kind")]
