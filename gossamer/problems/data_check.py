"""Whether the data of all nodes fit each other, the module and its loss."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gossamer.data.pairs import Pairs, TensorPairs
from gossamer.errors import refuse
from gossamer.problems.evaluator import seeded
from gossamer.problems.module_failures import refusing
from gossamer.problems.telling_samples import extremes
from gossamer.problems.vector_module import VectorModule


def require_alike(nodes: Sequence[Pairs], validation: Pairs | None) -> None:
    """Refuse samples of other kinds or shapes than those of node 0.

    Those of the validation data may be longer or shorter, e.g. sequences.
    """
    first = nodes[0]
    for node, data in enumerate(nodes):
        _require_kind(f"node_datasets[{node}]", data, first, lambda z: (z.dtype, z.shape[1:]))
    if validation is not None:
        _require_kind("validation", validation, first, lambda z: (z.is_floating_point(), z.ndim))


def _require_kind(name: str, data: Pairs, first: Pairs, by: Callable[[Tensor], object]) -> None:
    if not (isinstance(data, TensorPairs) and isinstance(first, TensorPairs)):
        return
    for part in ("inputs", "targets"):
        found, known = getattr(data, part), getattr(first, part)
        if by(found) != by(known):
            refuse(name, f"{part} of {_kind(found)}", f"{_kind(known)}, as node 0 has them")


def _kind(samples: Tensor) -> str:
    return f"{samples.dtype} and shape {tuple(samples.shape[1:])}"


def require_usable(
    model: VectorModule, nodes: Sequence[Pairs], validation: Pairs | None, together: int
) -> None:
    """Refuse data on which the loss fails, e.g. a number of a class that does not exist.

    It is tried on the samples with the smallest and the largest integers, each `together` times.
    """
    for node, row in extremes(nodes):
        _require_loss(model, f"node_datasets[{node}]", nodes[node], row, together)
    if validation is not None:
        for _, row in [(0, 0), *extremes([validation])]:
            _require_loss(model, "validation", validation, row, together)


def _require_loss(model: VectorModule, name: str, data: Pairs, row: int, together: int) -> None:
    """Try it on a sample, as often as there must be samples, e.g. for statistics of a batch."""
    inputs, targets = data[torch.full((together,), row)]
    held = f" with the target {targets[0].item()}" if targets.ndim == 1 else ""

    def told(reason: str) -> str:
        return (
            f"{name}: got sample {row}{held}, on which {model.name} or its loss fails ({reason}); "
            "need samples as the first of node 0, and no class or token beyond those of the module"
        )

    with refusing(told), seeded(model.start.device, elsewhere=True), torch.no_grad():
        for _ in range(2):  # what a module keeps of the first run may not fit the next
            model.evaluation_loss(model.start, inputs, targets)
