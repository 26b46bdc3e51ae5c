"""Two nodes of two processes each, with torch's own sharding inside, are the simulator's two."""

import dataclasses
import math
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from algorithms.asking import Dithered
from processes import Dead, Failed, Processes, on_ranks
from safetensors.torch import load_file
from test_equals_simulator import HYPERPARAMETERS, backward, flat, make_model, minibatch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh

from gossamer.algorithms import ALGORITHMS, DSGD, GTNSGDm, Local
from gossamer.algorithms.local import STREAM
from gossamer.distributed import (
    Checkpoints,
    DecentralizedOptimizer,
    Diverged,
    PeerFailure,
    export,
    read_nodes,
)
from gossamer.distributed.inside import Crew
from gossamer.distributed.inside.part import Part
from gossamer.errors import InvalidInput
from gossamer.networks import ring
from gossamer.networks.chance import Coins

NODES, PROCESSES, STEPS = 2, 2, 3
METHOD = GTNSGDm(lr=0.1, momentum=0.8)


def on_mesh() -> Any:
    return init_device_mesh("cpu", (NODES, PROCESSES), mesh_dim_names=("node", "shard"))


def fsdp(mesh: Any, model: nn.Module | None = None) -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    model = model or make_model()
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh["shard"])
    return fully_shard(model, mesh=mesh["shard"])


def ddp(mesh: Any, model: nn.Module | None = None) -> nn.Module:
    group = mesh.get_group("shard")
    return nn.parallel.DistributedDataParallel(model or make_model(), process_group=group)


MODELS = {"fsdp": fsdp, "ddp": ddp}


def whole(p: Tensor) -> Tensor:
    return p.full_tensor() if hasattr(p, "full_tensor") else p


def vector(model: nn.Module) -> Tensor:
    return flat(map(whole, model.parameters()))


def made(kind: str, mesh: Any, method: Any = METHOD) -> tuple[nn.Module, DecentralizedOptimizer]:
    model = MODELS[kind](mesh)
    return model, DecentralizedOptimizer(model.parameters(), method, ring, device_mesh=mesh)


# ---------------------------------------------------------------------- every method


METHODS = {name: kind(**HYPERPARAMETERS[name]) for name, kind in ALGORITHMS.items()}
OF_DDP = ("DSGD", "GTNSGDm", "GTNSTORM", "DSGDCClip", "DeMuon")
"""A step sees the same parts of vectors under both; these mix, track, ask, clip, see matrices."""

PAIRS = [("fsdp", name) for name in METHODS] + [("ddp", name) for name in OF_DDP]


def trained(rank: int) -> dict[tuple[str, str], Tensor]:
    """For every kind of model and method, the parameters of this process's node after all steps."""
    mesh, final = on_mesh(), {}
    for kind, name in PAIRS:
        model, optimizer = made(kind, mesh, METHODS[name])
        train(model, optimizer, rank)
        final[kind, name] = vector(model)
    for kind in MODELS:
        model = MODELS[kind](mesh)
        groups = [{"params": [p], "lr": lr} for p, lr in zip(model.parameters(), LRS, strict=True)]
        options = {"device_mesh": mesh, "overlap": True}
        train(model, DecentralizedOptimizer(groups, AHEAD, ring, **options), rank)
        final[kind, "groups"] = vector(model)
    return final


def train(model: nn.Module, optimizer: DecentralizedOptimizer, rank: int) -> None:
    for t in range(STEPS):
        optimizer.step(partial(backward, model, rank, t))


AHEAD = GTNSGDm(lr=0.1, momentum=0.8, order="combine-then-adapt")
LRS = [0.1, 0.2, 0.1, 0.05, 0.1, 0.3]
"""One for every parameter."""


def grouped() -> GTNSGDm:
    """The method with the step size of every coordinate."""
    sizes = [p.numel() for p in make_model().parameters()]
    lr = torch.tensor(LRS, dtype=torch.float64).repeat_interleave(torch.tensor(sizes))
    return dataclasses.replace(AHEAD, lr=lr)


