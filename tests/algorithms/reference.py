"""Each method as a plain loop over the nodes in numpy, written from the paper's equations.

Every function yields x¹, x², …, of shape (nodes, dim). `grad(t, x)` gives the nodes' stochastic
gradients of step t at x, and may be asked again, elsewhere; `W(t)` is the mixing matrix of step t,
or the pair (R, C) of what opinions are pulled with and totals are pushed with; t counts from 0.
"""

from collections.abc import Callable, Iterator

import numpy as np

Array = np.ndarray
Grad = Callable[[int, Array], Array]
Weights = Array | tuple[Array, Array]
Matrix = Callable[[int], Weights]

SHAPES = ((2, 2), (3,), ())
"""The parameters of a node, for methods that look at their shapes."""


def gossip(W: Array, z: list[Array]) -> Array:
    """Node i adds up what it receives: Σ_r w_ir z_r."""
    nodes = range(len(z))
    return np.array([sum(W[i, r] * z[r] for r in nodes if W[i, r] > 0) for i in nodes])


def pull(W: Weights, z: list[Array]) -> Array:
    return gossip(W[0] if isinstance(W, tuple) else W, z)


def push(W: Weights, z: list[Array]) -> Array:
    return gossip(W[1] if isinstance(W, tuple) else W, z)


def unit(y: Array) -> Array:
    length = np.sqrt(np.sum(y**2))
    return y / length if length > 0 else np.zeros_like(y)


def clipped(g: Array, level: float) -> Array:
    length = np.sqrt(np.sum(g**2))
    return g * (level / length) if length > level else g


def descent(x: Array, updates: list[Array], W: Weights, order: str) -> Array:
    if order == "combine-then-adapt":
        return pull(W, list(x)) - np.array(updates)
    return pull(W, [a - u for a, u in zip(x, updates, strict=True)])


def tracking(y: Array, new: Array, old: Array, W: Weights, order: str) -> Array:
    if order == "combine-then-adapt":
        return push(W, list(y)) + new - old
    return push(W, list(y + new - old))


