"""A probe that measures the gradient noise of a training run, and leaves the run as it was."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.errors import require, whole
from gossamer.random_state import seeded
from gossamer.tails._diagnose import Diagnosis, diagnose
from gossamer.tails.samples import Array, as_array


@dataclass(frozen=True)
class NoiseRecord:
    """The noise samples of one step, and the seconds that measuring them took.

    A sample is the difference of two gradients at the same parameters. `norms`, `(samples,)`, are
    the norms over all parameters, and `vectors`, `(samples, coordinates)`, the values at the chosen
    coordinates.
    """

    step: int
    norms: Array
    vectors: Array
    seconds: float


class NoiseProbe:
    r"""Collects the gradient noise of a model in training, at a few steps.

    A noise sample is the difference \(g(x, ξ) - g(x, ξ')\) of the gradients of two batches at the
    same parameters. The probe keeps the norm of the whole difference, and its values at some
    randomly chosen coordinates (`coordinates` says how many, at most). The full gradient cancels,
    so it need not be known. Every sample has two batches of its own, so samples are as independent
    as the batches are. (Differences from a mean gradient would all share the error of that mean.)
    The law of the difference is symmetric. It has the same tail index α as the noise, and its large
    values are 2^(1/α) times as large.

    Call the probe once per training step. In most calls it does nothing. With P = `every` and
    S = `samples`, it measures S samples in every P-th call. By default P = 50 S, so that the probe
    computes one gradient for every 25 training steps. A training step takes longer than a gradient,
    so the probe takes less than 5 % of the time, including its own bookkeeping. To measure at steps
    of your choice, call `measure`.

    The probe does not change the training run by a single bit: it restores buffers such as
    BatchNorm's, the train/eval mode and the random state of torch, numpy and Python, and does not
    touch `.grad`. Its own randomness comes from `seed`. Give it a loader of its own, over the
    batches that the training sees. The probe iterates over it again and again, so it should
    shuffle; otherwise the same batches, and so the same samples, come again. A loader with
    `persistent_workers=True` is refused.

    >>> model, data = nn.Linear(3, 1), torch.randn(64, 3)
    >>> batches = [(x, x.sum(dim=1, keepdim=True)) for x in data.split(4)]
    >>> def loss(model, batch):
    ...     return nn.functional.mse_loss(model(batch[0]), batch[1])
    >>> probe = NoiseProbe(model, loss, batches, samples=8)
    >>> probe.every
    400
    >>> for step in range(800):
    ...     probe(step)     # after your own forward, backward and optimizer.step()
    >>> [record.step for record in probe.records], probe.records[0].norms.shape
    ([399, 799], (8,))
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[nn.Module, Any], Tensor],
        loader: Iterable[Any],
        *,
        samples: int = 32,
        every: int | None = None,
        coordinates: int = 64,
        seed: int = 0,
    ) -> None:
        _require_loader(loader)
        for name, count in (("samples", samples), ("every", every)):
            whole(name, 1 if count is None else count, 1)
        whole("coordinates", coordinates, 0)
        self.model, self.loss, self.loader = model, loss, loader
        self.samples, self.seed = samples, seed
        self.every = every if every is not None else 2 * samples * 25
        self.records: list[NoiseRecord] = []
        self._batches = _endless(loader)
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        require(bool(self._parameters), "model", "none that require grad", "parameters to train")
        self._chosen = _choose(sum(p.numel() for p in self._parameters), coordinates, seed)

    @property
    def cost(self) -> float:
        """How many gradients the probe computes per training step (0.04 by default)."""
        return 2 * self.samples / self.every

    def __call__(self, step: int) -> None:
        """Measure if `step` (counted from 0) ends a period of `every` steps."""
        if (step + 1) % self.every == 0:
            self.measure(step)

    def measure(self, step: int) -> NoiseRecord:
        """Measure the noise now, and add a record with this step to `records`."""
        start = time.perf_counter()
        with undisturbed(self.model, self.loader, self.seed + len(self.records)):
            norms = np.empty(self.samples)
            vectors = np.empty((self.samples, self._chosen.numel()))
            for row in range(self.samples):
                one, other = (self._gradient(next(self._batches)) for _ in range(2))
                noise = one.sub_(other)
                norms[row] = torch.linalg.vector_norm(noise).item()
                vectors[row] = noise[self._chosen].cpu().numpy()
        record = NoiseRecord(step, norms, vectors, time.perf_counter() - start)
        self.records.append(record)
        return record

    def pooled(self) -> tuple[Array, Array]:
        """Vectors and norms of all records, each record divided by its median norm.

        The size of the noise changes during training. Without this division, the change alone
        would look like a heavy tail.
        """
        require(bool(self.records), "records", 0, "at least one", "call measure(step) first")
        scales = [float(np.median(as_array(record.norms))) for record in self.records]
        quiet = "is one batch all the data?"
        require(min(scales) > 0, "noise", "zero", "gradients that differ by batch", quiet)
        vectors = [r.vectors / scale for r, scale in zip(self.records, scales, strict=True)]
        norms = [r.norms / scale for r, scale in zip(self.records, scales, strict=True)]
        return np.concatenate(vectors), np.concatenate(norms)

    def diagnose(self) -> Diagnosis:
        """The diagnosis of everything collected so far.

        If all stored coordinates are 0, as can happen in an embedding of rare words, only the norms
        are used.
        """
        vectors, norms = self.pooled()
        return diagnose(vectors, norms=norms) if vectors.any() else diagnose(norms)

    def _gradient(self, batch: Any) -> Tensor:
        """The gradient of one batch as a flat vector, at least float32; `.grad` is not touched."""
        loss = self.loss(self.model, batch)
        grads = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        pairs = zip(grads, self._parameters, strict=True)
        flat = torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in pairs])
        return flat.to(torch.promote_types(flat.dtype, torch.float32))


