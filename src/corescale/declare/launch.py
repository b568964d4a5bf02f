# SPDX-License-Identifier: Apache-2.0
"""The launch of a configuration, as launchers start it."""

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from corescale.declare.catalogue import allocators, env_reads
from corescale.errors import UsageError
from corescale.machine import format_cpu_list


@dataclass(frozen=True, slots=True)
class Launch:
    """The program, environment and placement of a launch. `environment` has only changes: None removes a variable."""

    argv: tuple[str, ...]
    shell: bool = False
    environment: Mapping[str, str | None] = field(default_factory=dict)
    affinity: tuple[int, ...] | None = None
    prefix: tuple[str, ...] = ()
    """programs in front of argv, such as numactl"""
    preload: tuple[Path, ...] = ()
    """libraries that must be proved inside the program"""
    replaces_allocator: bool = False
    """whether LD_PRELOAD replaces only inherited allocators, and leaves other inherited libraries there"""
    output: Path | None = None
    """the file that was named for standard output"""
    runtime: Path | None = None
    """the library of `preload` that must come first in LD_PRELOAD"""

    @property
    def command(self) -> tuple[str, ...]:
        """The argv that is executed."""
        words = ("/bin/sh", "-c", " ".join(self.argv)) if self.shell else self.argv
        return (*self.prefix, *words)

    def setting(self, **variables: str | None) -> "Launch":
        """The launch with these variables as well."""
        return replace(self, environment={**self.environment, **variables})

    def within(self, cpus: Iterable[int]) -> "Launch":
        """The launch restricted to these CPUs too. Raises UsageError if none is left."""
        wanted = set(cpus)
        left = wanted if self.affinity is None else wanted & set(self.affinity)
        if not left:
            raise UsageError("placement factors leave no CPU", remedy="drop one of affinity, sockets, l3_domains, smt")
        return replace(self, affinity=tuple(sorted(left)))

    @property
    def variables(self) -> Mapping[str, str | None]:
        """The changes to this process's environment. An allocator replaces only allocators in an inherited LD_PRELOAD,
        so that profilers and shims stay loaded at every level.
        """
        inherited, changes = os.environ.get("LD_PRELOAD", ""), dict(self.environment)
        if self.replaces_allocator:
            changes["LD_PRELOAD"] = allocators.replaced(inherited, changes["LD_PRELOAD"])
        if self.runtime is not None:
            others = changes.get("LD_PRELOAD", inherited)
            changes["LD_PRELOAD"] = ":".join(filter(None, (str(self.runtime), others)))
        return changes

    def needed(self, reads: Collection[str] | None) -> "Launch":
        """The launch without known variables that are not in `reads`, or that have the same value in this shell."""
        if reads is None:
            return self
        changes = {
            name: value
            for name, value in self.environment.items()
            if name not in env_reads.KNOWN or (name in reads and os.environ.get(name) != value)
        }
        return replace(self, environment=changes)

    @property
    def line(self) -> str:
        """The line a person pastes into a shell: env, taskset and argv, quoted."""
        changes = self.variables.items()
        unset = [word for name, value in changes if value is None and name in os.environ for word in ("-u", name)]
        given = [f"{name}={value}" for name, value in changes if value is not None]
        env = ["env", *unset, *given] if unset or given else []
        mask = ["taskset", "-c", format_cpu_list(self.affinity)] if self.affinity is not None else []
        return shlex.join([*env, *mask, *self.command])