def simulated(method: Any) -> Tensor:
    models = [make_model() for _ in range(NODES)]
    x = torch.stack([flat(model.parameters()) for model in models])
    state, shapes = method.init(x), [p.shape for p in models[0].parameters()]
    for t in range(STEPS):
        grad = partial(gradients, models, t)
        asked = (Local(t, grad, Coins.of(0, 0, STREAM), shapes),) if method.asks_local else ()
        x, state = method.step(t, x, grad(x), state, ring(NODES).mixer(), *asked)
    return x


def gradients(models: list[nn.Module], t: int, x: Tensor) -> Tensor:
    """Of each node, that of the batches of its two processes."""
    for node, model in enumerate(models):
        nn.utils.vector_to_parameters(x[node], model.parameters())
        ranks = range(PROCESSES * node, PROCESSES * (node + 1))
        inputs, labels = map(torch.cat, zip(*(minibatch(rank, t) for rank in ranks), strict=True))
        model.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
    return torch.stack([flat(p.grad for p in model.parameters()) for model in models])


def test_every_method_takes_the_steps_of_the_simulator():
    real = on_ranks(trained, deadline=180)
    methods = {**METHODS, "groups": grouped()}
    expected = {name: simulated(method) for name, method in methods.items()}
    for rank, final in enumerate(real):
        assert {name for _, name in final} == set(methods)
        for (kind, name), x in final.items():
            node, found = expected[name][rank // PROCESSES], f"{kind}, {name}, rank {rank}"
            torch.testing.assert_close(x, node, rtol=0, atol=1e-12, msg=found)


# ---------------------------------------------------------------------- all else, in one launch


def steps(model: nn.Module, optimizer: DecentralizedOptimizer, rank: int, number: int) -> None:
    for _ in range(number):
        backward(model, rank, optimizer.steps)
        optimizer.step()


def life(rank: int, folder: Path, kind: str, mesh: Any) -> dict[str, Any]:
    """A run that is measured, saved, resumed by another optimizer, and given a bad gradient."""
    model, optimizer = made(kind, mesh)
    steps(model, optimizer, rank, 3)
    told: dict[str, Any] = {"bytes": optimizer.bytes_sent, "x": vector(model)}
    told["error"] = optimizer.consensus_error()
    with optimizer.averaged_parameters():
        told["average"] = vector(model)
    own = model.module if kind == "ddp" else model
    Checkpoints(folder / kind, optimizer, own).save()
    told["said"] = optimizer.gather(lambda: rank)
    steps(model, optimizer, rank, 3)
    told["uninterrupted"] = vector(model)
    again, other = made(kind, mesh)
    told["resumed at"] = Checkpoints(
        folder / kind, other, again.module if kind == "ddp" else again
    ).resume()
    steps(again, other, rank, 3)
    told["resumed"] = vector(again)
    told["loaded"] = loaded(optimizer, kind, mesh, rank)
    steps(model, optimizer, rank, 1)
    told["one more"] = vector(model)
    told["frozen"] = frozen(rank, folder, kind, mesh)
    told["nonfinite"] = left_out(model, optimizer, rank)
    return told


def frozen(rank: int, folder: Path, kind: str, mesh: Any) -> bool:
    """Whether a parameter that is not mixed comes back from a checkpoint."""
    inner = make_model()
    inner[0].weight.requires_grad_(False)
    model = MODELS[kind](mesh, inner)
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring, device_mesh=mesh)
    steps(model, optimizer, rank, 1)
    checkpoints = Checkpoints(folder / f"{kind}-frozen", optimizer, inner)
    checkpoints.save()
    weight = inner[0].weight.detach()
    (weight.to_local() if hasattr(weight, "to_local") else weight).zero_()
    checkpoints.resume()
    return torch.equal(whole(weight), make_model()[0].weight)


def loaded(optimizer: DecentralizedOptimizer, kind: str, mesh: Any, rank: int) -> Tensor:
    """The parameters of one that has loaded the state, after one step more."""
    model, other = made(kind, mesh)
    other.restore(0, optimizer.x, {})
    other.load_state_dict(optimizer.state_dict())
    steps(model, other, rank, 1)
    return vector(model)


def left_out(model: nn.Module, optimizer: DecentralizedOptimizer, rank: int) -> tuple[int, bool]:
    """How many gradients are left out if one process of node 0 has an inf; is x finite then?"""
    backward(model, rank, 0)
    grad = next(iter(model.parameters())).grad
    if rank == 1 or (rank == 0 and not hasattr(grad, "to_local")):
        (grad.to_local() if hasattr(grad, "to_local") else grad).view(-1)[0] = math.inf
    optimizer.step()
    return optimizer.nonfinite_grads, bool(vector(model).isfinite().all())


