# SPDX-License-Identifier: Apache-2.0
"""A real Slurm that keeps accounts, by slurmdbd, and lets nobody compute without one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import corescale
from corescale.errors import UsageError
from corescale.observe.doctor import cluster
from support import slurm
from support.processes import eventually

WHY_NOT = slurm.reason_without_accounting()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


@pytest.fixture(scope="module", autouse=True)
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with slurm.cluster(tmp_path_factory.mktemp("accounts"), accounting=True):
        yield


def test_launches_are_booked_on_the_account_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = corescale.scan("true", on="slurm", allocation="-A ours", factor={"layout": ["1x1x1", "1x1x2"]}, runs=2)
    assert {record.status for record in made.result.records} == {"ok"}
    assert slurm.emptied(), slurm.queue()

    def booked() -> list[str]:
        return slurm.said("sacct", "-X", "-n", "-P", "-o", "Account").splitlines()

    assert eventually(lambda: len(booked()) >= 2, 20), booked()  # an allocation a block
    assert {*booked()} == {"ours"}


@pytest.mark.parametrize("allocation", ["-A theirs", "-p closed -A root"])
def test_an_account_that_is_refused_is_one_line(
    allocation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^slurm: .*(A|a)ccount.*; see --allocation and sinfo") as raised:
        corescale.scan("true", on="slurm", allocation=allocation, nodes=[1], runs=1)
    assert "\n" not in str(raised.value)


def test_doctor_sees_that_accounts_are_kept() -> None:
    found = cluster.survey()
    assert found is not None and found.accounting
