# SPDX-License-Identifier: Apache-2.0
"""The tables and keys of a study file, and their JSON schema."""

import json
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from corescale.declare import factors
from corescale.declare.base import Model
from corescale.declare.experiment import Launching, Weak
from corescale.declare.outputs import Chart, Finding, Overheads, Selection, Table

Template = str | tuple[str, ...]
"""a line that is split as a shell would split it, or its words"""
Share = float | Annotated[str, Field(pattern=r"^\s*[0-9.]+\s*%?\s*$")]
_UNIT = "(ms|s|min|m|h|d)"
Seconds = float | Annotated[str, Field(pattern=rf"^\s*[0-9.]+\s*({_UNIT}\s*([0-9.]+\s*{_UNIT}\s*)*)?$")]
Levels = tuple[int | float | str, ...]


class FactorTable(Model):
    """What is varied."""

    levels: Levels | Literal["auto"]
    """auto: those worth trying on this machine; numbers of threads, ranks or nodes may stand beside it in a list"""
    kind: Literal[tuple(factors.KINDS)] | None = None  # type: ignore[valid-type]
    """how a level reaches the program; follows from the name if it is not given"""
    along: Mapping[str, Levels] = {}
    """parameters that go along with the levels: one value for each, in order"""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return {"levels": given} if isinstance(given, list | tuple | str) else given

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name, values in self.along.items():
            if "auto" in self.levels or len(values) != len(self.levels):
                raise ValueError(f"{name} needs one value for each level")
        return self

    @field_validator("levels", mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        if isinstance(given, list | tuple) and (not given or any(isinstance(level, bool) for level in given)):
            raise ValueError("levels are numbers or strings, at least one")
        return given


class StopTable(Model):
    """When enough was measured."""

    rule: Literal["replicates", "width", "race", "decided"] = "width"
    replicates: int | None = Field(default=None, ge=1)
    """blocks, with the rule of that name: each launches every configuration once"""
    min_blocks: int | None = Field(default=None, ge=1)
    max_blocks: int | None = Field(default=None, ge=1)
    width: Share = 0.02
    within: Share = 0.02
    confidence: Share = 0.95
    budget: Seconds | Literal["none"] | None = None
    """time for all launches, as "5m"; else none for the rules replicates and decided, and 5 minutes for others"""
    confirm_pairs: int | None = Field(default=None, ge=0)
    """confirmation pairs of a race's winner and the baseline; if it is not given, as many as it takes"""

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        if (self.replicates is not None) != (self.rule == "replicates"):
            raise ValueError('replicates = N and rule = "replicates" go together')
        if self.min_blocks is not None and self.max_blocks is not None and self.min_blocks > self.max_blocks:
            raise ValueError("min_blocks may not exceed max_blocks")
        return self


class StudyFile(Launching):
    """A study: what is launched, what is varied, when to stop, and what comes out."""

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
    """combinations that are not launched: those with every level that one of these tables names"""
    baseline: Mapping[str, int | float | str] = {}
    """levels of the baseline, where not the first (of threads: the largest)"""
    agree: Mapping[str, tuple[str, ...]] = {}
    """metrics that have one value wherever these factors and derived parameters are equal: state = ["work"]"""
    constraints: tuple[str, ...] = ()
    """bounds on metrics, as "bytes <= 1.02*baseline" """
    weak: Weak | None = None
    """the study scales weakly: work grows with the threads"""
    p_ref: int | None = Field(default=None, ge=1)
    stop: StopTable = StopTable()
    timeout: Seconds | None = None
    """time limit of one launch"""
    columns: Mapping[str, str] = {}
    """columns of the frame that are computed from others: throughput = "work / time" """
    chart: tuple[Chart, ...] = ()
    table: tuple[Table, ...] = ()
    finding: tuple[Finding, ...] = ()
    overheads: tuple[Overheads, ...] = ()

    @model_validator(mode="after")
    def _has_a_command(self) -> Self:
        if (self.command is None) == (not self.commands):
            raise ValueError("one of `command` and `commands` is needed")
        return self


SCHEMA = "study.schema.json"
"""The file beside a study that holds `schema`, for editors."""


def schema() -> str:
    """The JSON schema (draft 2020-12)."""
    found = StudyFile.model_json_schema()
    short = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    table = found["$defs"]["FactorTable"]
    found["$defs"]["FactorTable"] = {"anyOf": [short, {"const": "auto"}, table]}
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | found, indent=1) + "\n"