def dsgd(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    for t in range(steps):
        g = grad(t, x)
        x = pull(W(t), [x[i] - lr * g[i] for i in range(len(x))])
        yield x


def normalized_dsgd(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    for t in range(steps):
        g = grad(t, x)
        x = pull(W(t), [x[i] - lr * unit(g[i]) for i in range(len(x))])
        yield x


def dsgd_gclip(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, clip: float, order: str
) -> Iterator[Array]:
    for t in range(steps):
        x = descent(x, [lr * clipped(g, clip) for g in grad(t, x)], W(t), order)
        yield x


def dsgd_cclip(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, clip: float, order: str
) -> Iterator[Array]:
    for t in range(steps):
        updates = [lr * np.array([max(-clip, min(clip, c)) for c in g]) for g in grad(t, x)]
        x = descent(x, updates, W(t), order)
        yield x


def dsgd_clip(
    grad: Grad,
    W: Matrix,
    x: Array,
    steps: int,
    lr: float,
    clip: float,
    clip_exponent: float,
    order: str,
) -> Iterator[Array]:
    for t in range(steps):
        alpha, tau = lr / (t + 1), clip * (t + 1) ** clip_exponent
        x = descent(x, [alpha * clipped(g, tau) for g in grad(t, x)], W(t), order)
        yield x


def gt_dsgd(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    nodes = range(len(x))
    y = g_old = np.zeros_like(x)
    for t in range(steps):
        g = grad(t, x)
        y = push(W(t), [y[i] + g[i] - g_old[i] for i in nodes])
        x = pull(W(t), [x[i] - lr * y[i] for i in nodes])
        g_old = g
        yield x


def half_pull(W: Weights, z: list[Array]) -> Array:
    """(I + W)/2 z."""
    mixed = pull(W, z)
    return np.array([(z[i] + mixed[i]) / 2 for i in range(len(z))])


def extra(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    nodes = range(len(x))
    y = np.zeros_like(x)
    for t in range(steps):
        g, mixed = grad(t, x), half_pull(W(t), list(x))
        y = np.array([y[i] + x[i] - mixed[i] for i in nodes])
        x = np.array([mixed[i] - lr * g[i] - y[i] for i in nodes])
        yield x


def exact_diffusion(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, correction: float
) -> Iterator[Array]:
    """As Local Exact Diffusion is printed, with one local step."""
    nodes = range(len(x))
    y = np.zeros_like(x)
    for t in range(steps):
        g = grad(t, x)
        phi = [x[i] - lr * g[i] - correction * y[i] for i in nodes]
        x = half_pull(W(t), phi)
        y = np.array([y[i] + phi[i] - x[i] for i in nodes])
        yield x


def diging(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    """As published: y⁰ = g⁰ before the loop, and y⁺ = W y + g⁺ − g at the end of a step."""
    g = y = grad(0, x)
    for t in range(steps):
        x = pull(W(t), list(x)) - lr * y
        yield x
        g_old, g = g, grad(t + 1, x)
        y = push(W(t + 1), list(y)) + g - g_old


def atc_tracking(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    """Likewise."""
    g = y = grad(0, x)
    for t in range(steps):
        x = pull(W(t), list(x - lr * y))
        yield x
        g_old, g = g, grad(t + 1, x)
        y = push(W(t + 1), list(y)) + g - g_old


def motef(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float
) -> Iterator[Array]:
    """As published, with v⁰ = m⁰."""
    m = v = (1 - momentum) * grad(0, x)
    for t in range(steps):
        x = pull(W(t), list(x)) - lr * v
        yield x
        m_old, m = m, momentum * m + (1 - momentum) * grad(t + 1, x)
        v = push(W(t + 1), list(v)) + m - m_old


def dsgdm(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float
) -> Iterator[Array]:
    u = np.zeros_like(x)
    for t in range(steps):
        u = momentum * u + grad(t, x)
        x = pull(W(t), [x[i] - lr * u[i] for i in range(len(x))])
        yield x


def dsgd_biclip(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, clip: float, floor: float
) -> Iterator[Array]:
    def both(c: float) -> float:
        size = floor if abs(c) <= floor else clip if abs(c) >= clip else abs(c)
        return size if c > 0 else -size

    for t in range(steps):
        updates = [lr * np.array([both(c) for c in g]) for g in grad(t, x)]
        x = pull(W(t), [x[i] - updates[i] for i in range(len(x))])
        yield x


def gt_clip(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, clip: float, **word: str
) -> Iterator[Array]:
    nodes = range(len(x))
    levels = (clip, np.inf) if word["clipped"] == "gradient" else (np.inf, clip)
    y = h_old = np.zeros_like(x)
    for t in range(steps):
        h = np.array([clipped(g, levels[0]) for g in grad(t, x)])
        y = push(W(t), [y[i] + h[i] - h_old[i] for i in nodes])
        x = pull(W(t), [x[i] - lr * clipped(y[i], levels[1]) for i in nodes])
        h_old = h
        yield x


def momentum_tracking(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float
) -> Iterator[Array]:
    """As published: with c, the difference of a node's momentum from the tracked one."""
    nodes = range(len(x))
    u = c = np.zeros_like(x)
    for t in range(steps):
        c = u - push(W(t), [u[i] - c[i] for i in nodes])
        u = momentum * u + grad(t, x)
        x = pull(W(t), list(x)) - lr * (u - c)
        yield x


def gt_nstorm(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float
) -> Iterator[Array]:
    nodes = range(len(x))
    x_old, y, v_old = x, np.zeros_like(x), np.zeros_like(x)
    for t in range(steps):
        g = grad(t, x)
        v = g if t == 0 else g + momentum * (v_old - grad(t, x_old))
        y = push(W(t), [y[i] + v[i] - v_old[i] for i in nodes])
        x_old, x = x, pull(W(t), [x[i] - lr * unit(y[i]) for i in nodes])
        v_old = v
        yield x


def tensors(y: Array) -> list[Array]:
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])
    return [part.reshape(s) for part, s in zip(np.split(y, ends[:-1]), SHAPES, strict=True)]


def flat(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def layers(y: Array) -> Array:
    return flat([unit(part) * np.sqrt(part.size) for part in tensors(y)])


def muon(y: Array) -> Array:
    return flat([nearly_sign(part) if part.ndim == 2 else unit(part) for part in tensors(y)])


def nearly_sign(y: Array) -> Array:
    """U p(p(p(p(p(Σ/‖Σ‖))))) Vᵀ: Newton and Schulz, one singular value at a time."""
    u, s, vt = np.linalg.svd(y, full_matrices=False)
    s = unit(s)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return u @ np.diag(s) @ vt


def gt_steepest(direction: Callable[[Array], Array]) -> Callable[..., Iterator[Array]]:
    """GT-NSGDm with any direction of the tracker."""

    def loop(
        grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float, order: str
    ) -> Iterator[Array]:
        nodes = range(len(x))
        y = v_old = np.zeros_like(x)
        for t in range(steps):
            g = grad(t, x)
            v = np.array([momentum * v_old[i] + (1 - momentum) * g[i] for i in nodes])
            y = tracking(y, v, v_old, W(t), order)
            x = descent(x, [lr * direction(y[i]) for i in nodes], W(t), order)
            v_old = v
            yield x

    return loop


gt_nsgdm = gt_steepest(unit)


def gt_adam(
    grad: Grad,
    W: Matrix,
    x: Array,
    steps: int,
    lr: float,
    beta1: float,
    beta2: float,
    cap: float,
    eps: float,
) -> Iterator[Array]:
    """As published: s⁰ = g⁰ before the loop, and s⁺ = W s + g⁺ − g at the end of a step."""
    m, v = np.zeros_like(x), np.zeros_like(x)
    g = grad(0, x)
    s = g
    for t in range(steps):
        m = beta1 * m + (1 - beta1) * s
        v = np.minimum(beta2 * v + (1 - beta2) * s**2, cap)
        x = pull(W(t), list(x)) - lr * m / np.sqrt(v + eps)
        yield x
        g_old, g = g, grad(t + 1, x)
        s = push(W(t + 1), list(s)) + g - g_old


def qg_dsgdm(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float, quasi_momentum: float
) -> Iterator[Array]:
    nodes = range(len(x))
    m_hat = np.zeros_like(x)
    for t in range(steps):
        g = grad(t, x)
        m = [momentum * m_hat[i] + g[i] for i in nodes]
        x_old, x = x, pull(W(t), [x[i] - lr * m[i] for i in nodes])
        displacement = (x_old - x) / lr
        m_hat = quasi_momentum * m_hat + (1 - quasi_momentum) * displacement
        yield x


def sclip_ef(
    grad: Grad,
    W: Matrix,
    x: Array,
    steps: int,
    lr: float,
    momentum: float,
    scale: float,
    clip: float,
) -> Iterator[Array]:
    nodes = range(len(x))
    m = np.zeros_like(x)
    for t in range(steps):
        g = grad(t, x)
        beta = momentum / np.sqrt(t + 1)
        z = g - m
        psi = scale / np.sqrt(t + 1) * z / np.sqrt(z**2 + clip * (t + 1) ** (3 / 5))
        m = beta * m + (1 - beta) * psi
        x = pull(W(t), [x[i] - lr * (t + 1) ** (-1 / 5) * m[i] for i in nodes])
        yield x


def pay(due: list[Array], w: Array) -> tuple[list[Array], list[Array]]:
    """What each node adds to u of what is due, and what it then owes."""
    paid = [min(1.0, w[i]) * due[i] for i in range(len(w))]
    return paid, [due[i] - paid[i] for i in range(len(w))]


def push_sum_dsgd(grad: Grad, W: Matrix, x: Array, steps: int, lr: float) -> Iterator[Array]:
    nodes = range(len(x))
    u, w, owed = x, np.ones(len(x)), list(np.zeros_like(x))
    for t in range(steps):
        g = grad(t, x)
        paid, owed = pay([owed[i] - lr * g[i] for i in nodes], w)
        u = push(W(t), [u[i] + paid[i] for i in nodes])
        w = push(W(t), list(w))
        x = np.array([u[i] / w[i] for i in nodes])
        yield x


def push_sum_dsgd_gclip(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, clip: float, order: str
) -> Iterator[Array]:
    nodes = range(len(x))
    u, w, owed = x, np.ones(len(x)), list(np.zeros_like(x))
    for t in range(steps):
        g = grad(t, x)
        updates = [-lr * clipped(g[i], clip) for i in nodes]
        if order == "combine-then-adapt":
            paid, owed = pay(owed, w)
            u = push(W(t), [u[i] + paid[i] for i in nodes])
            w = push(W(t), list(w))
            paid, rest = pay(updates, w)
            u = np.array([u[i] + paid[i] for i in nodes])
            owed = [owed[i] + rest[i] for i in nodes]
        else:
            paid, owed = pay([owed[i] + updates[i] for i in nodes], w)
            u = push(W(t), [u[i] + paid[i] for i in nodes])
            w = push(W(t), list(w))
        x = np.array([u[i] / w[i] for i in nodes])
        yield x


def push_sum_gt_nsgdm(
    grad: Grad, W: Matrix, x: Array, steps: int, lr: float, momentum: float, order: str
) -> Iterator[Array]:
    nodes = range(len(x))
    y = v_old = np.zeros_like(x)
    u, w, owed = x, np.ones(len(x)), list(np.zeros_like(x))
    for t in range(steps):
        g = grad(t, x)
        v = np.array([momentum * v_old[i] + (1 - momentum) * g[i] for i in nodes])
        y = push(W(t), [y[i] + v[i] - v_old[i] for i in nodes])
        paid, owed = pay([owed[i] - lr * unit(y[i]) for i in nodes], w)
        u = push(W(t), [u[i] + paid[i] for i in nodes])
        w = push(W(t), list(w))
        x = np.array([u[i] / w[i] for i in nodes])
        v_old = v
        yield x
