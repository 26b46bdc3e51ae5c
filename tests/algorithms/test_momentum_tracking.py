"""DSGDm and Momentum Tracking: known methods without momentum; a bias of one, none of the other."""

import torch
from algorithms.contract import close, heavy, normal
from algorithms.limits import RING, errors, run

import gossamer as gs


def test_without_momentum_dsgdm_is_dsgd():
    close(run(gs.DSGDm(0.05, momentum=0)), run(gs.DSGD(0.05)))


def test_without_momentum_it_is_gradient_tracking_that_combines_first():
    """y = W y⁻ + g − g⁻, x⁺ = W x − α y: GT-DSGD's fixed points, in the other order."""
    W, x = RING.weights, normal(3).expand(5, 3).contiguous()
    method = gs.MomentumTracking(0.05, momentum=0)
    state, expected, y, old = method.init(x), x, torch.zeros(5, 3).double(), 0.0
    for t, grad in enumerate(heavy(30, 5, 3)):
        y, old = W @ y + grad - old, grad
        expected = W @ expected - 0.05 * y
        x, state = method.step(t, x, grad, state, lambda z: W @ z)
        close(x, expected)


def test_on_one_node_both_are_the_heavy_ball():
    x = normal(1, 3)
    parameter = torch.nn.Parameter(x[0].clone())
    optimizer = torch.optim.SGD([parameter], lr=0.05, momentum=0.8)
    methods = [gs.DSGDm(0.05, 0.8), gs.MomentumTracking(0.05, 0.8)]
    points, states = [x, x], [method.init(x) for method in methods]
    for t, grad in enumerate(heavy(30, 1, 3)):
        parameter.grad = grad[0]
        optimizer.step()
        for k, method in enumerate(methods):
            points[k], states[k] = method.step(t, points[k], grad, states[k], lambda z: z)
            close(points[k][0], parameter.detach())


def test_where_nodes_differ_only_the_tracked_momentum_leads_to_the_optimum():
    start, biased = errors(gs.DSGDm(0.02, 0.8), steps=1500)
    _, exact = errors(gs.MomentumTracking(0.02, 0.8), steps=1500)
    _, plain = errors(gs.DSGD(0.02), steps=1500)
    assert start > 1
    assert exact < 1e-9
    assert biased > plain > 0.05
