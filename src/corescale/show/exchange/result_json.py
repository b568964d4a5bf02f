# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every object of the JSON)
"""The result as JSON, and its schema. OBJECTS lists the keys of each object; a key has the type of its attribute.

NaN and infinity do not exist in JSON, and are written as null. Times are in seconds, memory in bytes, shares are
fractions.

Format history
    2  plain names (`baseline`, `warnings`, `confirmation_pairs`, `model`, `tied_with`); 1, the first, had others.
"""

import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from corescale import __version__
from corescale.conclude.answers.candidates import Candidate, Cheaper, Flaky
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison, Gated
from corescale.conclude.answers.weak_scaling import Line, WeakScaling
from corescale.conclude.models import MODELS, Fit, Forecast
from corescale.conclude.models.overhead_factors import OverheadFit, Reach
from corescale.conclude.policy import Decision
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.stats import Interval, Regret
from corescale.declare.experiment import Verb
from corescale.records import Configuration, Layout, Level, Origin
from corescale.show import columns, headline
from corescale.show.columns import Column
from corescale.show.result import Result

Json = dict[str, Any]
Get = Callable[[Any, Result], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """A value of an object; by default the attribute of that name."""

    kind: Any = None
    """its type, or an object's name; a list: an array of it, a tuple: one of several, None: the attribute's"""
    of: Get | None = None
    says: str = ""


@dataclass(frozen=True, slots=True)
class Object:
    """The keys of an object."""

    made_of: type
    """the class with its attributes and its description (the docstring)"""
    paths: Mapping[str, str]
    """key -> path of the attribute"""
    keys: Mapping[str, Key]
    """keys that need more than a path"""


def _object(made_of: type, names: str, /, **keys: Key) -> Object:
    """`names`: attributes; `key=path` for one that has another name in JSON."""
    pairs = (name.partition("=") for name in names.split())
    return Object(made_of, {key: path or key for key, _, path in pairs}, keys)


def _tuple(**kinds: Any) -> Object:
    """An object made from a tuple, with a key for each position."""
    return Object(tuple, {}, {key: Key(kind, _of(itemgetter(k))) for k, (key, kind) in enumerate(kinds.items())})


def _of(get: Callable[[Any], Any]) -> Get:
    return lambda found, _: get(found)


def _constant(value: object) -> Key:
    return Key({"const": value}, lambda *_: value)


def _origin(found: Configuration, result: Result) -> list[str]:
    return [label for label in result.qualifiers(found) if label != "oversubscribed"] or ["measured"]


def _forecast(found: Fit | Line, _: Result) -> Forecast | None:
    fit = found.fit if isinstance(found, Line) else found
    return fit.forecast(2 * fit.measured[1]) if fit.identifiable and fit.model in MODELS else None


CONFIGURATION = {
    "levels": Key(Mapping[str, Level], lambda found, _: dict(found.levels)),
    "layout": Key(Layout, lambda found, _: found.layout),
    "origin": Key(list[Origin], _origin),
    "oversubscribed": Key(bool, lambda found, result: "oversubscribed" in result.qualifiers(found)),
}
"""the keys of every object that has a `configuration`"""
STATED = {name: Key(str, _of(attrgetter(f"finding.{name}"))) for name in ("name", "statement", "claim")}
BEST = Key(str | None, lambda found, _: found.choice.best.model if found.choice and found.choice.best else None)
REASON = Key(str, lambda found, _: found.choice.statement if found.choice else "")
CONCLUSIONS = ("Scan", "Recommendation", "Comparison", "Study")
OF_VERB = {"scan": "Scan", "tune": "Recommendation", "compare": "Comparison"}
"""the type of each verb's conclusion; a study may also race"""

OBJECTS: Mapping[str, Object] = {
    "Interval": _object(Interval, "estimate low high confidence n"),
    "Layout": _object(Layout, "t=threads_per_rank m=ranks_per_node n=nodes"),
    "Configuration": _object(Configuration, "", **CONFIGURATION),
    "Row": _object(
        Row,
        "configuration idle launches failures",
        p=Key(int | None, lambda found, _: found.p if found.counted else None, "null if no factor makes it"),
    ),
    "Beyond": _object(Forecast, "p time=seconds", origin=_constant("extrapolated")),
    "Fit": _object(
        Fit, "model parameters residual identifiable warning measured", forecast=Key(Forecast | None, _forecast)
    ),
    "Overhead": _object(OverheadFit, "model coefficients residual held_out warning"),
    "Curve": _object(
        Curve,
        "label rows fits",
        model=BEST,
        statement=REASON,
        overheads=Key(list[OverheadFit], lambda found, _: found.overhead.fits if found.overhead else []),
    ),
    "Line": _object(
        Line,
        "p model=fit.model parameters=fit.parameters residual=fit.residual identifiable=fit.identifiable"
        " warning=fit.warning measured=fit.measured",
        levels=CONFIGURATION["levels"],
        forecast=Key(Forecast | None, _forecast),
    ),
    "Weak": _object(WeakScaling, "refusal lines"),
    "Scan": _object(
        Scan,
        "response baseline curves weak",
        kind=_constant("scan"),
        p_ref=Key(int | None, lambda found, result: found.p_ref if result.experiment.makes_p else None),
    ),
    "At": _tuple(at=str, ratio=float),
    "Against": _tuple(at=str, ratio=Interval),
    "Reached": _tuple(at=str, level=Interval),
    "Finding": _object(
        Answer,
        "at verdict why ratio oversubscribed failed",
        **STATED,
        extremes=Key(["At"]),
        against=Key(("Against", None)),
        reached=Key(["Reached"]),
    ),
    "Reach": _object(Reach, "near far"),
    "Modelled": _object(
        Modelled,
        "at verdict why reach",
        **STATED,
        best=BEST,
        reason=REASON,
        fits=Key(list[OverheadFit], lambda found, _: found.choice.fits if found.choice else []),
    ),
    "Study": _object(
        Study,
        "scan=found",
        kind=_constant("study"),
        findings=Key(list[Answer], lambda found, _: [one for one in found.answers if isinstance(one, Answer)]),
        overheads=Key(list[Modelled], lambda found, _: [one for one in found.answers if isinstance(one, Modelled)]),
    ),
    "Regret": _object(Regret, "estimate bound"),
    "Candidate": _object(Candidate, "configuration regret metrics"),
    "Cheaper": _object(Cheaper, "configuration slower fewer_core_seconds=fewer blocks"),
    "Tied": _tuple(configuration=Configuration, faster_at_most=float),
    "Flaky": _object(Flaky, "configuration faster failures launches"),
    "Rehearsal": _object(
        Rehearsal,
        "of",
        raced=Key(int, lambda found, _: len(found.kept)),
        says=Key(str, lambda found, _: headline.rehearsal(found)),
    ),
    "Recommendation": _object(
        Recommendation,
        "keep_baseline chosen baseline winner within candidates cheaper flaky rehearsal",
        kind=_constant("recommendation"),
        line=Key(str, lambda found, result: result.line(found.chosen), "to paste into a shell"),
        gain=Key(says="T(baseline) / T(winner), from confirmation pairs alone"),
        tied_with=Key(["Tied"], says="what may be faster than the chosen one; null if no bound can be given"),
        not_shown=Key(says="constraints that the chosen one is not shown to meet or break"),
        failing=Key(says="how the baseline failed: always, or while the winner never did"),
        by_chance=Key(says="whether those failures may be chance, so that nothing is decided"),
    ),
    "Gated": _object(Gated, "of ratio verdict", limit=Key(says="increase that is allowed: 0.05 is 5%")),
    "Compared": _object(Comparison, "reference other reference_time failures gates"),
    "Comparison": Object(
        tuple, {}, {"kind": _constant("comparison"), "comparisons": Key(["Compared"], lambda found, _: found)}
    ),
    "Stop": _object(Decision, "reason reached_width"),
    "Launchable": _tuple(configuration=Configuration, line=str),
    "Result": _object(
        Result,
        "run confidence blocks confirmation_pairs=confirmations stop warnings environment",
        format=_constant(2),
        corescale=Key(str, lambda *_: __version__),
        verb=Key(Verb, lambda found, _: found.experiment.verb),
        headline=Key(str, lambda found, _: headline.headline(found)),
        experiment=Key(Mapping[str, Any], lambda found, _: found.experiment.model_dump(mode="json")),
        origin=Key(list[Origin], lambda found, _: sorted({record.origin for record in found.records})),
        launches=Key(int, lambda found, _: len(found.timed)),
        failures=Key(int, lambda found, _: sum(not record.ok for record in found.timed)),
        noisy_launches=Key(int, lambda found, _: len(found.noisy)),
        left_out=Key(list[str], lambda found, _: found.experiment.left_out),
        lines=Key(["Launchable"], lambda found, _: found.lines.items()),
        conclusion=Key(CONCLUSIONS),
        undisturbed=Key((*CONCLUSIONS, None), says="the conclusion without the blocks that noise disturbed"),
    ),
}
"""Row, Candidate and Compared have the columns of show/columns.py too."""
NAMES = {one.made_of: name for name, one in OBJECTS.items() if one.made_of is not tuple}


def to_json(result: Result) -> str:
    """The JSON text, in ASCII."""
    return json.dumps(to_dict(result), indent=2, allow_nan=False)


def to_dict(result: Result) -> Json:
    """The result as JSON values."""
    values: Json = finite(_json("Result", result, result))
    return values


def finite(value: Any) -> Any:
    """The same JSON values, with null for numbers that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _json(kind: Any, found: Any, result: Result) -> Any:
    """The JSON value. The keys of an object are found by the name in its Key, or else by its class."""
    if found is None:
        return None
    if isinstance(kind, list):
        return [_json(kind[0], one, result) for one in found]
    if isinstance(kind, tuple):
        kind = next(name for name in kind if name and isinstance(found, OBJECTS[name].made_of))
    if name := kind if isinstance(kind, str) else NAMES.get(type(found)):
        return {key: _json(one.kind, get(found, result), result) for key, (one, get) in _keys(name).items()}
    if isinstance(found, Mapping):
        return {key: _json(None, one, result) for key, one in found.items()}
    return [_json(None, one, result) for one in found] if isinstance(found, list | tuple) else found


def _keys(name: str) -> Mapping[str, tuple[Key, Get]]:
    """Every key of an object, with the function that gives its value."""
    made = {c.name: _column(c) for c in columns.TABLES.get(name, ())}
    return {**_own(name), **{key: (one, one.of) for key, one in made.items() if one.of}}


def _column(column: Column) -> Key:
    """The key of a column, which is null if it is about p and no program reads p."""
    said = {"description": column.explained}
    if column.name not in columns.OF_P:
        return Key({**column.format.schema, **said}, column.value)
    return Key(
        {"anyOf": [column.format.schema, NULL], **said},
        lambda found, result: column.value(found, result) if columns.of_p(result) else None,
    )


@functools.cache
def _own(name: str) -> Mapping[str, tuple[Key, Get]]:
    """The same without columns, and with the keys of `configuration` in its place."""
    of, found = OBJECTS[name], dict[str, tuple[Key, Get]]()
    for key in (*of.keys, *of.paths):
        path, asked = of.paths.get(key, key), of.keys.get(key, Key())
        get = asked.of or _of(attrgetter(path))
        if key == "configuration":
            found |= {each: (one, _through(get, one.of)) for each, one in CONFIGURATION.items() if one.of}
        else:
            found[key] = replace(asked, kind=asked.kind or _type(of.made_of, path)), get
    return found


def _through(first: Get, then: Get) -> Get:
    return lambda found, result: then(first(found, result), result)


def _type(of: type, path: str) -> Any:
    """The type of an attribute or a property of a class."""
    name, _, rest = path.partition(".")
    member = getattr(of, name, None)
    function = getattr(member, "fget", None) or getattr(member, "func", None)
    kind = get_type_hints(function)["return"] if function else get_type_hints(of)[name]
    return _type(kind, rest) if rest else kind


def schema() -> Json:
    """The JSON schema (draft 2020-12) that every export meets."""
    made = {name: _object_schema(name) for name in OBJECTS}
    verbs = [
        {
            "if": {"properties": {"verb": {"const": verb}}},
            "then": {"properties": {"conclusion": {"$ref": f"#/$defs/{name}"}}},
        }
        for verb, name in OF_VERB.items()
    ]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:corescale:result:2"}
    said = {"description": "Result of a corescale verb. A number that could not be had is null."}
    return {**head, **made.pop("Result"), **said, "allOf": verbs, "$defs": made}


def _object_schema(name: str) -> Json:
    keys, of = {key: one for key, (one, _) in _keys(name).items()}, OBJECTS[name].made_of
    said = {key: {"description": one.says} if one.says else {} for key, one in keys.items()}
    return {
        "type": "object",
        **({} if of is tuple else {"description": " ".join((of.__doc__ or "").split())}),
        "properties": {key: _schema(one.kind) | said[key] for key, one in keys.items()},
        "required": [*keys],
        "additionalProperties": False,
    }


NUMBER, NULL = {"type": ["number", "null"]}, {"type": "null"}
COUNT = {"type": "integer", "minimum": 0}
SIMPLE: Mapping[Any, Json] = {
    float: NUMBER, int: COUNT, str: {"type": "string"}, bool: {"type": "boolean"}, NoneType: NULL, None: NULL, Any: {},
}  # fmt: skip


def _schema(kind: Any) -> Json:
    """The schema of a `Key.kind`; a mapping is already a schema."""
    if isinstance(kind, Mapping):
        return dict(kind)
    if isinstance(kind, list):
        return {"type": "array", "items": _schema(kind[0])}
    if isinstance(kind, tuple):
        return {"anyOf": [_schema(one) for one in kind]}
    if name := kind if isinstance(kind, str) else NAMES.get(kind):
        return {"$ref": f"#/$defs/{name}"}
    return SIMPLE[kind] if kind in SIMPLE else _of_generic(get_origin(kind), get_args(kind))


def _of_generic(origin: Any, inner: tuple[Any, ...]) -> Json:
    if origin is Literal:
        return {"enum": [*inner]}
    if origin in (Union, UnionType):
        return _schema(inner)
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    if origin is tuple and inner[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [_schema(one) for one in inner], "items": False}
    return _schema([inner[0]])
