# SPDX-License-Identifier: Apache-2.0
"""Finds the studies that ship with corescale: in the package of a wheel, or at the root of a source tree."""

import importlib.resources
from pathlib import Path

from corescale.declare import paths, programs
from corescale.errors import UsageError, nearest


def shipped() -> dict[str, Path]:
    """The studies by name, in alphabetical order."""
    return {path.stem: path for path in sorted(programs.folder("studies").glob("*.toml"))}


def find(name_or_file: str) -> Path:
    """The file of a study, given its name or its file; raises UsageError."""
    path = Path(name_or_file)
    if paths.is_file(path):
        return path
    known = shipped()
    if name_or_file in known:
        return known[name_or_file]
    if path.suffix == ".toml" or len(path.parts) > 1:
        what = "is not a file" if paths.exists(path) else "no such file"
        raise UsageError(what, where=name_or_file, remedy="name a study, or its TOML file")
    remedy = nearest(path.stem, known, "corescale study list names the studies that ship")
    raise UsageError("no such study", where=name_or_file, remedy=remedy)


def template(schema: str, kinds: str) -> str:
    """The text that `study new` writes, with the name of the schema's file and the kinds of factors filled in."""
    text = (importlib.resources.files("corescale.declare") / "study_template.toml").read_text(encoding="utf-8")
    return text.replace("{schema}", schema).replace("{kinds}", kinds)
