# SPDX-License-Identifier: Apache-2.0
"""Commands around the launches: untimed, through no shell unless the measured command goes through one."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping

from corescale.declare import template
from corescale.declare.experiment import Experiment
from corescale.errors import ProgramError

EACH = ("prepare", "conclude")
"""Around each launch, and so with placeholders."""
ONCE = ("setup", "cleanup")


class HookRunner:
    """Runs the hooks of an experiment. What a hook leaves in the background stays: `cleanup` is there to end it."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._shell = any(command.shell for command in experiment.commands)
        known = {"threads", *(factor.name for factor in experiment.factors)}
        for name in (*EACH, *ONCE):
            text = getattr(experiment.hooks, name) or ""
            template.check((text,), known if name in EACH else ())
            if not self._shell:
                template.split(text, f"--{name}")

    def run(self, name: str, values: Mapping[str, str] | None = None) -> None:
        """Raises ProgramError where it cannot be started or fails."""
        text = getattr(self._experiment.hooks, name)
        if text is None:
            return
        words = ("/bin/sh", "-c", text) if self._shell else tuple(shlex.split(text))
        with tempfile.TemporaryFile() as said:
            try:
                result = subprocess.run(
                    template.fill(words, values or {}),
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                )
            except OSError as error:
                raise ProgramError(
                    f"cannot be started: {error.strerror}",
                    where=f"--{name} {text}",
                    remedy=f"what only a shell knows needs --shell, or sh -c {shlex.quote(text)}",
                ) from error
            if result.returncode != 0:
                said.seek(0)
                last = said.read().decode(errors="replace").strip().splitlines()[-1:] or [""]
                what = f"failed with exit code {result.returncode}{': ' if last[0] else ''}{last[0]}"
                raise ProgramError(what, where=f"--{name} {text}", remedy="make it succeed, or leave it out")
