"""The baseline of `sweep.py`: GT-NSGDm on the robust regression, by hand in JAX.

`jit(vmap(vmap(scan)))` with the seeds outside and the hyper-parameters inside, so that the noise of
a seed is drawn once for all hyper-parameters, as ours is. Everything is float32.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

TUKEY = 4.6851


def stable(key: jax.Array, shape: tuple[int, ...], alpha: float = 1.5, beta: float = 0.5):
    """Chambers–Mallows–Stuck."""
    angle_key, exponential_key = jax.random.split(key)
    V = (jax.random.uniform(angle_key, shape) - 0.5) * jnp.pi
    E = jax.random.exponential(exponential_key, shape)
    tangent = beta * np.tan(np.pi * alpha / 2)
    B, S = np.arctan(tangent) / alpha, (1 + tangent**2) ** (1 / (2 * alpha))
    A = alpha * (V + B)
    return (
        S * jnp.sin(A) / jnp.cos(V) ** (1 / alpha) * (jnp.cos(V - A) / E) ** ((1 - alpha) / alpha)
    )


def build(
    features: np.ndarray, labels: np.ndarray, weights: np.ndarray, steps: int, noise: float
) -> Callable[[jax.Array, jax.Array, jax.Array], jax.Array]:
    """`run(lr, momentum, seeds)`: the final x, `(seeds, settings, nodes, dim)`.

    `features` (nodes, samples, dim), `labels` (nodes, samples) and the mixing matrix `weights`.
    """
    X, Y, W = (jnp.asarray(a, jnp.float32) for a in (features, labels, weights))
    nodes, samples, dim = X.shape

    def grad(x):
        r = (jnp.einsum("nmd,nd->nm", X, x) - Y) / TUKEY
        inside = jnp.maximum(1 - r * r, 0)
        return jnp.einsum("nm,nmd->nd", TUKEY * r * inside * inside, X) / samples

    def step(carry, key, lr, momentum):
        x, v, y = carry
        g = grad(x)
        if noise:
            g = g + noise * stable(key, (nodes, dim))
        v_next = momentum * v + (1 - momentum) * g
        y = W @ (y + v_next - v)
        norm = jnp.linalg.norm(y, axis=-1, keepdims=True)
        x = W @ (x - lr * jnp.where(norm > 0, y / norm, 0))
        return (x, v_next, y), None

    def one(lr, momentum, seed):
        zero = jnp.zeros((nodes, dim), jnp.float32)
        keys = jax.random.split(jax.random.PRNGKey(seed), steps)
        body = partial(step, lr=lr, momentum=momentum)
        (x, _, _), _ = jax.lax.scan(body, (zero, zero, zero), keys)
        return x

    settings = jax.vmap(one, in_axes=(0, 0, None))
    return jax.jit(jax.vmap(settings, in_axes=(None, None, 0)))
