"""The pictures of the page on bad networks; `pictures.py` draws them with the others.

Each function is one picture, named as its file.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import gossamer as gs
from gossamer.colours import OKABE_ITO
from gossamer.plots import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RING = gs.ring(10)
PROBLEM = gs.Quadratic(10, 200, condition=10, spread=1)
STEPS = 1500
TRACKING = gs.GTDSGD(lr=0.05)
TRACKER = 0
"""Which of the two mixes of a step of GT-DSGD is that of its tracker."""


class Matrices:
    """A mix with a matrix for each verb."""

    def __init__(self, pulls: Tensor, pushes: Tensor) -> None:
        self.pulls, self.pushes = pulls, pushes

    def pull(self, z: Tensor) -> Tensor:
        """R z."""
        return torch.einsum("ij,jkd->ikd", self.pulls, z)

    def push(self, z: Tensor) -> Tensor:
        """C z."""
        return torch.einsum("ij,jkd->ikd", self.pushes, z)


class LargestOnly:
    """Messages that are the largest tenth of a vector, and are averaged as if they were all."""

    def pull(self, z: Tensor) -> Tensor:
        """W Q(z), one's own z kept."""
        sent = z.clone()
        small = z.abs() < z.abs().topk(z.shape[-1] // 10).values[..., -1:]
        sent[small] = 0
        own = RING.weights.diagonal()[:, None, None]
        return torch.einsum("ij,jkd->ikd", RING.weights, sent) + own * (z - sent)

    push = pull


def losing(t: int, share: float = 0.3) -> Matrices:
    """A ring that loses messages: opinions are replaced by one's own, totals are gone."""
    generator = torch.Generator().manual_seed(t)
    arrived = torch.rand(10, 10, generator=generator) >= share
    pushes = RING.weights * (arrived | torch.eye(10, dtype=torch.bool))
    pulls = pushes + torch.diag(1 - pushes.sum(1))
    return Matrices(pulls, pushes)


def errors(method: "gs.Algorithm[Any]", mix: Callable[[int], Any]) -> list[float]:
    """(1/n) Σ ‖x_i − x*‖ after every step, by a mix of one's own."""
    x = PROBLEM.start.expand(10, 1, -1).clone()
    state, found = method.init(x), []
    for t in range(STEPS):
        x, state = method.step(t, x, PROBLEM.local_grad(x), state, mix(t))
        found.append(float((x - PROBLEM.optimum).norm(dim=-1).mean()))
    return found


def simulation(method: "gs.Algorithm[Any]", network: gs.Network) -> gs.Run:
    """The same by the simulator, with the bytes that were sent."""
    options: dict[str, Any] = {"steps": STEPS, "record_every": 1, "metrics": ["error", "bytes"]}
    return gs.simulate(method, PROBLEM, network, **options)


def simulated(method: "gs.Algorithm[Any]", network: gs.Network) -> list[float]:
    """Its errors."""
    return simulation(method, network).metrics["error"][1:, 0].tolist()


def log_axes(ax: "Axes", title: str, x: str = "step t") -> None:
    """Distances on a logarithmic scale."""
    ax.set(yscale="log", ylim=(1e-10, None), title=title, xlabel=x)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()


def one_way() -> "Figure":
    """Where methods end on a network that is not balanced."""
    network = gs.random_digraph(10, degree=2)
    mixer = network.mixer()
    figure, (left, right) = panels(2, width=4.1, height=3.4)
    network.draw(left)
    left.set_title("an arrow from who speaks to who hears")
    curves = {
        "DSGD, pulled": errors(gs.DSGD(lr=0.05), lambda t: mixer),
        "PushSum(DSGD)": simulated(gs.PushSum(gs.DSGD(lr=0.05)), network),
        "DSGD on a ring": simulated(gs.DSGD(lr=0.05), RING),
        "GT-DSGD, push–pull": simulated(TRACKING, network),
    }
    for colour, (label, values) in zip(OKABE_ITO, curves.items(), strict=False):
        right.plot(values, color=colour, label=label)
    log_axes(right, "distance to the optimum")
    return figure


def lost() -> "Figure":
    """Totals that are late, and totals that are gone."""
    network = RING.drops(0.3)
    figure, (left, right) = panels(2, width=4.1, height=3.0)
    at_nodes, in_all, gone = missing_totals(network, 200)
    left.plot(gone, color=OKABE_ITO[1], label="lost for good")
    left.plot(at_nodes, color=OKABE_ITO[0], label="at the nodes")
    left.plot(in_all, "--", color=OKABE_ITO[6], label="with what waits on links")
    left.set(title="Σ trackers − Σ gradients, one coordinate", xlabel="step t")
    left.legend()
    right.plot(errors(TRACKING, losing), color=OKABE_ITO[1], label="lost for good")
    right.plot(simulated(TRACKING, network), color=OKABE_ITO[0], label=network.name)
    right.plot(simulated(TRACKING, RING), ":", color=OKABE_ITO[6], label=RING.name)
    log_axes(right, "distance to the optimum, GT-DSGD")
    return figure


def missing_totals(network: gs.Network, steps: int) -> tuple[list[float], list[float], list[float]]:
    """Σ y − Σ g of GT-DSGD: at the nodes, with what is in flight, and where losses are for good."""
    channel, memory = network.channel([0], torch.float64, "cpu"), ()
    x = y = PROBLEM.start.expand(10, 1, -1).clone()
    state, careless = TRACKING.init(x), TRACKING.init(y)
    at_nodes, in_all, gone = [], [], []
    for t in range(steps):
        grad, talk = PROBLEM.local_grad(x), channel.talk(t, memory)
        x, state = TRACKING.step(t, x, grad, state, talk)
        memory = talk.memory
        in_flight = memory[TRACKER]["in_flight"].sum(0)[0, 0]
        at_nodes.append(float((state.y - grad).sum(0)[0, 0]))
        in_all.append(at_nodes[-1] + float(in_flight))
        grad = PROBLEM.local_grad(y)
        y, careless = TRACKING.step(t, y, grad, careless, losing(t))
        gone.append(float((careless.y - grad).sum(0)[0, 0]))
    return at_nodes, in_all, gone


def compression() -> "Figure":
    """How far compressed messages come, by steps and by bytes."""
    figure, (left, right) = panels(2, width=4.1, height=3.2)
    compressors = (gs.Cast("bfloat16"), gs.QSGD(4), gs.TopK(0.1), gs.Sign())
    networks = {"whole messages": RING} | {repr(q): RING.compressed(q) for q in compressors}
    for colour, (label, network) in zip(OKABE_ITO, networks.items(), strict=False):
        run = simulation(TRACKING, network)
        left.plot(run.metrics["error"][1:, 0], color=colour, label=label)
        right.plot(run.metrics["bytes"][:, 0] / 1000, run.metrics["error"][:, 0], color=colour)
    naive = errors(TRACKING, lambda t: LargestOnly())
    left.plot(naive, "--", color=OKABE_ITO[7], label="largest 10 %, no feedback")
    log_axes(left, "distance to the optimum, GT-DSGD")
    log_axes(right, "by what a node has sent", "kilobytes")
    right.set_xlim(0, 1000)
    return figure


def talk() -> "Figure":
    """Averaging by steps and by messages."""
    figure, (left, right) = panels(2, width=4.1, height=3.0)
    messages = {
        gs.ring(16): 2,
        gs.ring(16).every(3): 2 / 3,
        gs.ring(16).accelerated(3): 6,
        gs.random_matching(16): 1,
    }
    for colour, (network, per_step) in zip(OKABE_ITO, messages.items(), strict=False):
        apart = averaging(network, 60)
        left.plot(apart, color=colour, label=network.name)
        right.plot([per_step * t for t in range(61)], apart, color=colour)
    for ax, x in ((left, "step t"), (right, "messages that a node has sent")):
        ax.set(yscale="log", ylim=(1e-6, 2), xlabel=x)
    left.set_ylabel("‖z − z̄‖ / ‖z⁰ − z̄‖")
    left.legend()
    right.set_xlim(0, 120)
    return figure


def averaging(network: gs.Network, steps: int) -> list[float]:
    """What is left of a disagreement after every step."""
    channel, memory = network.channel([0], torch.float64, "cpu"), ()
    z = torch.randn(network.num_nodes, 1, 50, generator=torch.Generator().manual_seed(0)).double()
    first, apart = float((z - z.mean(0)).norm()), [1.0]
    for t in range(steps):
        mix = channel.talk(t, memory)
        z, memory = mix.pull(z), mix.memory
        apart.append(float((z - z.mean(0)).norm()) / first)
    return apart


PICTURES: dict[str, Callable[[], "Figure"]] = {
    picture.__name__: picture for picture in (one_way, lost, compression, talk)
}