class Dotted(DSGD):
    """A method of somebody who multiplies vectors."""

    def step(self, t: int, x: Tensor, grad: Tensor, state: Any, mix: Any) -> Any:
        return super().step(t, x, grad * torch.dot(grad, grad), state, mix)


class Sorted(DSGD):
    """A method of somebody who sorts coordinates."""

    def step(self, t: int, x: Tensor, grad: Tensor, state: Any, mix: Any) -> Any:
        return super().step(t, x, grad.sort().values, state, mix)


def unequal(mesh: Any, rank: int) -> None:
    model = make_model()
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring, device_mesh=mesh)
    steps(model, optimizer, rank, 1)


def stepped(mesh: Any, rank: int, method: Any) -> None:
    model, optimizer = made("fsdp", mesh, method)
    optimizer.step(partial(backward, model, rank, 0))


def disagreeing(mesh: Any, rank: int) -> None:
    made("fsdp", mesh, GTNSGDm(lr=0.2 if rank == 3 else 0.1, momentum=0.8))


def group_as_well(mesh: Any) -> None:
    group = mesh.get_group("node")
    parameters = make_model().parameters()
    DecentralizedOptimizer(parameters, METHOD, ring, process_group=group, device_mesh=mesh)


def dropping(mesh: Any) -> None:
    options = {"device_mesh": mesh, "on_peer_failure": "drop"}
    DecentralizedOptimizer(make_model().parameters(), METHOD, ring, **options)


def refusals(rank: int, mesh: Any) -> dict[str, str]:
    attempts: dict[str, Callable[[], Any]] = {
        "no mesh": lambda: DecentralizedOptimizer(fsdp(mesh).parameters(), METHOD, ring),
        "group": lambda: group_as_well(mesh),
        "drop": lambda: dropping(mesh),
        "no DDP": lambda: unequal(mesh, rank),
        "dot": lambda: stepped(mesh, rank, Dotted(lr=0.1)),
        "sort": lambda: stepped(mesh, rank, Sorted(lr=0.1)),
        "random": lambda: stepped(mesh, rank, Dithered(0.01)),
        "lr": lambda: disagreeing(mesh, rank),
    }
    return {name: _refusal(attempt) for name, attempt in attempts.items()}


def _refusal(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except InvalidInput as refusal:
        return str(refusal)
    return "accepted"


REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "norm": lambda z: torch.linalg.vector_norm(z, dim=-1, keepdim=True),
    "norm of all": lambda z: z.norm(),
    "sum of sizes": lambda z: torch.linalg.vector_norm(z, 1, dim=-1),
    "largest size": lambda z: torch.linalg.vector_norm(z, ord=math.inf, dim=-1),
    "sum": lambda z: z.sum(-1),
    "mean": lambda z: z.mean(dim=-1, keepdim=True),
    "largest": lambda z: torch.amax(z, -1),
    "least": lambda z: z.amin(dim=-1),
    "of the rows' sum": lambda z: z.sum(0).mean(-1),
}
WHOLE = torch.tensor([[3.0, -1.0, 2.0, 0.5, -7.0], [1.0, 1.0, -4.0, 0.0, 2.0]])


def reduced(mesh: Any) -> dict[str, Tensor]:
    """Each reduction of a tensor of which the processes of a node have three and two columns."""
    crew = Crew(mesh.get_group("shard"))
    own = WHOLE[:, :3] if crew.position == 0 else WHOLE[:, 3:]
    return {name: reduce(Part.of(own, crew)) for name, reduce in REDUCTIONS.items()}


def one_dimension(rank: int, mesh: Any) -> tuple[int, Tensor]:
    """Nodes of one process, by a mesh: the number of this one, and x after a step."""
    model = make_model()
    options = {"device_mesh": mesh["node"]}
    optimizer = DecentralizedOptimizer(model.parameters(), DSGD(lr=0.1), ring, **options)
    optimizer.x.fill_(0.0)
    for p in model.parameters():
        p.grad = torch.full_like(p, float(rank))
    optimizer.step()
    return optimizer.rank, optimizer.x


