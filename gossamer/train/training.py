"""The training itself, as one process runs it."""

import math
import os
from collections.abc import Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from gossamer.data import BatchOrder
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, join
from gossamer.distributed.launch import is_late
from gossamer.distributed.rendezvous import place_in_world
from gossamer.errors import InvalidInput, require
from gossamer.files import writable
from gossamer.progress import progress, tell
from gossamer.simulation.words import show_bytes, show_hyperparameters
from gossamer.train.config import (
    TrainConfig,
    config_of,
    make_algorithm,
    network_for,
    require_sound,
    word_for,
)
from gossamer.train.data import CONTEXT, Data, load_data
from gossamer.train.log import LOG, append


def train(**options: Any) -> dict[str, float]:
    """`run` with the options of `TrainConfig`; other names are the algorithm's hyper-parameters.

    >>> result = train(data="blobs", steps=20, lr=0.1, momentum=0.8)
        step       loss  validation  consensus       sent
          20  ...
    >>> result["step"], result["validation_loss"] < 1.0
    (20, True)
    """
    return run(config_of(**options))


def run(config: TrainConfig) -> dict[str, float]:
    """Train as this process's rank; returns the last numbers reported, the same on all ranks.

    The batch of step t is the one that a simulation of the same seed gives this node.
    """
    require_sound(config)
    if config.tensorboard is not None and os.environ.get("RANK", "0") == "0":
        _require_tensorboard(Path(config.tensorboard))  # before others wait for this rank
    rank = join(config.timeout)
    data = load_data(config, rank, processes())
    model = make_model(config, data)
    optimizer = make_optimizer(config, model)
    order = BatchOrder(len(data.shard), config.batch_size, config.seed, rank)
    same = SameRun(config, optimizer)
    checkpoints = config.checkpoints and Checkpoints(config.checkpoints, optimizer, model, run=same)
    start = checkpoints.resume() if checkpoints else 0
    taken = f"at least {start}, the steps that the run in {config.checkpoints} has taken"
    require(config.steps >= start, "steps", config.steps, taken, "ask for more, or another folder")
    if start and rank == 0:
        print(f"Resumed at step {start} of {config.steps}.", flush=True)
    report = Report(config, optimizer, model, data)
    with progress("train", config.steps, show=None if rank == 0 else False) as advance:
        advance(start)
        loss = torch.tensor(torch.nan)
        while optimizer.steps < config.steps:
            stop = _next_stop(config, optimizer.steps)
            with nullcontext() if optimizer.wait else optimizer.until_all_end():
                while optimizer.steps < stop and not optimizer.someone_has_ended:
                    optimizer.zero_grad()
                    loss = loss_of(model, *data.shard[order.at(optimizer.steps)])
                    loss.backward()
                    optimizer.step()
                    advance(1)
                advance(stop - optimizer.steps)
            last = optimizer.steps == config.steps
            if checkpoints and (last or optimizer.steps % config.save_every == 0):
                checkpoints.save()
            if last or optimizer.steps % config.log_every == 0:
                report.write(float(loss.detach()))
    if not report.last:  # resumed at the end
        report.repeat()
    return report.last


def processes() -> int:
    """How many take part."""
    if is_late():
        return place_in_world()[1]  # they begin when all are there
    return dist.get_world_size() if dist.is_initialized() else 1


def _next_stop(config: TrainConfig, step: int) -> int:
    """The next step after which something is saved or reported."""
    every = [config.log_every, *([config.save_every] if config.checkpoints else [])]
    return min(config.steps, *(step - step % k + k for k in every))


