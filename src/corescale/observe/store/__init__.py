# SPDX-License-Identifier: Apache-2.0
"""The run folder: ROOT/<verb>-<experiment>/<n>/ with plan.json, environment.json and records.jsonl.

If the latest folder is unfinished, it is resumed; otherwise a new folder gets the next n. Every acknowledged record is
on the disk. A block that was interrupted is made again from its start, as the next attempt. Its partial records are
kept, and marked. docs/results_format.md describes the files.
"""

from corescale.observe.store.archives import archive, extract
from corescale.observe.store.contract import Memory, Store
from corescale.observe.store.durable import must_hold_runs
from corescale.observe.store.folder import Folder, goes_further, open_run
from corescale.observe.store.run import Run, load, runs
from corescale.observe.store.sealing import sealed

__all__ = [
    "Folder",
    "Memory",
    "Run",
    "Store",
    "archive",
    "extract",
    "goes_further",
    "load",
    "must_hold_runs",
    "open_run",
    "runs",
    "sealed",
]
