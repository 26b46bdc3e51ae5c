"""The pictures of the pages: `python docs/scripts/pictures.py` draws them into docs/images.

Each function is one picture of the concepts page, named as its file; those of the page on bad
networks are in `network_pictures.py`, and that of the page on comparing is what its code draws.
Pictures of a study are those of its report, drawn of results/full; each says of which results.
"""

import contextlib
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import network_pictures
import torch
from gather import gathered
from torch import Tensor

import gossamer as gs
from gossamer.colours import LOOKS, OKABE_ITO
from gossamer.plots import panels, style
from gossamer.studies import EXPERIMENTS
from gossamer.studies.theory.claim_1 import claim_problem
from gossamer.svg import for_both

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent.parent / "images"
NETWORKS = (gs.ring(16), gs.exponential(16), gs.complete(16))


def generator(seed: int = 0) -> torch.Generator:
    """Randomness of a picture."""
    return torch.Generator().manual_seed(seed)


def mixing() -> "Figure":
    """Sixteen numbers that nobody collects become their average."""
    start = torch.linspace(-1, 1, 16, dtype=torch.float64)
    start = start[torch.randperm(16, generator=generator(2))]
    figure, axes = panels(3, width=2.9, height=2.4)
    for ax, network in zip(axes, NETWORKS, strict=True):
        values = _rounds(network, start[:, None], 12)[:, :, 0]
        ax.plot(values, color=OKABE_ITO[0], alpha=0.6, linewidth=1)
        ax.set(title=f"{network.name}, λ = {network.lam:.2f}", xlabel="round")
    axes[0].set_ylabel("value of each node")
    return figure


def _rounds(network: gs.Network, z: Tensor, count: int) -> Tensor:
    """z, Wz, W²z, …, as `(count + 1, nodes, dim)`."""
    values = [z]
    for _ in range(count):
        values.append(network.weights @ values[-1])
    return torch.stack(values)


def contraction() -> "Figure":
    """Disagreement falls by λ in every round; λ of a family depends on its size."""
    figure, (left, right) = panels(2, width=3.7, height=2.9)
    drawn = (gs.ring(16), gs.torus(4, 4), gs.exponential(16))
    for colour, network in zip(OKABE_ITO, drawn, strict=False):
        z = torch.randn(16, 1, dtype=torch.float64, generator=generator())
        apart = [float((w - w.mean(0)).norm()) for w in _rounds(network, z, 30)]
        bound = [apart[0] * network.lam**t for t in range(31)]
        left.plot(apart, color=colour, label=f"{network.name}, λ = {network.lam:.2f}")
        left.plot(bound, ":", color=colour, linewidth=1)
    left.set(yscale="log", ylim=(1e-8, 10), xlabel="round t", ylabel="‖z − z̄‖, dotted: λᵗ")
    left.legend()
    sizes = [4, 16, 64, 256]
    families = {
        "ring": gs.ring,
        "torus": lambda n: gs.torus(int(n**0.5), int(n**0.5)),
        "exponential": gs.exponential,
    }
    for colour, (name, family) in zip(OKABE_ITO, families.items(), strict=False):
        right.plot(sizes, [1 - family(n).lam for n in sizes], "o-", color=colour, label=name)
    right.set(xscale="log", yscale="log", xlabel="nodes n", ylabel="1 − λ")
    right.set_xticks(sizes, labels=[str(n) for n in sizes])
    right.minorticks_off()
    right.legend()
    return figure


def heavy_tails() -> "Figure":
    """The same number of draws from three laws, and how often a draw exceeds a size."""
    laws = {
        "Gaussian": gs.Gaussian(1.0),
        "Student-t, 1.5": gs.StudentT(df=1.5),
        "α-stable, 1.5": gs.AlphaStable(tail_index=1.5, skewness=0.5),
    }
    figure, (left, right) = panels(2, width=3.7, height=2.9)
    for k, (name, law) in enumerate(laws.items()):
        draws = law.sample((20_000,), generator=generator())
        left.vlines(range(200 * k, 200 * k + 200), 0, draws[:200], OKABE_ITO[k], linewidth=0.9)
        share = torch.logspace(0, -4, 200, dtype=torch.float64)
        size = draws.abs().quantile(1 - share)
        right.plot(size, share, color=OKABE_ITO[k], label=name)
    left.set(title="200 draws of each", xticks=[], ylabel="noise")
    right.set(xscale="log", yscale="log", xlim=(0.3, 500), title="how often |ξ| exceeds a size")
    right.set(xlabel="size", ylabel="share of 20,000 draws")
    right.legend()
    return figure


def tracking() -> "Figure":
    """Local gradients stay apart at the optimum; the trackers agree on the average."""
    centers = torch.linspace(-2, 2, 8, dtype=torch.float64)[:, None]
    problem, network = gs.Quadratic.from_centers(centers, start=torch.tensor([1.5])), gs.ring(8)
    algorithm, x = gs.GTDSGD(lr=0.05), problem.start.double().expand(8, 1)
    state = algorithm.init(x)
    locals_, trackers = [], []
    for t in range(80):
        grad = problem.local_grad(x[:, None])[:, 0]
        x, state = algorithm.step(t, x, grad, state, lambda z: network.weights @ z)
        locals_.append(grad[:, 0])
        trackers.append(state.y[:, 0])
    figure, axes = panels(2, width=3.7, height=2.7)
    drawn = {"each node's own gradient": locals_, "each node's tracker y": trackers}
    for ax, (title, values) in zip(axes, drawn.items(), strict=True):
        stacked = torch.stack(values)
        ax.plot(stacked, color=OKABE_ITO[0], alpha=0.6, linewidth=1)
        ax.plot(torch.stack(locals_).mean(1), "--", color=OKABE_ITO[1], label="average gradient")
        ax.set(title=title, xlabel="step t", ylim=(-2.2, 4))
    axes[0].legend()
    return figure