def lives(rank: int, folder: Path) -> dict[str, Any]:
    mesh = on_mesh()
    told = {kind: life(rank, folder, kind, mesh) for kind in MODELS}
    return {
        **told,
        "refusals": refusals(rank, mesh),
        "reduced": reduced(mesh),
        "row": one_dimension(rank, mesh),
    }


REFUSALS = {
    "no mesh": "device_mesh=mesh",
    "group": "one of the two",
    "drop": "one process per node",
    "no DDP": "DistributedDataParallel",
    "dot": "dot mixes coordinates",
    "sort": "sort mixes coordinates",
    "random": "random numbers",
    "lr": "ranks 0, 1, 2 have 0.1, rank 3 has 0.2",
}


def test_a_run_of_nodes_of_two_processes(tmp_path):
    real = on_ranks(lives, tmp_path, deadline=180)
    dim = sum(p.numel() for p in make_model().parameters())
    for kind in MODELS:
        told = [each[kind] for each in real]
        nodes = torch.stack([told[0]["x"], told[2]["x"]])
        distance = torch.linalg.vector_norm(nodes - nodes.mean(0), dim=1).mean()
        for rank, each in enumerate(told):
            assert torch.equal(each["x"], nodes[rank // PROCESSES])
            torch.testing.assert_close(each["average"], nodes.mean(0), rtol=0, atol=1e-12)
            assert each["error"] == pytest.approx(float(distance), rel=1e-12)
            assert torch.equal(each["resumed"], each["uninterrupted"])
            assert torch.equal(each["loaded"], each["one more"])
            assert each["resumed at"] == 3
            assert each["frozen"]
            assert each["said"] == [0, 1, 2, 3]
            assert each["nonfinite"] == (int(rank < PROCESSES), True)
        assert sum(each["bytes"] for each in told[:2]) == 3 * 2 * dim * 8  # one copy of x and of y
        records = read_nodes(tmp_path / kind)
        torch.testing.assert_close(records[1].tensors["x"], nodes[1], rtol=0, atol=0)
        export(tmp_path / kind, tmp_path / "model.safetensors")
        model = make_model()
        model.load_state_dict(load_file(tmp_path / "model.safetensors"))
        torch.testing.assert_close(flat(model.parameters()), nodes.mean(0), rtol=0, atol=1e-12)
    for rank, each in enumerate(real):
        node, x = each["row"]
        assert node == rank // PROCESSES
        torch.testing.assert_close(x, torch.full_like(x, -0.1 * (rank % PROCESSES + 1)))  # of two
        for name, reduce in REDUCTIONS.items():
            torch.testing.assert_close(each["reduced"][name], reduce(WHOLE), msg=name)
        for name, words in REFUSALS.items():
            assert words in each["refusals"][name]


# ---------------------------------------------------------------------- how runs end


def diverging(rank: int, mesh: Any) -> str:
    """Why a run ends in which a process of node 1 leaves the numbers there are."""
    model, optimizer = made("fsdp", mesh, DSGD(lr=1e300))
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    if rank == 3:
        next(iter(model.parameters())).grad.to_local().fill_(1e300)
    try:
        optimizer.step()
        optimizer.step()
    except Diverged as reason:
        return str(reason)
    return "goes on"


def dying(rank: int, mesh: Any) -> tuple[str, float]:
    """How a run ends in which rank 3 dies, and after how many seconds."""
    model, optimizer = made("fsdp", mesh)
    steps(model, optimizer, rank, 1)
    if rank == 3:
        os._exit(1)
    start = time.monotonic()
    try:
        model.zero_grad()
        optimizer.step()
    except PeerFailure as reason:
        return str(reason), time.monotonic() - start
    return "goes on", 0.0


def ends(rank: int) -> tuple[str, tuple[str, float]]:
    return diverging(rank, on_mesh()), dying(rank, on_mesh())


def test_all_processes_end_together():
    *others, dead = Processes(ends).results()
    assert isinstance(dead, Dead)
    for each in others:
        assert not isinstance(each, Failed), each.text
        words, (failure, seconds) = each
        assert words.startswith("node 1: x is no longer finite in step 0")
        assert "step 1: exchange failed" in failure
        assert seconds < 30
