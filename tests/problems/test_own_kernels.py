from collections.abc import Callable

import pytest
import torch
from problems.modules import cuda, flag
from torch import Tensor, nn
from torch.nn import functional

from gossamer.captured import AS_WRITTEN
from gossamer.problems import own_kernels
from gossamer.problems.by_kernels import Kernels, by_kernels
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.own_kernels import OwnKernels
from gossamer.problems.vector_module import exact_convolutions

TENSORS = {
    "input": (2, 4, 5, 6), "filter": (8, 4, 3, 3), "wide": (17, 4, 3, 3), "pointwise": (8, 4, 1, 1),
    "halved": (8, 2, 3, 3), "weight": (4,), "bias": (4,), "sample": (4, 5, 6),
    "large": (1, 4, 72, 72),
}  # fmt: skip
LAYERS: dict[str, tuple[Callable[..., Tensor], list[str], dict, bool]] = {
    "convolution": (functional.conv2d, ["input", "filter"], {"padding": 1}, True),
    "pairs": (functional.conv2d, ["input", "filter"], {"padding": (1, 1), "stride": [1]}, True),
    "no border": (functional.conv2d, ["input", "filter"], {}, False),
    "a named border": (functional.conv2d, ["input", "filter"], {"padding": "same"}, False),
    "stride": (functional.conv2d, ["input", "filter"], {"padding": 1, "stride": (1, 2)}, False),
    "dilation": (functional.conv2d, ["input", "filter"], {"padding": 1, "dilation": 2}, False),
    "groups": (functional.conv2d, ["input", "halved"], {"padding": 1, "groups": 2}, False),
    "1 x 1": (functional.conv2d, ["input", "pointwise"], {"padding": 1}, False),
    "many channels": (functional.conv2d, ["input", "wide"], {"padding": 1}, False),
    "no batch": (functional.conv2d, ["sample", "filter"], {"padding": 1}, False),
    "norm": (functional.group_norm, ["input", "weight", "bias"], {"num_groups": 2}, True),
    "norm alone": (functional.group_norm, ["input"], {"num_groups": 2}, False),
    "large groups": (functional.group_norm, ["large", "weight", "bias"], {"num_groups": 1}, False),
}


def made(names: list[str], device: str = "cpu") -> dict[str, Tensor]:
    """Tensors by the names of a layer's arguments."""
    generator = torch.Generator().manual_seed(0)
    arguments = ["input", "weight", "bias"]
    drawn = [torch.randn(TENSORS[name], generator=generator).to(device) for name in names]
    return dict(zip(arguments, drawn, strict=False))


@pytest.mark.parametrize(("layer", "names", "options", "fits"), LAYERS.values(), ids=LAYERS)
def test_kernels_are_used_where_they_fit(layer, names, options, fits, monkeypatch):
    """The kernels are torch's functions here, so that no GPU is needed."""
    used = []

    def by_torch(kernels: Kernels, *tensors: Tensor) -> Tensor:
        used.append(kernels)
        return kernels.by_torch(*tensors)

    tensors = made(names)
    with OwnKernels():
        untouched = layer(**tensors, **options)
        monkeypatch.setattr(own_kernels, "by_kernels", by_torch)
        monkeypatch.setattr(own_kernels, "_are_known", lambda *tensors: True)
        found = layer(**tensors, **options)
    assert torch.equal(untouched, layer(**tensors, **options))
    assert torch.equal(found, untouched)
    assert len(used) == fits


def test_kernels_are_for_float32_on_a_gpu_without_wrappers(monkeypatch):
    monkeypatch.setattr(own_kernels, "_compile_for", lambda device: True)
    x = torch.ones(3)
    known = [own_kernels._are_known(x, x), own_kernels._are_known(x, x.double())]
    torch.func.vmap(lambda z: known.append(own_kernels._are_known(z)) or z)(x)
    assert known == [True, False, False]


@pytest.mark.parametrize("frozen", [0, 1, None])
def test_derivatives_of_gradients_are_torchs(frozen: int | None):
    """A polynomial with exact gradients, which count how often they are asked for."""
    asked = []

    def grads(needed: tuple[bool, ...], grad: Tensor, x: Tensor, w: Tensor) -> list[Tensor | None]:
        asked.append(needed)
        both = (3 * w**2 * x**2 * grad, 2 * w * x**3 * grad)
        return [d if need else None for d, need in zip(both, needed, strict=True)]

    def polynomial(x: Tensor, w: Tensor) -> Tensor:
        return w**2 * x**3

    x, w = (torch.randn(4, dtype=torch.float64, requires_grad=k != frozen) for k in range(2))
    leaves = [leaf for leaf in (x, w) if leaf.requires_grad]
    kernels = Kernels(polynomial, polynomial, grads)
    found = torch.autograd.grad(by_kernels(kernels, x, w).sum(), leaves)
    torch.testing.assert_close(found, torch.autograd.grad(polynomial(x, w).sum(), leaves))
    assert asked == [(frozen != 0, frozen != 1)]
    twice = [
        second(lambda: by_kernels(kernels, x, w), leaves),
        second(lambda: polynomial(x, w), leaves),
    ]
    torch.testing.assert_close(*twice, rtol=1e-12, atol=1e-12)
    assert len(asked) == 1


