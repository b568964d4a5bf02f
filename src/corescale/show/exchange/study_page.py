# SPDX-License-Identifier: Apache-2.0
"""The page of a published run of a study, as Markdown: what was launched, the answers, and how to repeat it."""

import time
from collections import Counter
from collections.abc import Sequence

from corescale.conclude.answers.study import Study
from corescale.show import text
from corescale.show.exchange.table import escaped
from corescale.show.result import Result
from corescale.show.statements import VERDICTS


def page(
    result: Result,
    findings: str,
    *,
    machine: str,
    study: str,
    archive: str,
    pictures: Sequence[str],
    tables: Sequence[str],
) -> str:
    """Markdown for a folder that also contains the archive, the pictures and the tables, under these names.

    `findings` is Markdown (exchange/table.py). `study` is the name of a study that ships, else empty.
    """
    blocks = [
        f"# {escaped(result.experiment.study.title)}",
        _circumstances(result, machine),
        _counts(result),
        _again(archive, study),
        *(f"![{picture.removesuffix('.svg')}]({picture})" for picture in pictures),
        *(["## Findings", findings.strip()] if findings else []),
        *(["## Warnings", "\n".join(f"- {escaped(one)}" for one in result.warnings)] if result.warnings else []),
        f"Files: {', '.join(f'[{file}]({file})' for file in ('report.html', 'verdicts.csv', archive, *tables))}.",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _circumstances(result: Result, machine: str) -> str:
    day = time.strftime("%-d %B %Y", time.gmtime(min((one.started for one in result.records), default=0.0)))
    launches, blocks = text.count(len(result.timed), "launch", "launches"), text.count(result.blocks, "block")
    model = str(result.environment.get("machine", {}).get("cpu_model") or "")
    processor = [] if model in machine or result.origins else [model]
    return f"{escaped(', '.join([f'On {machine}', *processor, *result.origins, day]))}. {launches} in {blocks}."


def _counts(result: Result) -> str:
    assert isinstance(result.conclusion, Study)
    said = Counter[str](answer.verdict for answer in result.conclusion.answers)
    counts = ", ".join(f"{said[verdict]} {verdict}" for verdict in VERDICTS if said[verdict])
    return f"{text.count(said.total(), 'answer')}: {counts}." if counts else ""


def _again(archive: str, study: str) -> str:
    declared = f" --study {study}" if study else ""
    lines = [f"corescale report {archive}{declared} --outputs DIR   # every number and picture again"]
    lines += [f"corescale study run {study}   # the same on your machine"] if study else []
    return "\n".join(["```sh", *lines, "```"])
