# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a type for each object of the JSON)
"""What the JSON of a result has: types, of which `schema()` makes a JSON schema with the columns of show/columns.py.

NaN and infinity do not exist in JSON: they are null. Times in seconds, memory in bytes, shares as fractions.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from corescale.conclude.answers.claim_verdicts import Verdict
from corescale.conclude.answers.verdict import Gate, GateOn
from corescale.conclude.policy import Reason
from corescale.declare.experiment import Verb
from corescale.records import Origin
from corescale.show import columns

Number = float | None
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Levels = dict[str, float | str]


class Interval(TypedDict):
    """An estimate; low, high and confidence are null together if there are too few blocks for an interval."""

    estimate: Number
    low: Number
    high: Number
    confidence: Number
    n: Count


class Layout(TypedDict):
    """t threads in each of m ranks on each of n nodes."""

    t: Positive
    m: Positive
    n: Positive


class Configuration(TypedDict):
    """Levels, layout, and the labels that a number of it carries."""

    levels: Levels
    layout: Layout
    origin: list[Origin]
    oversubscribed: bool


class Row(Configuration):
    """A configuration of a scan; it has the columns of SCAN too."""

    p: Positive
    idle: bool
    launches: Count
    failures: Count


class Beyond(TypedDict):
    """A time at twice the largest p measured."""

    p: float
    time: Interval
    origin: Literal["extrapolated"]


class Fit(TypedDict):
    """A scaling model."""

    model: str
    parameters: dict[str, Interval]
    residual: Number
    identifiable: bool
    warning: str
    measured: tuple[Number, Number]
    forecast: Beyond | None


class Overhead(TypedDict):
    """f = p T(p) / (p_ref T(p_ref)) - 1 as a sum of factors."""

    model: str
    coefficients: dict[str, Interval]
    residual: float
    held_out: Interval
    warning: str


class Curve(TypedDict):
    """The rows along p of one choice of the other levels."""

    label: str
    rows: list[Row]
    model: str | None
    statement: str
    fits: list[Fit]
    overheads: list[Overhead]


class Line(Fit):
    """T = a + b work over the loads at one p; a and b in seconds."""

    p: Positive
    levels: Levels


class Weak(TypedDict):
    """Weak scaling; `refusal` says why it is none."""

    refusal: str
    lines: list[Line]


class Scan(TypedDict):
    """The conclusion of scan."""

    kind: Literal["scan"]
    response: str
    baseline: str
    p_ref: Positive
    curves: list[Curve]
    weak: Weak | None


class At(TypedDict):
    """A ratio at one level."""

    at: str
    ratio: float


class Against(TypedDict):
    """The level farthest from the claim of those that are not within it."""

    at: str
    ratio: Interval


class Reached(TypedDict):
    """The level at which a threshold was reached."""

    at: str
    level: Interval


class Answered(TypedDict):
    """A statement of a study and its verdict."""

    name: str
    statement: str
    claim: str
    at: Levels
    verdict: Verdict
    why: str


class Finding(Answered):
    """A statement about a ratio."""

    ratio: Interval
    extremes: Annotated[list[At], Field(max_length=2)]
    against: Against | None
    oversubscribed: list[int]
    failed: list[str]
    reached: list[Reached]


class Reach(TypedDict):
    """The overhead of the best sum near and far."""

    near: Interval
    far: Interval


class Modelled(Answered):
    """A statement about the sum that overhead is."""

    reach: Reach | None
    best: str | None
    reason: str
    fits: list[Overhead]


class Study(TypedDict):
    """The conclusion of a study."""

    kind: Literal["study"]
    scan: Scan
    findings: list[Finding]
    overheads: list[Modelled]


class Regret(TypedDict):
    """The excess over the best, and its bound."""

    estimate: Number
    bound: Number


class Candidate(Configuration):
    """A configuration of a tune; it has the columns of TUNE too."""

    regret: Regret
    metrics: dict[str, Number]


class Cheaper(Configuration):
    """By estimates, a launch that takes a little longer and far fewer core-seconds than the chosen one."""

    slower: float
    fewer_core_seconds: float
    blocks: Count


class Point(Configuration):
    """A point of a front."""

    response: Number
    value: Number


class Front(TypedDict):
    """By estimates, what no other configuration beats in response and metric."""

    metric: str
    larger_is_better: bool
    points: list[Point]


class Tied(Configuration):
    """What may be faster than the chosen one; null if no bound can be given."""

    faster_at_most: Number


class Flaky(Configuration):
    """The fastest that looked faster than the chosen one and failed in some launches of the race."""

    faster: float
    failures: Count
    launches: Count


class Rehearsal(TypedDict):
    """What the launches on a smaller input decided."""

    raced: Count
    of: Count
    says: str


class Recommendation(TypedDict):
    """The conclusion of tune."""

    kind: Literal["recommendation"]
    keep_baseline: bool
    chosen: Configuration
    line: Annotated[str, Field(description="to paste into a shell")]
    baseline: Configuration
    winner: Configuration
    gain: Annotated[Interval | None, Field(description="T(baseline) / T(winner), from confirmation pairs alone")]
    within: Number
    candidates: list[Candidate]
    cheaper: Cheaper | None
    fronts: list[Front]
    tied_with: list[Tied]
    not_shown: Annotated[list[str], Field(description="constraints that the chosen one is not shown to meet or break")]
    failing: Annotated[str | None, Field(description="how often the baseline failed, and the winner never")]
    by_chance: Annotated[bool, Field(description="whether those failures may be chance, so that nothing is decided")]
    flaky: Flaky | None
    rehearsal: Rehearsal | None


class Gated(TypedDict):
    """What a gate makes of the time, its mean, CPU time or peak memory."""

    of: GateOn
    limit: Annotated[float, Field(description="increase that is allowed: 0.05 is 5%")]
    ratio: Interval
    verdict: Gate


class Compared(TypedDict):
    """Two commands; it has the columns of COMPARE too."""

    reference: Configuration
    other: Configuration
    reference_time: Interval
    failures: tuple[Count, Count]
    gates: list[Gated]


class Comparison(TypedDict):
    """The conclusion of compare."""

    kind: Literal["comparison"]
    comparisons: list[Compared]


class Stop(TypedDict):
    """Why measuring ended."""

    reason: Reason | None
    reached_width: Number


class Launchable(Configuration):
    """A configuration and the line that launches it."""

    line: str


Conclusion = Scan | Recommendation | Comparison | Study


class Result(TypedDict):
    """Result of a corescale verb. A number that could not be had is null."""

    format: Literal[2]
    corescale: str
    verb: Verb
    headline: str
    run: str
    experiment: dict[str, Any]
    confidence: float
    origin: list[Origin]
    blocks: Count
    confirmation_pairs: Count
    launches: Count
    failures: Count
    stop: Stop | None
    warnings: list[str]
    noisy_launches: Count
    left_out: list[str]
    lines: list[Launchable]
    conclusion: Conclusion
    undisturbed: Annotated[
        Conclusion | None, Field(description="the conclusion without the blocks that noise disturbed")
    ]
    environment: dict[str, Any]


OF_VERB = {"scan": "Scan", "tune": "Recommendation", "compare": "Comparison"}
"""the conclusion that a verb has; a study may race"""


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every export meets."""
    found = TypeAdapter(Result).json_schema()
    for name, table in columns.TABLES.items():
        row = found["$defs"][name]
        row["properties"] |= {c.name: {**c.format.schema, "description": c.explained} for c in table}
        row["required"] += [column.name for column in table]
    for each in (found, *found["$defs"].values()):
        each["additionalProperties"] = False
    found["allOf"] = [
        {
            "if": {"properties": {"verb": {"const": verb}}},
            "then": {"properties": {"conclusion": {"$ref": f"#/$defs/{name}"}}},
        }
        for verb, name in OF_VERB.items()
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:corescale:result:2", **found}