def normalization() -> "Figure":
    """Normalized steps have one length; but normalizing before averaging can cancel."""
    figure, (left, right) = panels(2, width=3.7, height=2.9)
    grads = gs.AlphaStable(1.5, 0.5).sample((400, 2), generator=generator()) + 1
    lengths = grads.norm(dim=1)
    left.semilogy(lengths, color=OKABE_ITO[1], linewidth=0.9, label="gradient step ‖g‖")
    left.axhline(1, color=OKABE_ITO[0], label="normalized step")
    left.set(title="how far a step goes", xlabel="step t")
    left.legend()
    problem = claim_problem(1, num_nodes=4, start=0.5)
    for algorithm in (gs.NormalizedDSGD(lr=0.05), gs.GTNSGDm(lr=0.05, momentum=0.5)):
        run = gs.simulate(algorithm, problem, gs.complete(4), steps=100, record_every=1)
        look = {"color": LOOKS[run.label].colour, "label": run.label}
        right.plot(run.steps, run.metrics["error"][:, 0], **look)
    right.set(title="two nodes pull left, two right", xlabel="step t", ylim=(0, None))
    right.set_ylabel("distance to the optimum")
    right.legend()
    return figure


CONCEPTS: dict[str, Callable[[], "Figure"]] = {
    picture.__name__: picture
    for picture in (mixing, contraction, heavy_tails, tracking, normalization)
}


FIRST_EXAMPLE = {
    gs.DSGD(lr=0.01): (1700, 1.2),
    gs.GTNSGDm(lr=0.005, momentum=0.8): (350, 0.3),
}
"""Method → where its name stands, at step and error."""


def first_example() -> "Figure":
    """The runs of the README's first example, one line per seed."""
    from matplotlib.ticker import NullFormatter

    made = _run_blocks(FOLDER.parent.parent / "README.md", most=1)
    figure, (ax,) = panels(1, width=7.2, height=3.0)
    for algorithm, place in FIRST_EXAMPLE.items():
        run = gs.simulate(
            algorithm, made["problem"], made["net"], noise=made["noise"], steps=4000, seeds=range(5)
        )
        colour = LOOKS[run.label].colour
        ax.plot(run.steps, run.metrics["error"], color=colour, linewidth=1.2)
        ax.text(*place, f"{run.label}, five runs", color=colour, weight="bold")
    ax.set(yscale="log", xlabel="step", ylabel="distance to the optimum", xlim=(0, 4000))
    ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def compare() -> "Figure":
    """What the code of the page on comparing draws."""
    figure: Figure = _run_blocks(FOLDER.parent / "compare.md")["ax"].figure
    return figure


def _run_blocks(page: Path, most: int | None = None) -> dict[str, Any]:
    """What the first python blocks of a page, or all of them, have made."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": page.stem}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec("".join(blocks[:most]), namespace)
    return namespace


def of_study(study: str, *names: str) -> dict[str, Callable[[], "Figure"]]:
    """Figures of a study's report, by their names there."""

    def figure(name: str) -> "Figure":
        return EXPERIMENTS[study].figures(gathered(study).results)[name]

    return {name: partial(figure, name) for name in names}


STUDIES = {
    "clip-or-normalize": [f"clip-or-normalize-{shape}" for shape in ("symmetric", "skewed")],
    "bad-networks": [f"bad-networks-{part}" for part in ("different", "alike", "equal-bytes")],
    "modern-table": ["modern-table"],
}
"""Study → its pictures."""


def digest(study: str) -> str:
    """What the stored results of a study are told by."""
    results = json.dumps(gathered(study).results, sort_keys=True)
    return f"{study} {hashlib.sha256(results.encode()).hexdigest()[:16]}"


PAGES = {
    "../README.md": {"first-example": first_example},
    "concepts.md": CONCEPTS,
    "bad-networks.md": network_pictures.PICTURES
    | of_study("bad-networks", *STUDIES["bad-networks"]),
    "compare.md": {"compare": compare},
    "clip-or-normalize.md": of_study("clip-or-normalize", *STUDIES["clip-or-normalize"]),
    "reproduce.md": of_study("modern-table", *STUDIES["modern-table"]),
}
PICTURES = {name: made for pictures in PAGES.values() for name, made in pictures.items()}


def draw(name: str, folder: Path = FOLDER) -> Path:
    """Draw one picture; what is written on those of studies, which is much, stays text."""
    from matplotlib import rc_context

    path = folder / f"{name}.svg"
    made_of = [digest(study) for study, names in STUDIES.items() if name in names]
    with style(), rc_context({"svg.fonttype": "none"} if made_of else {}):
        metadata = {"Date": None, "Source": " ".join(made_of) or None}
        path.write_text(for_both(PICTURES[name](), metadata), encoding="utf-8")
    return path


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        print(draw(chosen))
