# SPDX-License-Identifier: Apache-2.0
"""Run folders that an earlier corescale wrote: one of each verb, one measured, one tuned under LD_PRELOAD."""

from pathlib import Path

FIXTURES = {path.name: path for path in sorted((Path(__file__).parents[1] / "fixtures").iterdir()) if path.is_dir()}
