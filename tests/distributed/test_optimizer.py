"""torch's conventions for optimizers, on a process of its own: a network of one node."""

import copy
import io
import pickle

import pytest
import torch
from safetensors.torch import save_model
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, OneCycleLR

from gossamer.algorithms import DSGD, DSGDCClip, GTAdam, GTNSGDm, QGDSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.errors import InvalidInput
from gossamer.networks import complete, hypercube, ring

METHOD = GTNSGDm(lr=0.1, momentum=0.8)


def make(method=METHOD, seed=0, **options):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    return model, DecentralizedOptimizer(model.parameters(), method, ring, **options)


def backward(model, t=0):
    inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(t), dtype=torch.float64)
    loss = model(inputs).square().sum()
    loss.backward()
    return loss


def train(model, optimizer, steps=3, start=0):
    for t in range(start, start + steps):
        optimizer.zero_grad()
        backward(model, t)
        optimizer.step()


def same(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def test_one_norm_over_all_parameters():
    model, optimizer = make()
    before = optimizer.x.clone()
    train(model, optimizer, steps=1)
    step = torch.linalg.vector_norm(optimizer.x - before)
    torch.testing.assert_close(step, torch.tensor(0.1, dtype=torch.float64), rtol=1e-12, atol=0)


def test_dsgd_alone_is_sgd():
    model, optimizer = make(DSGD(lr=0.05))
    twin = copy.deepcopy(model)
    train(model, optimizer)
    train(twin, torch.optim.SGD(twin.parameters(), lr=0.05))
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-14)


def test_groups_have_their_own_hyperparameters():
    model, _ = make()
    twin = copy.deepcopy(model)
    groups = [{"params": m[0].parameters(), "lr": 0.05} for m in (model, twin)]
    rest = [{"params": m[2].parameters()} for m in (model, twin)]
    train(model, DecentralizedOptimizer([groups[0], rest[0]], DSGD(lr=0.2), ring))
    train(twin, torch.optim.SGD([groups[1], rest[1]], lr=0.2))
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-14)


def test_groups_cannot_differ_in_a_word():
    model, _ = make()
    groups = [
        {"params": model[0].parameters()},
        {"params": model[2].parameters(), "order": "combine-then-adapt"},
    ]
    optimizer = DecentralizedOptimizer(groups, DSGDCClip(lr=0.1, clip=1.0), ring)
    with pytest.raises(InvalidInput, match=r"order: .* the same in all param groups"):
        optimizer.step()


def test_schedulers_drive_lr_and_momentum():
    model, optimizer = make()
    scheduler = OneCycleLR(
        optimizer, max_lr=0.4, total_steps=10, base_momentum=0.5, max_momentum=0.9
    )
    for t in range(9):
        before = optimizer.x.clone()
        train(model, optimizer, steps=1, start=t)
        moved = float(torch.linalg.vector_norm(optimizer.x - before))
        assert moved == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        scheduler.step()
    assert optimizer.param_groups[0]["momentum"] > 0.8
    assert optimizer._scheduled.at(9, optimizer.param_groups, [26], optimizer.x).momentum > 0.8


def test_schedulers_drive_tensors_that_differ_between_groups():
    model, _ = make()
    rates = zip((model[0], model[2]), (0.5, 0.25), strict=True)
    groups = [{"params": m.parameters(), "lr": torch.tensor(lr)} for m, lr in rates]
    optimizer = DecentralizedOptimizer(groups, DSGD(lr=0.1), ring)
    scheduler = LambdaLR(optimizer, lambda step: 0.5**step)
    for lr in (0.5, 0.25, 0.125):
        before = model[0].weight.detach().clone()
        train(model, optimizer, steps=1)
        moved = before - model[0].weight
        torch.testing.assert_close(moved, lr * model[0].weight.grad, rtol=0, atol=1e-12)
        scheduler.step()


