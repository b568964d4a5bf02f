# SPDX-License-Identifier: Apache-2.0
"""Every block policy on machines of up to 256 threads and 32 L3 domains, simulated.

scripts/bench simulated_policies. Prints Markdown, the content of docs/results/simulated_policies.md. Each policy's time
is over that of the best fixed block of a sweep by powers of two, on loops that learn as the library's do. The shipped
constants: a claim 10 ns, a line 80 ns within a group and 200 ns between groups. Every time is simulated.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from _claim_simulator import Case, times

THREADS = (2, 4, 8, 16, 32, 64, 128, 256)
GROUPS = (1, 2, 4, 8, 16, 32)
LOOPS: Mapping[str, Case] = {
    "tiny bodies": {"n": 1_000_000, "iteration-ns": 1.4, "variation": 0, "read": 1, "write": 1},
    "unit task": {"n": 4096, "iteration-ns": 700, "variation": 0.1, "read": 1024, "write": 1024},
    "uneven": {"n": 65_536, "iteration-ns": 100, "variation": 1, "read": 128, "write": 128},
    "dear bodies": {"n": 4096, "iteration-ns": 16_000, "variation": 0.5, "read": 16_384, "write": 16_384},
}
"""With the bytes of a unit task that takes about as long, which the printed formula gets."""
TOLD: Mapping[str, tuple[str, float]] = {
    "auto": ("auto", 1),
    "auto, constants halved": ("auto", 0.5),
    "auto, constants doubled": ("auto", 2),
    "static": ("static", 1),
    "guided": ("guided", 1),
    "taskflow_guided": ("taskflow_guided", 1),
    "published_cost_model": ("published_cost_model", 1),
}
"""Policies, and what constants they know over the machine's"""
POLICIES = tuple(TOLD)
ALLOWED = 1.03
"""multiple of the best fixed block's time that `auto` should not exceed"""
SHARED = 16
"""threads of an L3 domain at most, on the machines of the study and on most others"""

Machine = tuple[int, int]


def machines() -> list[Machine]:
    return [(threads, groups) for threads, groups in itertools.product(THREADS, GROUPS) if groups <= threads]


def case(loop: str, machine: Machine, policy: str, block: int = 0, counters: str = "policy") -> Case:
    threads, groups = machine
    name, told = TOLD.get(policy, (policy, 1))
    where: Case = {"policy": name, "told": told, "block": block, "counters": counters}
    where |= {"threads": threads, "l3-domains": groups}
    return where | LOOPS[loop]


def blocks(loop: str, threads: int) -> Sequence[int]:
    """Powers of two up to a share; of a million tiny bodies none below 64, which take long and never win."""
    n = int(str(LOOPS[loop]["n"]))
    return [2**k for k in range(6 if n >= 1_000_000 else 0, max(1, n // threads).bit_length())]


def over_the_best(loop: str, machine: Machine) -> dict[str, float]:
    """Time of each policy over that of the best fixed block."""
    fixed = [case(loop, machine, "fixed", block) for block in blocks(loop, machine[0])]
    found = times([*(case(loop, machine, policy) for policy in POLICIES), *fixed])
    best = found[len(POLICIES) :].min()
    return dict(zip(POLICIES, found / best, strict=False))


def policies() -> dict[tuple[str, Machine], dict[str, float]]:
    print("The formula gets the bytes of a unit task that takes about as long:\n")
    for loop, of in LOOPS.items():
        print("* {0}: {n:,} iterations of {iteration-ns:,} ns, variation {variation}".format(loop, **of))
    print(
        "\nThe table has the time relative to that of the best fixed block: the geometric mean, and in brackets the\n"
        "worst case.\n"
    )
    print(f"| loop | machines | {' | '.join(POLICIES)} |\n|---|---|{'---|' * len(POLICIES)}")
    everything = {(loop, machine): over_the_best(loop, machine) for loop in LOOPS for machine in machines()}
    for loop, (said, chosen) in itertools.product(LOOPS, (("at most 16 to a group", True), ("more to a group", False))):
        some = [row for (of, (t, g)), row in everything.items() if of == loop and (t <= SHARED * g) is chosen]
        cells = [[row[policy] for row in some] for policy in POLICIES]
        text = " | ".join(f"{np.exp(np.log(cell).mean()):.2f} ({max(cell):.2f})" for cell in cells)
        print(f"| {loop} | {len(some)}, {said} | {text} |")
    return everything


def failures(everything: dict[tuple[str, Machine], dict[str, float]]) -> None:
    missed = {key: row["auto"] for key, row in everything.items() if row["auto"] > ALLOWED}
    small = {key: value for key, value in missed.items() if key[1][0] <= SHARED * key[1][1]}
    print(
        f"\n`auto` is more than {ALLOWED - 1:.0%} behind on {len(missed)} of {len(everything)}, and on "
        f"{len(small)} of\nthose with at most {SHARED} threads to a group. The worst:\n"
    )
    print("| loop | threads | groups | auto |\n|---|---|---|---|")
    for (loop, (threads, groups)), value in sorted(missed.items(), key=lambda item: -item[1])[:12]:
        print(f"| {loop} | {threads} | {groups} | {value:.2f} |")


def single_iterations() -> None:
    print("\nOne iteration at a time of the unit task, 8 threads and 4096 iterations to a group, in us:\n")
    print(f"| L3 domains | {' | '.join(map(str, GROUPS))} |\n|---|{'---|' * len(GROUPS)}")
    for counters, said in (("policy", "one counter"), ("group", "a counter to a group")):
        cases = [case("unit task", (8 * groups, groups), "fixed", 1, counters) for groups in GROUPS]
        grown = [one | {"n": 4096 * groups} for one, groups in zip(cases, GROUPS, strict=True)]
        print(f"| {said} | {' | '.join(f'{ns / 1000:.0f}' for ns in times(grown))} |")


def main() -> None:
    print(
        "# Block policies on many cores, simulated\n\n"
        "`scripts/bench simulated_policies` printed this. All machines are simulated; none was available.\n"
    )
    failures(policies())
    single_iterations()


if __name__ == "__main__":
    main()
