"""Every method of the table × every network keeps every clause of the contract."""

import pytest
from algorithms.contract import CONTRACT, Clause
from algorithms.table import TABLE, Row

import gossamer as gs


def test_the_table_covers_the_methods():
    assert {row.name for row in TABLE} == set(gs.ALGORITHMS)


@pytest.mark.parametrize("row", TABLE, ids=str)
@pytest.mark.parametrize(
    ("clause", "network"),
    [
        pytest.param(clause, network, id=f"{clause.__name__}-{network.name}")
        for clause, networks in CONTRACT.items()
        for network in networks
    ],
)
def test_contract(clause: Clause, network: gs.Network, row: Row):
    clause(row, network)
