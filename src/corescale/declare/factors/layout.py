# SPDX-License-Identifier: Apache-2.0
"""Threads, ranks and nodes in one level: `layout=4x2x1`."""

import re
from typing import ClassVar

from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.declare.factors.threads import with_thread_variables
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Layout, Level


class LayoutKind(Kind):
    """TxMxN; whether it can be started is for the launcher to say."""

    makes: ClassVar = frozenset({"threads", "ranks", "nodes"})

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", text):
            raise UsageError(f"not a layout: {text!r}", where="layout", remedy="write TxMxN, each at least 1, as 4x2x1")
        return text

    def layout(self, level: Level, layout: Layout) -> Layout:
        t, m, n = (int(part) for part in str(level).split("x"))
        return Layout(t, m, n)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return with_thread_variables(launch, self.layout(level, Layout()).threads_per_rank)
