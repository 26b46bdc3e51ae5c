"""What a module and a loss must be, so that a loss is a function of one vector."""

from torch import nn
from torch.nn.parameter import is_lazy

from gossamer.errors import require


def require_trainable(module: nn.Module) -> None:
    """Refuse a module that is no function of parameters with values and dense gradients."""
    require(isinstance(module, nn.Module), "module", module, "an nn.Module")
    _refuse_without_values(module)
    _refuse_running_statistics(module)
    _refuse_sparse_gradients(module)


def require_loss(loss: object) -> None:
    """Refuse what cannot be called with outputs and targets."""
    made = callable(loss) and not isinstance(loss, type)
    need = "a function of (outputs, targets), e.g. nn.functional.cross_entropy"
    way_out = f"write {loss.__name__}()" if isinstance(loss, type) else ""
    require(made, "loss", repr(loss), need, way_out)


def _refuse_without_values(module: nn.Module) -> None:
    need = "parameters with values, which are x⁰"
    for name, parameter in module.named_parameters():
        found, way_out = "a parameter without a shape yet", "run the module once on a batch"
        require(not is_lazy(parameter), path_of(name), found, need, way_out)
        found, way_out = "a parameter on the meta device", 'use module.to_empty(device="cpu")'
        require(not parameter.is_meta, path_of(name), found, need, f"{way_out}, and initialize it")


def _refuse_running_statistics(module: nn.Module) -> None:
    for name, part in module.named_modules():
        trained = part.training or not module.training
        require(
            not (trained and getattr(part, "track_running_stats", False)),
            path_of(name),
            f"{type(part).__name__} with running statistics",
            "a module that is a function of its parameters: running statistics are neither "
            "trained nor mixed",
            "torch.func.replace_all_batch_norm_modules_(module) makes it use those of the batch, "
            f"and {path_of(name)}.eval() after module.train() keeps those it has",
        )


def _refuse_sparse_gradients(module: nn.Module) -> None:
    for name, part in module.named_modules():
        sparse = isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse
        require(
            not sparse,
            path_of(name),
            f"{type(part).__name__} with sparse gradients",
            "dense ones: methods take the gradient as one vector",
            "build it with sparse=False",
        )


def path_of(name: str) -> str:
    """Where a part of a module, or a tensor that it holds, is."""
    return f"module.{name}" if name else "module"
