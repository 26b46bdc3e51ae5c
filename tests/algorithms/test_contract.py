"""Every method of the table × every network keeps every clause of the contract."""

import pytest
from algorithms.contract import CONTRACT
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
def test_contract(row: Row, subtests: pytest.Subtests):
    for clause, networks in CONTRACT.items():
        for network in networks:
            with subtests.test(f"{clause.__name__} on {network.name}"):
                clause(row, network)
