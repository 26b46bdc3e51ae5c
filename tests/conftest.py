"""Shared by all tests: this folder is importable, workers use one core, modules start alike."""

import contextlib
import gc
import os

import pytest

gc.set_threshold(100_000, 20, 20)  # thousands of collected tests are no garbage: look less often
if hasattr(os, "SCHED_BATCH") and "PYTEST_XDIST_WORKER" in os.environ:
    # Nobody whom these tests start interrupts another one by a message. Else a rank would lose its
    # core while it holds gloo's lock, and gloo's thread would spin on it. Tests with deadlines,
    # which run beside these, do interrupt them.
    with contextlib.suppress(OSError):  # where a sandbox refuses it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


@pytest.fixture(scope="session", autouse=True)
def _one_core():
    import torch  # here, since the process that only hands out the tests needs none

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_start_of_modules():
    """torch draws the weights of a new module from its global generator."""
    import torch

    torch.default_generator.manual_seed(0)  # alone: manual_seed takes 1 ms, for GPUs not in use


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first, so that no process is left with one in the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    gc.freeze()  # nor is what was imported