def test_a_graph_of_the_old_parameters_is_refused():
    model, optimizer = make()
    loss = backward_loss(model, 0)
    train(model, optimizer, steps=1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_schedule_may_start_from_zero():
    model, optimizer = make()
    warmup = LambdaLR(optimizer, lambda step: min(1.0, step / 2))
    before = optimizer.x.clone()
    train(model, optimizer, steps=1)
    assert torch.equal(optimizer.x, before)
    warmup.step()
    train(model, optimizer, steps=1, start=1)
    assert torch.linalg.vector_norm(optimizer.x - before).item() == pytest.approx(0.05)


@pytest.mark.parametrize("scheduler", [CosineAnnealingLR, LambdaLR])
def test_scheduler_state_resumes(scheduler):
    argument = 20 if scheduler is CosineAnnealingLR else (lambda t: 1 / (1 + t))
    _, optimizer = make()
    one = scheduler(optimizer, argument)
    optimizer.step()
    one.step()
    _, fresh = make()
    two = scheduler(fresh, argument)
    two.load_state_dict(one.state_dict())
    fresh.load_state_dict(optimizer.state_dict())
    assert fresh.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"] != 0.1


def test_closure_runs_once_and_its_loss_comes_back():
    model, optimizer = make()
    calls = []

    def closure():
        optimizer.zero_grad()
        calls.append(backward(model))
        return calls[-1]

    assert optimizer.step(closure) is calls[0]
    assert len(calls) == 1


def test_hooks_run():
    model, optimizer = make()
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    train(model, optimizer, steps=1)
    assert seen == ["before", "after"]


@pytest.mark.parametrize("method", [METHOD, DSGD(lr=0.1), GTAdam(lr=0.1), QGDSGDm(lr=0.1)])
def test_state_dict_resumes_exactly(method):
    model, optimizer = make(method)
    train(model, optimizer, steps=3)
    file = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    other, fresh = make(method, seed=1)
    weights, state = torch.load(file, weights_only=True)
    other.load_state_dict(weights)
    fresh.load_state_dict(state)
    assert fresh.steps == 3
    train(model, optimizer, start=3)
    train(other, fresh, start=3)
    assert same(model, other)


def test_counts_go_on_after_a_resume():
    _, optimizer = make()
    optimizer.bytes_sent, optimizer.nonfinite_grads = 2**40 + 1, 3
    _, fresh = make()
    fresh.load_state_dict(optimizer.state_dict())
    assert (fresh.bytes_sent, fresh.nonfinite_grads) == (2**40 + 1, 3)


def test_a_state_dict_without_counts_leaves_them():
    """As torch.distributed.checkpoint makes of one."""
    _, optimizer = make()
    optimizer.bytes_sent = 7
    state = {k: v for k, v in optimizer.state_dict().items() if k in ("state", "param_groups")}
    optimizer.load_state_dict(state)
    assert optimizer.bytes_sent == 7


def test_state_dict_of_another_method_is_refused():
    _, optimizer = make(DSGD(lr=0.1))
    _, other = make()
    with pytest.raises(InvalidInput, match="saved by another method than GTNSGDm"):
        other.load_state_dict(optimizer.state_dict())


def test_state_dict_without_a_hyperparameter_is_refused():
    _, optimizer = make(DSGD(lr=0.1))
    _, other = make(DSGDCClip(lr=0.1, clip=1.0))
    with pytest.raises(InvalidInput, match="saved by another method than DSGDCClip"):
        other.load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
def test_pickle_and_deepcopy_resume_exactly(clone):
    model, optimizer = make()
    train(model, optimizer)
    other, twin = clone((model, optimizer))
    train(model, optimizer, start=3)
    train(other, twin, start=3)
    assert same(model, other)
    assert twin.steps == optimizer.steps == 6


def test_state_is_there_before_the_first_step():
    """Else torch.distributed.checkpoint makes it by a step, a spurious round of messages."""
    for method in (METHOD, DSGD(lr=0.1)):
        model, optimizer = make(method)
        before = optimizer.x.clone()
        get_optimizer_state_dict(model, optimizer)
        assert optimizer.steps == 0
        assert torch.equal(optimizer.x, before)


def test_state_is_visible_per_parameter():
    model, optimizer = make()
    train(model, optimizer)
    tracker = optimizer.state[model[0].weight]["y"]
    assert tracker.shape == (4, 3)
    assert torch.equal(tracker.flatten(), optimizer.algorithm_state.y[:12])


def test_gradients_accumulate():
    model, optimizer = make()
    twin, other = make()
    backward(model, 0)
    backward(model, 1)
    optimizer.step()
    (backward_loss(twin, 0) + backward_loss(twin, 1)).backward()
    other.step()
    torch.testing.assert_close(optimizer.x, other.x, rtol=0, atol=1e-14)


def backward_loss(model, t):
    inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(t), dtype=torch.float64)
    return model(inputs).square().sum()


