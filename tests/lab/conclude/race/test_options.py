# SPDX-License-Identifier: Apache-2.0
"""The constants of a race stand once, and what is written of them says what they are."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

import corescale.conclude.race
from corescale.conclude.answers.alternatives import CHEAPER, SLOWER
from corescale.conclude.race.elimination import ranked_from, tail
from corescale.conclude.race.options import OPTIONS
from corescale.declare.catalogue import space
from corescale.declare.command_line.request import TuneRequest
from corescale.declare.plan import TODAY_EVERY
from corescale.declare.stop import MOST_BLOCKS, Stop

ROOM = Path(corescale.conclude.race.__path__[0])
DOC = " ".join((Path(__file__).parents[4] / "docs" / "race.md").read_text().split())
WORDS = dict(enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]))
TIMES = {2: "twice", 3: "three times"}
ORDER = {3: "third", 4: "fourth", 5: "fifth"}

SAYS = [
    f"to be within `--within` ({Stop().within:.0%}) of the best",
    f"the planned looks ({', '.join(map(str, OPTIONS.looks[:7]))}, ... common blocks)",
    f"lend it {WORDS[int(OPTIONS.prior)]} degrees of freedom at most,"
    f" {WORDS[int(OPTIONS.early_prior)]} before the {ORDER[OPTIONS.settled]} common block",
    f"From {TIMES[int(OPTIONS.ranks)]} as many common blocks as a signed-rank bound needs"
    f" ({ranked_from(tail(0.95, 2))} for two configurations, {ranked_from(tail(0.95, 39))} for 39)",
    f"Fresh blocks of the favourite and today's launch: {OPTIONS.room} to {OPTIONS.longest} to the first look",
    f"then {'one and a half times' if OPTIONS.later == 1.5 else OPTIONS.later} as many at each further look",
    f"when the first block is paid for, if these are {WORDS[OPTIONS.fewest]} or more",
    f"as many are tried as fit into {space.MOST} configurations",
    f"The first look has {OPTIONS.at_first:.0%} of the error",
    f"keeps room for {WORDS[OPTIONS.room]} of them, for more where the leader's first look needs more and"
    f" {'a quarter' if OPTIONS.room_share == 0.25 else OPTIONS.room_share} of the budget pays for them, or"
    f" {OPTIONS.room_beyond} of what it has beyond two launches of everything",
    f"unless the favourite scatters more by an F test at {OPTIONS.unlike:.0%}",
    f"with less than {WORDS[int(OPTIONS.enough)]} degrees of freedom, the scatter of all launches",
    f"a launch that takes {WORDS[int(OPTIONS.first_cap)]} times as long has lost",
    f"where there are fewer than {WORDS[OPTIONS.opening]} of them, others",
    f"of {WORDS[OPTIONS.largest]} configurations or fewer it has all",
    f"a first answer after {WORDS[OPTIONS.first_answer]} to {WORDS[1 + OPTIONS.largest]} launches",
    f"at a place drawn at random, where otherwise {TODAY_EVERY} launches would pass without one",
    f"A launch that takes {WORDS[int(OPTIONS.cap)]} times the median of the fastest that may still win ("
    f"{WORDS[int(OPTIONS.first_cap)]} times",
    f"a configuration that was killed in {WORDS[OPTIONS.strikes]} launches and in more than half of its launches has"
    " lost",
    f"(expected launches, {'doubled' if OPTIONS.doubt == 2 else OPTIONS.doubt}, exceed what is left)",
    f"{'half' if OPTIONS.trust == 0.5 else OPTIONS.trust} by the surrogate's belief",
    f"{'half' if OPTIONS.drawn == 0.5 else OPTIONS.drawn} of each is what a surrogate believes in",
    f"As long as {'a third' if OPTIONS.reserved == 0.5 else OPTIONS.reserved} of the budget is left the opening goes"
    f" on, if {'half' if OPTIONS.covering == 0.5 else OPTIONS.covering} of it can be paid for",
    f"Of what is new to it {'half' if OPTIONS.drawn == 0.5 else OPTIONS.drawn} is drawn at random",
    f"the favourite is launched {TIMES[OPTIONS.again]} before others are tried",
    f"a smaller input, {TIMES[OPTIONS.rehearsals]} in every configuration",
    f"Then up to {WORDS[OPTIONS.checked]} configurations, spread over that ranking, and today's are launched"
    f" {TIMES[OPTIONS.checks]} in full",
    f"If {OPTIONS.agreeing:.0%} of the pairs that the rehearsal told apart come in the same order",
    f"({OPTIONS.margin:.0%}, or {TIMES[int(OPTIONS.moved)]} the largest shift of a checked ratio)",
    f"a launch that is up to {SLOWER:.0%} slower and takes fewer core-seconds (by {CHEAPER:.0%} at least",
]


@pytest.mark.parametrize("sentence", SAYS)
def test_the_document_says_what_the_constants_are(sentence: str) -> None:
    assert sentence in DOC


def test_no_other_module_of_the_race_has_a_number_of_its_own() -> None:
    modules = [path for path in ROOM.glob("*.py") if path.name != "options.py"]
    assert len(modules) > 5
    found = [
        (path.name, ast.unparse(node))
        for path in modules
        for node in assigned(ast.parse(path.read_text()))
        if any(isinstance(n, ast.Constant) and type(n.value) in (int, float) and n.value != 0 for n in ast.walk(node))
    ]
    assert not found


def assigned(module: ast.Module) -> list[ast.expr]:
    """What a module, and each class in it, gives a name."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    everything = [*module.body, *(node for one in classes for node in one.body)]
    values = [node.value for node in everything if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [value for value in values if value is not None]


def test_every_constant_is_used() -> None:
    others = "".join(path.read_text() for path in ROOM.glob("*.py") if path.name != "options.py")
    own = (ROOM / "options.py").read_text()
    named = [field.name for field in fields(OPTIONS)]
    assert len(named) > 40
    used = {name for name in named if re.search(rf"OPTIONS\.{name}\b", others) or re.search(rf"self\.{name}\b", own)}
    assert not {*named} - used


def test_the_last_look_is_the_largest_number_of_blocks() -> None:
    assert OPTIONS.last_look == MOST_BLOCKS == TuneRequest().max_runs
    assert OPTIONS.looks[:3] == (2, 3, 4)
    assert OPTIONS.largest == TODAY_EVERY - 1
