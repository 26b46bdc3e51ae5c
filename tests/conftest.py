"""Shared by all tests: this folder is importable, workers use one core, modules start alike."""

import gc

import pytest
import torch

torch.set_num_threads(1)
gc.set_threshold(100_000, 20, 20)  # thousands of collected tests are no garbage: look less often


@pytest.fixture(autouse=True)
def _same_start_of_modules():
    """torch draws the weights of a new module from its global generator."""
    torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first, so that no process is left with one in the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