def test_moved_parameters_are_taken_over():
    model, optimizer = make()
    for p in model.parameters():
        p.data = 2 * p.data
    expected = torch.cat([p.detach().flatten() for p in model.parameters()])
    optimizer.zero_grad()
    optimizer.step()
    assert torch.equal(optimizer.x, expected)
    train(model, optimizer, steps=1)
    assert torch.equal(model[0].weight.flatten(), optimizer.x[:12])


def test_what_the_optimizer_says_and_restores_is_the_model():
    model, optimizer = make()
    vector = torch.zeros(26, dtype=torch.float64)
    nn.utils.vector_to_parameters(vector, model.parameters())  # new storage
    assert torch.equal(optimizer.mean(), vector)
    nn.utils.vector_to_parameters(vector, model.parameters())
    optimizer.restore(3, vector + 1, optimizer.algorithm_state._asdict())
    assert torch.equal(nn.utils.parameters_to_vector(model.parameters()), vector + 1)


def test_a_part_of_the_model_is_saved_alone(tmp_path):
    """Parameters are parts of one buffer, and files must not hold the whole of it for each."""
    model = nn.ModuleDict({"body": nn.Linear(1000, 1000), "head": nn.Linear(1000, 2)})
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring)
    optimizer.step()
    torch.save(model["head"].state_dict(), tmp_path / "head.pt")
    assert (tmp_path / "head.pt").stat().st_size < 12_000
    loaded = torch.load(tmp_path / "head.pt", weights_only=True)
    assert torch.equal(loaded["weight"], optimizer.x[-2002:-2].view(2, 1000))
    save_model(model, tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").stat().st_size < 4 * 1_003_002 + 1000


def test_a_model_cast_after_the_fact_is_refused():
    model, optimizer = make()
    model.float()
    with pytest.raises(
        InvalidInput, match=r"torch\.float64 on cpu, as when the optimizer was made"
    ):
        optimizer.step()


def test_frozen_parameters_stay_out():
    model, _ = make()
    model[0].weight.requires_grad_(False)
    frozen = model[0].weight.clone()
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring)
    train(model, optimizer)
    assert torch.equal(model[0].weight, frozen)
    assert optimizer.x.numel() == 4 + 8 + 2


def test_parameters_unfrozen_later_join_in():
    model, _ = make()
    model[0].requires_grad_(False)
    groups = [{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters()}]
    optimizer = DecentralizedOptimizer(groups, METHOD, ring)
    train(model, optimizer)
    tracker = optimizer.algorithm_state.y.clone()
    model[0].requires_grad_(True)
    frozen = model[0].weight.clone()
    train(model, optimizer, steps=1, start=3)
    assert optimizer.steps == 4
    assert not torch.equal(model[0].weight, frozen)
    assert optimizer.state[model[2].weight]["y"].shape == (2, 4)
    assert optimizer.algorithm_state.y.numel() == tracker.numel() + 16


