# SPDX-License-Identifier: Apache-2.0
"""Which files of the repository are the site: its pages, and what they show or link to."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "runtime/README.md", "data/runs/README.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\(([^)#\s]+)")


def linked() -> set[str]:
    """Pictures, tables and sources that the pages link to."""
    places = {ROOT / page: LINK.findall((ROOT / page).read_text()) for page in PAGES}
    found = {(page.parent / link).resolve() for page, links in places.items() for link in links if "://" not in link}
    return {str(path.relative_to(ROOT)) for path in found if path.is_file()} - {*PAGES}


def expanded(entries: Any) -> Any:
    """The navigation, in which `docs/results/*` is each page of that folder, and a section for each folder in it."""
    if isinstance(entries, list):
        return [one for entry in entries for one in ([expanded(entry)] if isinstance(entry, dict) else listed(entry))]
    return {title: expanded(entry if isinstance(entry, list) else [entry]) for title, entry in entries.items()}


def listed(entry: str) -> list[Any]:
    """A page, or what a folder holds."""
    if not entry.endswith("/*"):
        return [entry]
    folder = ROOT / entry[:-2]
    below = sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.md")))
    pages = [str(path.relative_to(ROOT)) for path in sorted(folder.glob("*.md"))]
    return [*pages, *({path.name.replace("_", " "): listed(f"{entry[:-1]}{path.name}/*")} for path in below)]


def on_config(config: Any) -> Any:
    """MkDocs asks before it reads anything."""
    config.nav = expanded(config.nav)
    return config


def on_files(files: Files, config: Any) -> Files:
    """MkDocs asks which files there are."""
    for name in [*PAGES, *sorted(linked())]:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files
