"""Every method of the table × every network keeps every clause of the contract."""

import pytest
from algorithms.contract import CONTRACT, Clause
from algorithms.table import TABLE, Row

import gossamer as gs


def test_the_table_covers_the_methods():
    assert {row.name for row in TABLE if "PushSum" not in row.name} == set(gs.ALGORITHMS)


def test_every_method_has_a_label_of_its_own():
    labels = {name: algorithm.label for name, algorithm in gs.ALGORITHMS.items()}
    assert all(isinstance(label, str) and label for label in labels.values())
    assert len(set(labels.values())) == len(labels)
    assert [label.replace("-", "").replace(" ", "") for label in labels.values()] == list(labels)


def test_without_a_label_a_method_is_called_as_its_class():
    class Mine(gs.DSGD):
        pass

    assert (Mine.label, gs.GTNSGDm.label) == ("Mine", "GT-NSGDm")


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
