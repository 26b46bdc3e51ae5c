"""What a module and a loss must be, so that a loss is a function of one vector."""

from torch import nn
from torch.nn.parameter import is_lazy

from gossamer.errors import require


def require_trainable(module: nn.Module) -> None:
    """Refuse a module that is no function of parameters with values and dense gradients."""
    require(isinstance(module, nn.Module), "module", module, "an nn.Module")
    for name, parameter in module.named_parameters():
        _require_value(path_of(name), parameter)
        _require_plain(path_of(name), parameter)
    _refuse_sparse_gradients(module)


def require_loss(loss: object) -> None:
    """Refuse what cannot be called with outputs and targets."""
    made = callable(loss) and not isinstance(loss, type)
    need = "a function of (outputs, targets), e.g. nn.functional.cross_entropy"
    way_out = f"write {loss.__name__}()" if isinstance(loss, type) else ""
    require(made, "loss", repr(loss), need, way_out)


def _require_value(name: str, parameter: nn.Parameter) -> None:
    need = "parameters with values, which are x⁰"
    found, way_out = "a parameter without a shape yet", "run the module once on a batch"
    require(not is_lazy(parameter), name, found, need, way_out)
    found, way_out = "a parameter on the meta device", 'use module.to_empty(device="cpu")'
    require(not parameter.is_meta, name, found, need, f"{way_out}, and initialize it")


def _require_plain(name: str, parameter: nn.Parameter) -> None:
    """Refuse what a vector of real numbers, and its gradient, would not have."""
    if not parameter.requires_grad:
        return
    way_out = "hold two real numbers for each, which torch.view_as_complex reads"
    require(not parameter.is_complex(), name, "a complex parameter", "real ones", way_out)
    found, need = "a parameter with a hook on its gradient", "the gradient of the loss"
    way_out = "let the module do what the hook does, e.g. multiply the parameter by a mask"
    require(not parameter._backward_hooks, name, found, need, way_out)


def refuse_running_statistics(module: nn.Module) -> None:
    """Refuse a module, as it is trained, that counts up statistics of its inputs."""
    for name, part in module.named_modules():
        require(
            not (part.training and getattr(part, "track_running_stats", False)),
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