def test_parameters_frozen_later_stay_in_with_gradient_zero():
    (model, optimizer), (twin, other) = make(), make()
    train(model, optimizer)
    train(twin, other)
    model[0].requires_grad_(False)
    train(model, optimizer, start=3)
    for t in range(3, 6):
        other.zero_grad()
        backward(twin, t)
        twin[0].zero_grad()
        other.step()
    assert same(model, twin)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.x.numel() == 26


def test_tied_weights_count_once():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    model[1].weight = model[0].weight
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring)
    model(torch.tensor([1, 2])).square().sum().backward()
    optimizer.step()
    assert optimizer.x.numel() == 15
    assert model[1].weight.data_ptr() == model[0].weight.data_ptr() == optimizer.x.data_ptr()


def test_a_group_added_later_trains_and_keeps_the_state_of_the_others():
    model, _ = make()
    optimizer = DecentralizedOptimizer(model[0].parameters(), METHOD, ring)
    train(model, optimizer)
    tracker = optimizer.state[model[0].weight]["y"].clone()
    optimizer.add_param_group({"params": model[2].parameters()})
    assert torch.equal(optimizer.state[model[0].weight]["y"], tracker)
    before = model[2].weight.clone()
    train(model, optimizer, start=3)
    assert optimizer.steps == 6
    assert not torch.equal(model[2].weight, before)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_compiled_model_trains_alike():
    model, optimizer = make()
    twin, other = make()
    train(torch.compile(model, backend="aot_eager"), optimizer)
    train(twin, other)
    torch.testing.assert_close(optimizer.x, other.x, rtol=0, atol=1e-12)


def test_bfloat16_autocast_and_grad_scaler():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = DecentralizedOptimizer(model.parameters(), DSGD(lr=0.1), ring)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(torch.ones(4, 3)).float().square().mean()
    before, grads = (
        optimizer.x.clone(),
        torch.autograd.grad(loss, model.parameters(), retain_graph=True),
    )
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    expected = before - 0.1 * torch.cat([g.flatten() for g in grads])
    torch.testing.assert_close(optimizer.x, expected, rtol=0, atol=1e-6)


def test_gradient_clipping_after_unscale():
    model, optimizer = make(DSGD(lr=1.0))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = optimizer.x.clone()
    scaler.scale(backward_loss(model, 0)).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    scaler.step(optimizer)
    scaler.update()
    moved = float(torch.linalg.vector_norm(optimizer.x - before))
    assert moved == pytest.approx(0.01, rel=1e-4)


def test_nonfinite_gradient_is_a_zero_gradient():
    model, optimizer = make()
    twin, other = make()
    train(model, optimizer, steps=2)
    train(twin, other, steps=2)
    for broken in (float("nan"), float("inf")):
        model[0].weight.grad[0, 0] = broken
        with pytest.warns(RuntimeWarning, match=r"not finite and was left out \(\d so far\)"):
            optimizer.step()
        other.zero_grad()
        other.step()
    assert same(model, twin)
    assert optimizer.nonfinite_grads == 2


def test_finite_float16_gradients_whose_sum_overflows_are_taken():
    parameter = nn.Parameter(torch.zeros(70_000, dtype=torch.float16))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.5), ring)
    parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert optimizer.nonfinite_grads == 0
    assert torch.equal(parameter, torch.full_like(parameter, -0.5))


def test_sparse_gradients_are_taken():
    embedding = nn.Embedding(3, 2, sparse=True)
    before = embedding.weight.detach().clone()
    optimizer = DecentralizedOptimizer(embedding.parameters(), DSGD(lr=0.5), ring)
    embedding(torch.tensor([1, 1])).sum().backward()
    optimizer.step()
    before[1] -= 1.0
    assert torch.equal(embedding.weight, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DSGD, ring), "algorithm: got <class .*DSGD'>, need a method"),
        ((METHOD, "ring"), "network: got 'ring', need a network, or a function"),
    ],
)
def test_a_wrong_kind_of_argument_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        DecentralizedOptimizer(nn.Linear(2, 2).parameters(), *arguments)


