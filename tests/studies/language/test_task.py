"""What the Transformer experiments share: tasks, their problems, and their sizes."""

import dataclasses

import pytest
import torch

from gossamer.studies.language.grids import TRANSFORMER
from gossamer.studies.language.task import NETWORKS, SIZES, Multi30k, Task
from studies.language.small import SMALL

TASK = Task("causal", stride=5, epochs=12)


def test_the_full_study_has_the_papers_sizes():
    task = SIZES["full"].task(TASK, seed=0)
    assert task == TASK
    assert task.text == Multi30k()
    assert (task.num_nodes, task.batch_size, task.context, task.width) == (8, 64, 64, 128)
    assert (task.heads, task.layers, task.products) == (4, 2, torch.bfloat16)
    lambdas = [network.lam for network in NETWORKS.values()]
    assert lambdas == pytest.approx([0.804, 0.6, 0.0], abs=1e-3)


@pytest.mark.parametrize("size", ["test", "quick"])
def test_smaller_studies_keep_what_the_task_is_about(size: str):
    task = SIZES[size].task(Task("paper", stride=5, epochs=12, dropout=0.1, style="pytorch"), 3)
    assert (task.protocol, task.dropout, task.style, task.seed) == ("paper", 0.1, "pytorch", 3)
    assert task.problem("cpu").dim < 30_000


@pytest.mark.parametrize(("size", "most"), [("test", 2), ("quick", 8)])
def test_smaller_searches_stay_within_the_set(size: str, most: int):
    for _, settings in TRANSFORMER.values():
        some = SIZES[size].searched(settings)
        assert 2 <= len(some) <= most
        assert all(setting in settings for setting in some)
        assert SIZES["full"].searched(settings) == tuple(settings)


def test_one_node_holds_all_windows_and_the_rest_is_the_same():
    eight = SMALL.problem("cpu")
    one = dataclasses.replace(SMALL, num_nodes=1).problem("cpu")
    assert (one.num_nodes, eight.num_nodes) == (1, 8)
    assert torch.equal(one.start, eight.start)
    held = [sum(len(data.tokens) for data in p.batches.datasets) for p in (one, eight)]
    assert held[0] == held[1]
    assert one.steps_per_epoch > eight.steps_per_epoch


def test_units_of_a_study_share_their_problem():
    assert SMALL.problem("cpu") is dataclasses.replace(SMALL).problem("cpu")
    assert SMALL.steps("cpu") == SMALL.epochs * SMALL.problem("cpu").steps_per_epoch
