# SPDX-License-Identifier: Apache-2.0
"""Factor kinds: how a level becomes argv, environment or placement. kind.py is the contract."""

import re

from corescale.declare import template
from corescale.declare.catalogue.env_reads import THREAD_VARIABLES
from corescale.declare.catalogue.settings import SETTINGS
from corescale.declare.factors.kind import Kind, no_range, number_or_text
from corescale.declare.factors.placement import Affinity, Bind, L3Domains, Numa, Smt, Sockets
from corescale.declare.factors.program import Allocator, Command, OpenMP, Parameter, Variable
from corescale.declare.factors.threads import LayoutKind, Nodes, Ranks, Threads, with_thread_variables
from corescale.declare.launch import Launch
from corescale.errors import UsageError, nearest

__all__ = [
    "KINDS",
    "THREAD_VARIABLES",
    "Kind",
    "Launch",
    "kind_of",
    "no_range",
    "number_or_text",
    "with_thread_variables",
]

KINDS: dict[str, Kind] = {
    "threads": Threads(),
    "ranks": Ranks(),
    "nodes": Nodes(),
    "layout": LayoutKind(),
    "allocator": Allocator(),
    "openmp": OpenMP(),
    "bind": Bind(),
    "affinity": Affinity(),
    "sockets": Sockets(),
    "l3_domains": L3Domains(),
    "numa": Numa(),
    "smt": Smt(),
    "variable": Variable(),
    "parameter": Parameter(),
    "command": Command(),
}


def kind_of(name: str, placeholders: frozenset[str], where: str = "-f") -> str:
    """Which kind a factor's name means: a kind, a placeholder of the command, or a variable in capitals."""
    if name in KINDS and KINDS[name].named:
        return name
    if name == "p":
        what = "p is threads x ranks x nodes, and no factor"
        raise UsageError(what, where=where, remedy="vary threads, or give the placeholder another name")
    if name in placeholders:
        return "parameter"
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        return "variable"
    known = list(dict.fromkeys([*placeholders, *(kind for kind in KINDS if KINDS[kind].named)]))
    remedy = nearest(name, known, f"put {{{name}}} into the command, or name one of {', '.join(known)}")
    if levels_of := [variable for variable, setting in SETTINGS.items() if name in setting.levels.values()]:
        remedy = f"it is a level of {', '.join(levels_of)}; write {levels_of[0]}=auto"
    elif not re.fullmatch(template.NAME, name):
        remedy = "a name has letters from a to z, digits and _"
    raise UsageError(f"unknown factor {name!r}", where=where, remedy=remedy)