def test_a_wrong_message_dtype_or_timeout_is_refused():
    with pytest.raises(InvalidInput, match=r"message_dtype: got torch\.int8"):
        make(message_dtype=torch.int8)
    with pytest.raises(InvalidInput, match="timeout: got 0, need a number of seconds above 0"):
        make(timeout=0)


def test_mixed_dtypes_and_wrong_sizes_are_refused():
    model = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2).double()])
    with pytest.raises(InvalidInput, match="one dtype on one device"):
        DecentralizedOptimizer(model.parameters(), METHOD, ring)
    with pytest.raises(InvalidInput, match=r"ring\(5\) with 5 nodes on 1 process,"):
        DecentralizedOptimizer(nn.Linear(2, 2).parameters(), METHOD, ring(5))
    with pytest.raises(InvalidInput, match="on_peer_failure"):
        DecentralizedOptimizer(nn.Linear(2, 2).parameters(), METHOD, ring, on_peer_failure="ignore")


def test_works_with_one_rank_on_any_network():
    for network in (ring, complete):
        model, optimizer = make()
        train(model, optimizer)
        assert network(1) == optimizer.network
        assert optimizer.bytes_sent == 0
        assert optimizer.consensus_error() == 0
        with optimizer.averaged_parameters():
            assert torch.equal(optimizer.x, optimizer.mean())


def test_a_hypercube_is_told_its_dimension():
    with pytest.raises(InvalidInput, match=r"1 process, .*takes a dimension: hypercube\(0\)"):
        DecentralizedOptimizer(nn.Linear(2, 2).parameters(), METHOD, hypercube)


def test_a_step_while_the_model_holds_the_average_is_refused():
    model, optimizer = make()
    with optimizer.averaged_parameters():
        with pytest.raises(InvalidInput, match=r"step: got a call inside averaged_parameters\(\)"):
            optimizer.step()
        assert optimizer.steps == 0
    train(model, optimizer, steps=1)
    assert optimizer.steps == 1


def test_a_warning_points_to_the_line_of_the_step():
    model, optimizer = make()
    model[0].weight.grad = torch.full((4, 3), float("nan")).double()
    with pytest.warns(RuntimeWarning, match="rank 0, step 0: the gradient is not finite") as caught:
        optimizer.step()
    assert caught[0].filename == __file__


def test_what_would_be_lost_within_the_average_is_refused():
    _, optimizer = make()
    state = optimizer.state_dict()
    calls = {
        "load_state_dict": lambda: optimizer.load_state_dict(state),
        "restore": lambda: optimizer.restore(0, optimizer.x, {}),
        "add_param_group": lambda: optimizer.add_param_group({"params": [nn.Parameter(x)]}),
        "admit": optimizer.admit,
    }
    x = torch.ones(2)
    with optimizer.averaged_parameters():
        for name, call in calls.items():
            with pytest.raises(InvalidInput, match=rf"{name}: got a call inside averaged_param"):
                call()


def test_the_state_of_another_node_is_refused():
    _, optimizer = make()
    with pytest.raises(InvalidInput, match="state_dict: got that of node 3, need that of node 0"):
        optimizer.load_state_dict({**optimizer.state_dict(), "node": 3})