@contextmanager
def undisturbed(model: nn.Module, loader: Iterable[Any], seed: int) -> Iterator[None]:
    """Run a block that may use model, loader and any randomness, then restore them all.

    Kept: buffers, the mode of every module, the random state of python, numpy, torch (CPU and
    CUDA) and of the loader's own generators. Inside, the first three start from `seed`.
    """
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    generators = [(g, g.get_state()) for g in _generators(loader)]
    try:
        with seeded(seed, _used_gpus()), torch.enable_grad():
            yield
    finally:
        for generator, state in generators:
            generator.set_state(state)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for module, training in modes:
            module.training = training


def _used_gpus() -> list[torch.device]:
    """All, as soon as one of them is used."""
    count = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
    return [torch.device("cuda", number) for number in range(count)]


def _require_loader(loader: Iterable[Any]) -> None:
    again = "pass a list of batches or a DataLoader"
    require(not isinstance(loader, Iterator), "loader", loader, "one to iterate again", again)
    require(
        not getattr(loader, "persistent_workers", False),
        "loader",
        "persistent_workers=True",
        "a loader whose iterators are independent",
        "build a second DataLoader for the probe, with persistent_workers=False",
    )


def _endless(loader: Iterable[Any]) -> Iterator[Any]:
    """The loader's batches, again and again."""
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        require(not empty, "loader", "no batches", "at least one")


def _generators(loader: Iterable[Any]) -> list[torch.Generator]:
    """The generators a DataLoader draws its order from, if it has its own."""
    batches = getattr(loader, "batch_sampler", None)
    samplers = (getattr(loader, "sampler", None), getattr(batches, "sampler", None))
    owners = (loader, batches, *samplers)
    found = [getattr(owner, "generator", None) for owner in owners]
    return [generator for generator in found if isinstance(generator, torch.Generator)]


def _choose(size: int, count: int, seed: int) -> Tensor:
    """About `count` different coordinates of `size`, in order (all of them when there are few)."""
    if count >= size:
        return torch.arange(size)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(size, (count,), generator=generator).unique()
