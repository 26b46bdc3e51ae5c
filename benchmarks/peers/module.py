"""The task of one node as a torch module, for the tools that train modules."""

import numpy as np
import torch
import torch.distributed as dist
from task import Task
from torch import Tensor, nn


class LeastSquares(nn.Module):
    """½ xᵀPx + qᵀx of one node, from 0."""

    def __init__(self, task: Task, node: int) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.zeros(task.dim, dtype=torch.float64))
        self.hessian, self.linear = map(torch.tensor, (task.hessians[node], task.linear[node]))

    def forward(self) -> Tensor:
        return (0.5 * self.hessian @ self.x + self.linear) @ self.x


def gathered(x: Tensor) -> np.ndarray:
    """x of all ranks, (n, d)."""
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.detach())
    return torch.stack(parts).numpy()
