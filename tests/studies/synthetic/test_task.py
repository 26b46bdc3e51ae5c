"""The setting of the synthetic study, typed again from the paper."""

import pytest
from made_up import curve

import gossamer as gs
from gossamer.studies.synthetic.task import (
    NETWORKS,
    NOISES,
    PRINTED_LAMBDA,
    final_errors,
    median_final_error,
)


def test_the_noises_are_the_papers():
    assert NOISES["Gaussian"] == gs.Gaussian(std=3**0.5)
    assert NOISES["Student-t"] == gs.StudentT(df=1.5, scale=1.0)
    assert NOISES["α-stable"] == gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_networks_have_the_printed_lambda(name: str):
    assert NETWORKS[name].num_nodes == 20
    assert abs(NETWORKS[name].lam - PRINTED_LAMBDA[name]) < 5e-4


def test_printed_lambdas_are_the_papers():
    assert list(PRINTED_LAMBDA.values()) == [0.904, 0.714, 0.6, 0.0]


def test_one_dataset_for_every_number_of_nodes():
    few, many = gs.RobustRegression(2), gs.RobustRegression(40)
    assert few.optimum.equal(many.optimum)
    assert few.loss(few.start[None]) == pytest.approx(many.loss(many.start[None]), rel=1e-12)


def test_errors_are_those_of_the_last_record():
    result = curve([0.5, 0.1, 0.3, 0.2, 0.4])
    assert final_errors(result) == [0.5, 0.1, 0.3, 0.2, 0.4]
    assert median_final_error(result) == 0.3
