import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from gossamer.errors import InvalidInput
from gossamer.noise import StudentT
from gossamer.tails import NoiseProbe, hill

Batch = tuple[Tensor, Tensor]


def data(size: int = 100, dim: int = 5, seed: int = 0) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    return TensorDataset(*torch.randn(2, size, dim, generator=generator).double().unbind())


def squared_error(model: nn.Module, batch: Batch) -> Tensor:
    return nn.functional.mse_loss(model(batch[0]), batch[1])


def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(5, 5, dtype=torch.float64)


def test_a_sample_is_the_difference_of_two_batches_of_its_own():
    model, batches = linear(), list(DataLoader(data(), batch_size=10))
    probe = NoiseProbe(model, squared_error, batches, samples=3, coordinates=99)

    def gradient(batch: Batch) -> Tensor:
        loss = squared_error(model, batch)
        return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, model.parameters())])

    for start in (0, 6):  # the second record goes on where the first stopped, and wraps around
        turn = [gradient(batches[(start + i) % 10]) for i in range(6)]
        expected = torch.stack([turn[i] - turn[i + 1] for i in (0, 2, 4)])
        record = probe.measure(0)
        np.testing.assert_allclose(record.vectors, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(record.norms, expected.norm(dim=1), rtol=0, atol=1e-12)


class Draws:
    """Batches of one Gaussian vector each, without end."""

    def __init__(self, dim: int) -> None:
        self.dim, self.draws = dim, torch.Generator().manual_seed(0)

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield torch.randn(1, self.dim, generator=self.draws, dtype=torch.float64)


def test_gaussian_noise_is_gaussian_to_every_estimator():
    # around a mean of 32 gradients, shared by the samples of a record, log-moment answered 1.77
    model = nn.ParameterList([torch.zeros(64, dtype=torch.float64)])
    probe = NoiseProbe(model, lambda m, x: (m[0] * x).sum(), Draws(64))
    for step in range(32):
        probe.measure(step)
    diagnosis = probe.diagnose()
    assert diagnosis.log_moment.tail_index == pytest.approx(2, abs=4 * 0.01)
    assert diagnosis.stable_index > 1.95
    assert min(diagnosis.interval) > 2


class Awkward(nn.Module):
    """Everything a probe could disturb: BatchNorm, dropout, an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5, dtype=torch.float64)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(5, 5, dtype=torch.float64)
        self.unused = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.drop(self.norm(x)))


def rude_loss(model: nn.Module, batch: Batch) -> Tensor:
    """A loss that draws from every generator and leaves the model in another mode."""
    shift = random.random() + np.random.rand() + torch.rand(()).item()
    loss = squared_error(model, batch) + shift * model(batch[0]).mean()
    model.eval()
    return loss


def train(probe_of: Callable[[nn.Module, DataLoader[Any]], NoiseProbe] | None) -> dict[str, Any]:
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    model, order = Awkward(), torch.Generator().manual_seed(5)
    loader = DataLoader(data(), batch_size=10, shuffle=True, generator=order)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    probe = probe_of(model, loader) if probe_of else None
    for epoch in range(3):
        for step, batch in enumerate(loader):
            optimizer.zero_grad()
            squared_error(model, batch).backward()
            if probe:
                probe(10 * epoch + step)
            optimizer.step()
    rng = {"python": random.random(), "numpy": np.random.rand(), "torch": torch.rand(())}
    grads = {name: p.grad for name, p in model.named_parameters()}
    modes = {name: module.training for name, module in model.named_modules()}
    return {"state": model.state_dict(), "grads": grads, "modes": modes, "rng": rng}


def test_training_is_left_bit_for_bit_as_it_was():
    probes = []

    def rude_probe(model: nn.Module, loader: DataLoader[Any]) -> NoiseProbe:
        probes.append(NoiseProbe(model, rude_loss, loader, samples=4, every=2))
        return probes[0]

    torch.testing.assert_close(train(rude_probe), train(None), rtol=0, atol=0)
    assert len(probes[0].records) == 15


def test_what_it_measures_depends_on_its_seed_only():
    def measured(seed: int, around: int) -> np.ndarray:
        torch.manual_seed(0)
        model = Awkward()
        loader = DataLoader(data(), batch_size=10, shuffle=True)
        torch.manual_seed(around), np.random.seed(around), random.seed(around)
        return NoiseProbe(model, rude_loss, loader, samples=5, seed=seed).measure(0).norms

    np.testing.assert_array_equal(measured(seed=3, around=1), measured(seed=3, around=2))
    assert (measured(seed=4, around=1) != measured(seed=3, around=1)).all()


def test_the_generator_of_a_batch_sampler_is_restored():
    order = torch.Generator().manual_seed(5)
    batches = BatchSampler(RandomSampler(data(), generator=order), batch_size=10, drop_last=False)
    loader = DataLoader(data(), batch_sampler=batches)
    before = order.get_state()
    NoiseProbe(linear(), squared_error, loader, samples=2).measure(0)
    assert torch.equal(order.get_state(), before)


def test_default_cost_is_four_percent_of_the_gradients_at_any_time():
    calls = 0

    def counted(model: nn.Module, batch: Batch) -> Tensor:
        nonlocal calls
        calls += 1
        return squared_error(model, batch)

    batches = list(DataLoader(data(), batch_size=10))
    probe = NoiseProbe(linear(), counted, batches, samples=5)
    assert probe.cost == pytest.approx(0.04)
    for step in range(1000):
        probe(step)
        assert calls <= 0.04 * (step + 1)
    assert calls == 40


def test_noise_of_a_known_law_is_found():
    # loss(w, ξ) = ⟨w, ξ⟩ has gradient ξ: the noise is the data itself, t(1.5)
    noise = StudentT(1.5).sample((5000, 4), generator=torch.Generator().manual_seed(0))
    model = nn.ParameterList([torch.zeros(4, dtype=torch.float64)])
    loader = list(noise.split(1))
    probe = NoiseProbe(model, lambda m, x: (m[0] * x).sum(), loader, samples=2500)
    probe.measure(step=0)
    diagnosis = probe.diagnose()
    assert diagnosis.suggested_p < 1.5
    assert diagnosis.hill["5 %"].tail_index == pytest.approx(1.5, abs=4 * 1.5 / 125**0.5)


def test_a_noise_that_shrinks_does_not_look_heavy():
    model = nn.ParameterList([torch.zeros(4, dtype=torch.float64)])
    scale = [1.0]
    batches = list(torch.randn(2000, 1, 4, generator=torch.Generator().manual_seed(0)).double())
    probe = NoiseProbe(model, lambda m, x: scale[0] * (m[0] * x).sum(), batches, samples=500)
    for step in range(4):
        probe.measure(step)
        scale[0] /= 10
    as_they_are = np.concatenate([record.norms for record in probe.records])
    assert hill(as_they_are, 1000).tail_index < 1
    assert hill(probe.pooled()[1], 1000).tail_index > 2


def test_keeps_few_coordinates_and_all_norms():
    model = nn.Linear(50, 50)
    batches = [torch.randn(2, 8, 50) for _ in range(4)]
    probe = NoiseProbe(model, squared_error, batches, samples=3, coordinates=64)
    record = probe.measure(7)
    assert record.step == 7
    assert record.norms.shape == (3,)
    assert 60 <= record.vectors.shape[1] <= 64
    assert (np.linalg.norm(record.vectors, axis=1) < record.norms).all()
    assert record.seconds > 0


def test_low_precision_gradients_are_subtracted_in_float32():
    model = nn.Linear(5, 5, dtype=torch.bfloat16)
    batches = [torch.randn(2, 8, 5, dtype=torch.bfloat16) for _ in range(4)]
    probe = NoiseProbe(model, squared_error, batches, samples=2)
    assert probe._gradient(batches[0]).dtype == torch.float32
    assert np.isfinite(probe.measure(0).norms).all()


def test_dictionaries_are_batches():
    batches = [{"x": x, "y": x} for x in torch.randn(6, 3, 5).double()]
    probe = NoiseProbe(
        linear(), lambda m, b: squared_error(m, (b["x"], b["y"])), batches, samples=2
    )
    assert probe.measure(0).norms.shape == (2,)


def test_refusals():
    loader = DataLoader(data(), batch_size=10)
    with pytest.raises(InvalidInput, match="one to iterate again"):
        NoiseProbe(linear(), squared_error, iter(loader))
    persistent = DataLoader(data(), num_workers=1, persistent_workers=True)
    with pytest.raises(InvalidInput, match="persistent_workers=False"):
        NoiseProbe(linear(), squared_error, persistent)
    for argument in ("samples", "every"):
        with pytest.raises(InvalidInput, match=f"{argument}: got 0"):
            NoiseProbe(linear(), squared_error, loader, **{argument: 0})
    with pytest.raises(InvalidInput, match="no batches"):
        NoiseProbe(linear(), squared_error, []).measure(0)
    with pytest.raises(InvalidInput, match="call measure"):
        NoiseProbe(linear(), squared_error, loader).diagnose()


def test_noise_of_one_batch_that_is_all_the_data_is_zero():
    probe = NoiseProbe(linear(), squared_error, [data()[:]], samples=3)
    assert probe.measure(0).norms.tolist() == [0, 0, 0]
    with pytest.raises(InvalidInput, match="one batch all the data"):
        probe.pooled()


def test_coordinates_that_are_all_zero_leave_the_norms():
    words = nn.Embedding(10_000, 8)
    batches = list(torch.randint(20, (300, 4), generator=torch.Generator().manual_seed(0)))
    probe = NoiseProbe(words, lambda m, b: m(b).square().sum(), batches, samples=200)
    probe.measure(0)
    diagnosis = probe.diagnose()
    assert not probe.records[0].vectors.any()
    assert (diagnosis.num_samples, diagnosis.dim) == (200, None)


def test_a_gradient_that_is_not_finite_is_named():
    batches = [*data()[:][0].split(10), torch.full((1, 5), torch.nan).double()]
    probe = NoiseProbe(linear(), lambda m, b: m(b).square().sum(), batches, samples=6)
    probe.measure(0)
    with pytest.raises(InvalidInput, match="1 non-finite value of 6"):
        probe.diagnose()


def test_a_model_without_parameters_to_train_is_refused():
    with pytest.raises(InvalidInput, match="parameters to train"):
        NoiseProbe(linear().requires_grad_(False), squared_error, [data()[:]])


@pytest.mark.parametrize(("argument", "value"), [("samples", 2.5), ("coordinates", -1)])
def test_counts_are_whole(argument: str, value: float):
    with pytest.raises(InvalidInput, match=f"{argument}: got {value}, need an integer"):
        NoiseProbe(linear(), squared_error, [data()[:]], **{argument: value})