def second(value: Callable[[], Tensor], leaves: list[Tensor]) -> tuple[Tensor, ...]:
    """The gradient of the squared norm of the gradient."""
    first = torch.autograd.grad(value().sum(), leaves, create_graph=True)
    return torch.autograd.grad(sum(d.square().sum() for d in first), leaves, allow_unused=True)


SIZES = {  # images, channels, outputs, height, width
    "the first layer of a ResNet": (32, 3, 16, 32, 32),
    "the next": (32, 16, 16, 32, 32),
    "small": (3, 1, 2, 4, 5),
    "odd": (5, 5, 7, 19, 33),
    "wide": (1, 4, 16, 9, 300),
}


def relative_errors(layer: Callable[..., Tensor], *tensors: Tensor) -> list[float]:
    """Of the value and of the gradients by kernels, against torch's in float64."""
    assert own_kernels._are_known(*tensors)
    towards = 1 + layer(*tensors).sin()  # so that no sum cancels

    def computed(*leaves: Tensor) -> list[Tensor]:
        leaves = tuple(leaf.detach().requires_grad_() for leaf in leaves)
        value = layer(*leaves)
        return [value.detach(), *torch.autograd.grad(value, leaves, towards.to(value.dtype))]

    with exact_convolutions(tensors[0].device), OwnKernels():
        found = computed(*tensors)
    exact = computed(*(tensor.double() for tensor in tensors))
    return [float((a - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)]


@cuda
@pytest.mark.parametrize(("count", "ins", "outs", "height", "width"), SIZES.values(), ids=SIZES)
def test_convolutions_are_as_exact_as_float32(count, ins, outs, height, width):
    torch.manual_seed(0)
    x, w = torch.randn(count, ins, height, width), torch.randn(outs, ins, 3, 3)
    tensors = [z.cuda() for z in (x.mT.contiguous().mT, w, torch.randn(outs))]
    layer = lambda x, w, b: functional.conv2d(x, w, b, padding=1)  # noqa: E731
    assert max(relative_errors(layer, *tensors)) < 1e-6


@cuda
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((32, 16, 32, 32), 8), ((3, 12, 5, 7), 4), ((4, 24), 2), ((2, 5, 3000), 1)],
)
def test_group_norms_are_as_exact_as_float32(shape: tuple[int, ...], groups: int):
    torch.manual_seed(0)
    tensors = [(torch.randn(size) + 1).cuda() for size in (shape, shape[1], shape[1])]
    layer = lambda x, w, b: functional.group_norm(x, groups, w, b)  # noqa: E731
    assert max(relative_errors(layer, *tensors)) < 1e-6


def residual_network() -> nn.Module:
    layers = nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(8, 16), nn.Tanh()
    more = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.Tanh()
    return nn.Sequential(*layers, *more, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))


@cuda
@pytest.mark.filterwarnings("ignore:Please use the new API settings")
@pytest.mark.parametrize(("tf32", "bound"), [(False, 2e-6), (True, 1e-2)])
def test_a_captured_model_has_the_gradients_of_the_loop(tf32: bool, bound: float):
    torch.manual_seed(0)
    data = [(torch.randn(8, 3, 9, 9), torch.randint(4, (8,))) for _ in range(3)]
    module = residual_network()
    problem = ModuleProblem(module, functional.cross_entropy, data, batch_size=4, vectorize=False)
    x = problem.start.expand(3, 1, -1).contiguous()
    exact = problem.to("cpu", torch.float64).sample_grad(x.double(), 0, [0])
    moved = problem.to("cuda", torch.float32)
    with flag(torch.backends.cuda.matmul, "allow_tf32", tf32):
        for _ in range(AS_WRITTEN + 2):
            found = moved.sample_grad(x.cuda(), 0, [0])
            error = float((found.cpu() - exact).norm() / exact.norm())
            assert error < bound
    assert (error > 2e-6) == tf32
    assert moved.way == "loop in a CUDA graph"
