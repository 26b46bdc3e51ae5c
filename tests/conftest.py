"""Shared by all tests: this folder is importable, workers use one core, modules start alike."""

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_start_of_modules():
    """torch draws the weights of a new module from its global generator."""
    torch.manual_seed(0)