class SameRun:
    """What a resumed run must share with the one that was saved, as an extra of its checkpoints."""

    def __init__(self, config: TrainConfig, optimizer: DecentralizedOptimizer) -> None:
        names = ["model", "batch_size", "seed"]
        names += ["data"] if config.model != "gpt" else []  # a file may move
        self._config, self._optimizer = config, optimizer
        messages = str(word_for("message_dtype", config.message_dtype))
        asked = {name: getattr(config, name) for name in names}
        self._asked = asked | {"message_dtype": messages}

    def state_dict(self) -> dict[str, Any]:
        """What was asked for, and the network of those who are left."""
        return {**self._asked, "network": self._optimizer.network.name}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Refuse what another run was asked for."""
        now = self.state_dict()
        other = [name for name, value in now.items() if saved.get(name) != value]
        found = ", ".join(f"{name} {saved.get(name)}" for name in other)
        need = f"one with {', '.join(f'{name} {now[name]}' for name in other)}"
        way_out = "use those, or another folder"
        folder = self._config.checkpoints
        require(not other, "checkpoints", f"{folder}, a run with {found}", need, way_out)
        _require_same_method(self._config, self._optimizer)


class Report:
    """The numbers of a run, on rank 0's terminal, in its log and in TensorBoard."""

    def __init__(
        self, config: TrainConfig, optimizer: DecentralizedOptimizer, model: nn.Module, data: Data
    ) -> None:
        self._optimizer, self._model, self._data = optimizer, model, data
        first = optimizer.rank == 0
        self._writer = _tensorboard(config.tensorboard) if first else None
        self._log = Path(config.checkpoints) / LOG if first and config.checkpoints else None
        self.last: dict[str, float] = {}
        if self._log is not None:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            append(self._log, {"run": _facts(config, optimizer)})

    def write(self, loss: float) -> None:
        """Evaluate the average model and report; a collective."""
        self._print(loss, f"{loss:.4g}")
        if self._optimizer.rank == 0:
            tell(f"loss {loss:.3g}")
        if self._log is not None:
            append(self._log, self.last)
        if self._writer is not None:
            for name, value in self.last.items():
                self._writer.add_scalar(name, value, self._optimizer.steps)
            self._writer.flush()

    def repeat(self) -> None:
        """Print the numbers of a run that had ended, which its log has already; a collective."""
        self._print(math.nan, "–")

    def _print(self, loss: float, shown: str) -> None:
        optimizer = self._optimizer
        with torch.no_grad(), optimizer.averaged_parameters():
            validation = float(loss_of(self._model, *self._data.held_out))
        first = not self.last
        self.last = {
            "step": optimizer.steps,
            "loss": loss,
            "validation_loss": validation,
            "consensus_error": optimizer.consensus_error(),
            "megabytes_sent": optimizer.bytes_sent / 1e6,
        }
        if optimizer.rank == 0:
            print(*([HEAD] if first else []), _row(self.last, shown), sep="\n", flush=True)


HEAD = "    step       loss  validation  consensus       sent"


def _row(numbers: Mapping[str, float], loss: str) -> str:
    """What was reported, below its head."""
    step, _, validation, consensus, sent = numbers.values()
    told = f"{step:8,}  {loss:>9}  {validation:10.4g}  {consensus:9.3g}"
    return f"{told}  {show_bytes(sent * 1e6):>9}"


def _facts(config: TrainConfig, optimizer: DecentralizedOptimizer) -> dict[str, Any]:
    """What is trained, and how, for the log."""
    named = {name: getattr(config, name) for name in ("model", "data", "steps", "batch_size")}
    return {
        "algorithm": type(optimizer.algorithm).label,
        "hyperparameters": show_hyperparameters(optimizer.algorithm.hyperparameters),
        "network": optimizer.network.name,
        **named,
    }


def _require_same_method(config: TrainConfig, optimizer: DecentralizedOptimizer) -> None:
    """A checkpoint brings its hyper-parameters along, which must not silently replace others."""
    last_step = max(0, optimizer.steps - 1)
    asked = optimizer.algorithm.at(last_step).arguments
    held = {name: optimizer.param_groups[0][name] for name in asked}
    found, way_out = f"{config.checkpoints}, a run with {held}", "use those, or another folder"
    same = all(_alike(held[name], value) for name, value in asked.items())
    require(same, "checkpoints", found, f"one with {asked}", way_out)


def _alike(held: Any, asked: Any) -> bool:
    """Equal, but for the rounding of a schedule on another machine."""
    numbers = isinstance(held, float) and isinstance(asked, float)
    return math.isclose(held, asked, rel_tol=1e-9) if numbers else bool(held == asked)


def make_optimizer(config: TrainConfig, model: nn.Module) -> DecentralizedOptimizer:
    """The optimizer of a configuration; names that do not exist are answered with those that do."""
    return DecentralizedOptimizer(
        model.named_parameters(),
        make_algorithm(config),
        network_for(config.network, processes()),
        seed=config.seed,
        message_dtype=config.message_dtype,
        timeout=config.timeout,
        overlap=config.overlap,
        wait=config.wait,
        on_peer_failure=config.on_peer_failure,
        min_nodes=config.min_nodes,
    )


def make_model(config: TrainConfig, data: Data) -> nn.Module:
    """A small MLP on flat inputs, or the GPT on tokens; on this rank's GPU if there is one."""
    torch.manual_seed(config.seed)
    model: nn.Module
    if config.model == "gpt":
        from gossamer.models import GPT

        model = GPT(data.classes, CONTEXT, seed=config.seed)
    else:
        width = data.held_out[0].shape[-1]
        model = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, data.classes))
    return model.to(data.held_out[0].device)


def loss_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over samples, and over positions where a sample has several."""
    return functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())


def _require_tensorboard(folder: Path) -> None:
    if find_spec("tensorboard") is None:
        raise InvalidInput("tensorboard: not installed; pip install tensorboard")
    writable(folder, "tensorboard", "choose another folder")


def _tensorboard(folder: str | None) -> Any:
    if folder is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder)
