# SPDX-License-Identifier: Apache-2.0
"""One of several commands."""

from typing import ClassVar

from corescale.declare.factors.kind import Kind


class Command(Kind):
    """Chooses among the experiment's commands; the commands are declared, never the factor."""

    named: ClassVar = False
