# SPDX-License-Identifier: Apache-2.0
"""The tables and keys of a study file, and their JSON schema."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from corescale.declare import factors
from corescale.declare.base import Model
from corescale.declare.experiment import Launching, Weak
from corescale.declare.outputs import Chart, Finding, Overheads, Selection, Table

Template = str | tuple[str, ...]
"""a line that is split as a shell would split it, or its words"""
_UNIT = "(ms|s|min|m|h|d)"


def _quantity(pattern: str) -> Any:
    """A number, or a text of that pattern for editors; declare/quantities.py reads it, and says what is wrong."""
    either: list[dict[str, str]] = [{"type": "number"}, {"pattern": pattern, "type": "string"}]
    return WithJsonSchema({"anyOf": either})


Share = Annotated[object, _quantity(r"^\s*[0-9.]+\s*%?\s*$")]
Seconds = Annotated[object, _quantity(rf"^\s*[0-9.]+\s*({_UNIT}\s*([0-9.]+\s*{_UNIT}\s*)*)?$")]
Levels = tuple[int | float | str, ...]


class FactorTable(Model):
    """What is varied."""

    levels: Levels | Literal["auto"]
    """auto: the levels worth trying on this machine; a list may combine it with numbers of threads, ranks or nodes"""
    kind: Literal[tuple(factors.KINDS)] | None = None  # type: ignore[valid-type]
    """how a level reaches the program; by default it is inferred from the name"""
    along: Mapping[str, Levels] = {}
    """parameters that follow the factor, with one value for each level, in order"""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return given if isinstance(given, dict | FactorTable) else {"levels": cls._plain(given)}

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name, values in self.along.items():
            if "auto" in self.levels or len(values) != len(self.levels):
                raise ValueError(f"{name} needs one value for each level")
        return self

    @field_validator("levels", mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        each = given if isinstance(given, list | tuple) else ()
        plain = all(isinstance(level, int | float | str) and not isinstance(level, bool) for level in each)
        if not (each and plain) and given != "auto":
            raise ValueError("levels are numbers or strings, at least one; write them as a list: [1, 2]")
        return given


class StopTable(Model):
    """When enough was measured."""

    rule: Literal["replicates", "width", "race", "decided"] = "width"
    replicates: int | None = Field(default=None, ge=1)
    """the number of blocks for the rule `replicates`; each block launches every configuration once"""
    min_blocks: int | None = Field(default=None, ge=1)
    max_blocks: int | None = Field(default=None, ge=1)
    width: Share = 0.02
    within: Share = 0.02
    confidence: Share = 0.95
    budget: Seconds | Literal["none"] | None = None
    """time for all launches, such as "5m"; by default none for replicates and decided, else 5 minutes"""
    confirm_pairs: int | None = Field(default=None, ge=0)
    """confirmation pairs of a race's winner and the baseline; by default as many as needed"""

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        if (self.replicates is not None) != (self.rule == "replicates"):
            raise ValueError('replicates = N and rule = "replicates" go together')
        if self.min_blocks is not None and self.max_blocks is not None and self.min_blocks > self.max_blocks:
            raise ValueError("min_blocks may not exceed max_blocks")
        return self


class StudyFile(Launching):
    """A study: what is launched and varied, when to stop, and the outputs."""

    title: str
    source: str = ""
    """where it was published"""
    command: Template | None = None
    """command with {placeholders}; a bundled workload is given by its name"""
    commands: Mapping[str, Template] = {}
    """several, by name: they become the factor `command`"""
    serial: Template | None = None
    """the best serial program: baseline of the speedup"""
    shell: bool = False
    factors: Mapping[str, FactorTable] = {}
    omit: tuple[Selection, ...] = ()
    """combinations that are not launched: those that match all levels of one of these tables"""
    baseline: Mapping[str, int | float | str] = {}
    """levels of the baseline, for factors where it is not the first level (for threads, the largest)"""
    agree: Mapping[str, tuple[str, ...]] = {}
    """metrics that must have one value at equal levels of these factors and derived parameters: state = ["work"]"""
    samples: str = ""
    """a factor whose levels are random draws, such as the seeds of a simulation: outputs take each level, and not each
    block, as a replicate"""
    constraints: tuple[str, ...] = ()
    """bounds on metrics, as "bytes <= 1.02*baseline" """
    weak: Weak | None = None
    """for weak scaling, in which the work grows with the threads"""
    p_ref: int | None = Field(default=None, ge=1)
    stop: StopTable = StopTable()
    timeout: Seconds | None = None
    """time limit of one launch"""
    columns: Mapping[str, str] = {}
    """columns that are computed from others: throughput = "work / time" """
    chart: tuple[Chart, ...] = ()
    table: tuple[Table, ...] = ()
    finding: tuple[Finding, ...] = ()
    overheads: tuple[Overheads, ...] = ()

    @model_validator(mode="after")
    def _has_a_command(self) -> Self:
        if self.command is None and not self.commands:
            raise ValueError("no command; write command = ... before the first [table], or several below [commands]")
        if self.command is not None and self.commands:
            raise ValueError("`command` and `commands` contradict each other; drop one of them")
        return self


SCHEMA = "study.schema.json"
"""The name of the schema file next to a study, which editors read."""


def schema() -> str:
    """The JSON schema (draft 2020-12)."""
    found = StudyFile.model_json_schema()
    short = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    table = found["$defs"]["FactorTable"]
    found["$defs"]["FactorTable"] = {"anyOf": [short, {"const": "auto"}, table]}
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | found, indent=1) + "\n"
