"""Shared by all tests: this folder is importable, and each worker uses one core."""

import torch

torch.set_num_threads(1)
