"""What the Transformer experiments share: tasks and their problems."""

import pytest
import torch
from gossamer.studies.language.language import (
    NETWORKS,
    Task,
    problem,
    task_of,
)

from gossamer.experiments import Options

QUICK, TASK = Options(), Task("causal", stride=5, epochs=12)


def test_the_full_study_has_the_papers_sizes():
    task = task_of(Options(full=True), TASK)
    assert (task.num_nodes, task.batch_size, task.context, task.width) == (8, 64, 64, 128)
    lambdas = [network.lam for network in NETWORKS.values()]
    assert lambdas == pytest.approx([0.804, 0.6, 0.0], abs=1e-3)


def test_one_node_holds_all_windows_and_the_rest_is_the_same():
    task = task_of(QUICK, TASK)
    eight = problem(QUICK, task)
    one = problem(QUICK, Task(**{**vars(task), "num_nodes": 1}))
    assert one.num_nodes == 1
    assert torch.equal(one.start, eight.start)
    assert len(one.batches.datasets[0].tokens) == sum(
        len(data.tokens) for data in eight.batches.datasets
    )
