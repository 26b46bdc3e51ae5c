"""A probe that measures the gradient noise of a training run, and leaves the run as it was."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.errors import require, whole
from gossamer.tails._diagnose import Diagnosis, diagnose
from gossamer.tails.samples import Array, as_array


@dataclass(frozen=True)
class NoiseRecord:
    """The noise at one step: norms (samples,), vectors (samples, coordinates), cost in seconds.

    Noise is the difference of two gradients at the same point.
    """

    step: int
    norms: Array
    vectors: Array
    seconds: float


class NoiseProbe:
    r"""Collects the gradient noise of a model in training, at a few steps.

    At a probed step the model stands still, and a noise sample is the difference
    \(g(x, ξ) - g(x, ξ')\) of the gradients of two batches: of it the norm over all parameters is
    kept, and its values at `coordinates` random ones. The full gradient cancels without being
    known. Every sample has two batches of its own, so samples are as independent as batches are;
    noise around a mean of other gradients would share the error of that mean. A difference is
    symmetric and has the tail index of the noise, and \(2^{1/α}\) times its size.

    Call the probe once per training step. It measures `samples` differences every `every` steps,
    by default so that it computes one gradient for 25 of the training, 50 · `samples`. A training
    step is a gradient and more, so the probe stays below 5 % of the time, its own bookkeeping
    included. `measure` measures now, at steps you choose.

    The training run is left bit for bit as it was: `.grad`, buffers such as BatchNorm's, the
    train/eval mode, and the random state of torch, numpy and python are restored, and the
    probe's own randomness comes from `seed`. Give it a loader of its own that can be iterated
    again and again, over the batches the training sees; one whose workers persist is refused.
    Let it shuffle: a list of batches repeats itself after its end, and so would the samples.

    >>> model, data = nn.Linear(3, 1), torch.randn(64, 3)
    >>> batches = [(x, x.sum(dim=1, keepdim=True)) for x in data.split(4)]
    >>> def loss(model, batch):
    ...     return nn.functional.mse_loss(model(batch[0]), batch[1])
    >>> probe = NoiseProbe(model, loss, batches, samples=8)
    >>> probe.every
    400
    >>> for step in range(800):
    ...     probe(step)     # beside your own forward, backward and optimizer.step()
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
        """Gradients of the probe for each gradient of the training: 0.04 by default."""
        return 2 * self.samples / self.every

    def __call__(self, step: int) -> None:
        """Measure if `step` (counted from 0) ends a period of `every` steps."""
        if (step + 1) % self.every == 0:
            self.measure(step)

    def measure(self, step: int) -> NoiseRecord:
        """Measure the noise now, whatever the step."""
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

        The noise shrinks and grows along a run. Pooled as it is, that alone would look like a
        heavy tail; rescaled, only the shape is left.
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

        Of the norms alone where all the coordinates kept are 0, as in an embedding of rare words.
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
    python, numpy = random.getstate(), np.random.get_state()
    cuda = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=cuda), torch.enable_grad():
            random.seed(seed)
            np.random.seed(seed % 2**32)
            torch.default_generator.manual_seed(seed)
            if cuda:
                torch.cuda.manual_seed_all(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        for generator, state in generators:
            generator.set_state(state)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for module, training in modes:
            module.training = training


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