def rounded(dtype: torch.dtype = torch.bfloat16) -> tuple[nn.Module, DecentralizedOptimizer]:
    """A model that rounds x, unless it has another dtype; its bias is frozen."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1, dtype=dtype)
    model.bias.requires_grad_(False)
    return model, DecentralizedOptimizer(model.named_parameters(), GTNSGDm(1e-3, 0.8), ring)


def exact_steps(model: nn.Module, optimizer: DecentralizedOptimizer) -> Tensor:
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(3, dtype=model.weight.dtype)).sum().backward()
        optimizer.step()
    return optimizer.x.clone()


@pytest.mark.parametrize("model_first", [True, False])
def test_a_state_dict_holds_x_where_the_model_rounds_it(model_first):
    model, optimizer = rounded()
    exact_steps(model, optimizer)
    saved, weights = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(model.state_dict())
    expected = exact_steps(model, optimizer)
    loads = [lambda: model.load_state_dict(weights), lambda: optimizer.load_state_dict(saved)]
    for load in loads if model_first else reversed(loads):
        load()
    assert torch.equal(exact_steps(model, optimizer), expected)


def test_torchs_own_state_of_a_model_holds_x_too():
    model, optimizer = rounded()
    exact_steps(model, optimizer)
    weights, state = copy.deepcopy(get_state_dict(model, optimizer))
    expected = exact_steps(model, optimizer)
    fresh, loaded = rounded()
    set_state_dict(fresh, loaded, model_state_dict=weights, optim_state_dict=state)
    assert torch.equal(exact_steps(fresh, loaded), expected)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
def test_copies_and_pickles_hold_x_where_the_model_rounds_it(clone):
    model, optimizer = rounded()
    x = exact_steps(model, optimizer)
    assert not torch.equal(x, x.bfloat16().float())
    other, twin = clone((model, optimizer))
    assert torch.equal(twin.x, x)
    assert torch.equal(exact_steps(other, twin), exact_steps(model, optimizer))


def test_x_stays_exact_when_parameters_join():
    model, optimizer = rounded()
    x = exact_steps(model, optimizer)
    optimizer.add_param_group({"params": [("more", nn.Parameter(torch.ones(2).bfloat16()))]})
    assert torch.equal(optimizer.x, torch.cat([x, torch.ones(2)]))
    model.bias.requires_grad_(True)
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 0.0
    optimizer.step()
    assert torch.equal(optimizer.x[:3], x)
    assert torch.equal(optimizer.x[3:4], model.bias.float())


def test_new_values_of_the_model_are_taken_over_when_parameters_join():
    model, optimizer = rounded()
    x = exact_steps(model, optimizer)
    with torch.no_grad():
        model.weight[0, 1] = 2.0
    optimizer.add_param_group({"params": [("more", nn.Parameter(torch.ones(2).bfloat16()))]})
    assert torch.equal(optimizer.x[:3], torch.stack([x[0], torch.tensor(2.0), x[2]]))


def test_a_state_without_x_is_loaded_with_a_warning():
    model, optimizer = rounded()
    exact_steps(model, optimizer)
    saved = optimizer.state_dict()
    without = {k: {n: z for n, z in s.items() if n != "exact"} for k, s in saved["state"].items()}
    with pytest.warns(RuntimeWarning, match=r'state_dict: it has no "exact", the float32 copy'):
        optimizer.load_state_dict({**saved, "state": without})
    assert torch.equal(optimizer.x, model.weight.flatten().float())


def test_a_model_that_rounds_nothing_goes_on_from_the_exact_x():
    model, optimizer = rounded()
    x = exact_steps(model, optimizer)
    fresh, loaded = rounded(torch.float32)
    loaded.load_state_dict(optimizer.state_dict())
    assert torch.equal(loaded.x, x)
    assert torch.equal(fresh.weight.flatten(), x)
    assert "exact" not in loaded.state[fresh.weight]


def test_parameters_with_the_same_memory_are_refused():
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    other.weight.data = one.weight.data
    params = [*one.parameters(), *other.parameters()]
    with pytest.raises(InvalidInput, match="params: got several with the same memory"):
        DecentralizedOptimizer(params, DSGD(0.1), ring)


def test_messages_of_eight_bits_are_refused():
    with pytest.raises(InvalidInput, match=r"message_dtype: got torch\.float8_e4m3fn, need"):
        make(message_dtype=torch.float8_e4m3fn)


def test_a_step_that_no_rank_has_announced_is_refused():
    _, optimizer = make()
    refused = pytest.raises(InvalidInput, match="steps: got step 2, need at most 1, the most that")
    with refused, optimizer.until_all_end(1):
        optimizer.step()
        optimizer.step()
    optimizer.step()
    assert optimizer.steps == 2
