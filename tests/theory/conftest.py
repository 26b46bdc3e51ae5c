import pytest

from gossamer.theory import Constants


@pytest.fixture
def constants() -> Constants:
    return Constants(
        num_nodes=16,
        lam=0.5,
        smoothness=2.0,
        gap=3.0,
        grad_norm=0.7,
        stacked_grad_norm=5.0,
        sigma=1.3,
        p=1.5,
    )
