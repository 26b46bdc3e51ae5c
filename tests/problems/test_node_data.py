"""What the nodes hold, told apart from a dataset that nobody has split."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gossamer as gs

SAMPLES = TensorDataset(torch.randn(12, 3), torch.arange(12) % 2)
PROBLEMS = {
    "ModuleProblem": lambda data: gs.ModuleProblem(
        nn.Linear(3, 2), nn.functional.cross_entropy, data, batch_size=2
    ),
    "LogisticRegression": gs.LogisticRegression,
    "FunctionProblem": lambda data: gs.FunctionProblem(
        lambda x, features, labels: (features.double() @ x).sum(), data, dim=3
    ),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize(
    "data",
    [SAMPLES, DataLoader(SAMPLES, batch_size=4), gs.data.Dataset("one", *SAMPLES.tensors)],
    ids=["TensorDataset", "DataLoader", "Dataset"],
)
def test_a_dataset_that_is_not_split_is_refused(problem, data):
    kind = type(data).__name__
    words = rf"data.*: got a single {kind}, need a list with the data of each node; split it"
    with pytest.raises(gs.InvalidInput, match=words):
        problem(data)
