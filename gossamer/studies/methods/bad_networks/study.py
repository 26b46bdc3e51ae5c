"""Which method survives which network: lost, one-way, short and rare messages, under two noises."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import torch

from gossamer.algorithms import GTAdam
from gossamer.experiments import Experiment, Figures, Results, SizeName, Table, Unit, Verdict
from gossamer.studies.methods.bad_networks.on_network import OnNetwork, admitted, bytes_per_step
from gossamer.studies.methods.bad_networks.picture import figure_of
from gossamer.studies.methods.bad_networks.reading import (
    in_situation,
    ours_on_bad_networks,
    show_multiple,
)
from gossamer.studies.methods.bad_networks.situations import (
    DIM,
    METHODS,
    NETWORKS,
    NOISES,
    PARTS,
    unit_name,
)
from gossamer.studies.methods.bad_networks.tables import tables_of
from gossamer.studies.methods.bad_networks.verdicts import verdicts_of
from gossamer.studies.methods.compared import Alike, Different
from gossamer.studies.methods.standing import OURS
from gossamer.studies.searched import Method, Size
from gossamer.studies.synthetic.task import NODES
from gossamer.text import listing


@dataclass(frozen=True, kw_only=True)
class NetworksSize(Size):
    """How long, how often and how widely, and how long at equal bytes."""

    whole_steps: int
    """At equal bytes, the steps of a method with a tracker while messages are whole."""

    extensions: int

    def of_part(self, part: str, network: str, algorithm: Method) -> "NetworksSize":
        """With as many steps as the part of the study says."""
        if part != "equal bytes":
            return self
        whole = _bytes_per_step(GTAdam, "clean")
        steps = round(self.whole_steps * whole / _bytes_per_step(algorithm, network))
        return replace(self, steps=steps)


@cache
def _bytes_per_step(algorithm: Method, network: str) -> float:
    return bytes_per_step(algorithm, NETWORKS[network], DIM, torch.float32)


class BadNetworks(Experiment[NetworksSize]):
    """Tuned in every situation, reported on fresh seeds."""

    name = "bad-networks"
    study = "methods"
    title = "Which method survives which network"
    about = (
        "Eighteen methods on 20 nodes and eleven networks: a 2-hop ring; a one-way network, whose "
        "nodes are heard by two others and hear one to four; the ring when 30 % of the "
        "messages are lost, links failing both ways, messages failing one way, or links staying "
        "dead for 10 rounds on average; when messages carry the top tenth of the coordinates, four "
        "bits of each, or signs; when nodes talk in every fifth step only; and two compositions: "
        "10 % loss with four bits in every fifth step, and the one-way network with 10 % loss and "
        "the top fifth in every second step. Noise is N(0, 3) or Student-t with 1.5 degrees of "
        "freedom in each of 20 coordinates. Nodes differ, their optima some 10 apart in every "
        "coordinate; some networks are tried with nodes that are alike, too. In every situation "
        "every method is tuned by halving on its search set, which is extended where its best "
        "lies on the edge, with tuning seeds, and runs as many steps on fresh seeds. A method that "
        "needs a balanced network runs by push-sum where there is none; one that would go to the "
        "wrong point there is refused. At equal bytes, every method runs until a node has sent as "
        "much as a tracking method sends in few steps with whole messages: short and rare messages "
        "buy steps. Messages are of 20 numbers, so that the scale which goes "
        "with four bits or signs is a large part of them; a model would gain more."
    )

    sizes: ClassVar[Mapping[SizeName, NetworksSize]] = {
        "test": NetworksSize(
            steps=16, whole_steps=2, tuning_seeds=1, fresh_seeds=2, every=6, extensions=0
        ),
        "quick": NetworksSize(steps=500, whole_steps=40, tuning_seeds=1, every=3, extensions=1),
        "full": NetworksSize(steps=5_000, whole_steps=400, tuning_seeds=3, extensions=12),
    }

    def units(self, size: NetworksSize, seed: int) -> list[Unit]:
        """A unit per part, network, noise and method that is not refused there."""
        different = Different(NODES, DIM, 10.0, seed)
        return [
            OnNetwork(
                unit_name(part, network, noise, method),
                **size.of_part(part, network, kind).search((kind, grid), seed),
                network=NETWORKS[network],
                noise=NOISES[noise],
                nodes=Alike(NODES, seed) if part == "alike" else different,
                extensions=size.extensions,
            )
            for part, networks in PARTS.items()
            for network in networks
            for noise in NOISES
            for method, (algorithm, grid) in METHODS.items()
            if (kind := admitted(algorithm, grid, NETWORKS[network])) is not None
        ]

    def finding(self, results: Results) -> str:
        """How GT-NSGDm fares on bad networks, and who ends lowest there."""
        worst = max(ours_on_bad_networks(results).values())
        places = [(network, noise) for network in NETWORKS for noise in NOISES]
        best = [next(iter(in_situation(results, "different", *place))) for place in places]
        often = [f"{method} in {count}" for method, count in Counter(best).most_common(3)]
        return (
            f"On {len(NETWORKS) - 1} bad networks the error of {OURS} is at most "
            f"{show_multiple(worst)} times that on the clean one. It is the lowest of all methods "
            f"in {best.count(OURS)} of {len(best)} situations; most often lowest are "
            f"{listing(often)}."
        )

    def figures(self, results: Results) -> Figures:
        """A matrix for every part."""
        return {f"{self.name}-{part.replace(' ', '-')}": figure_of(results, part) for part in PARTS}

    def tables(self, results: Results) -> list[Table]:
        """What to choose, who survives, all errors, bytes, and what the searches chose."""
        return tables_of(results)

    def verdicts(self, results: Results) -> list[Verdict]:
        """Who survives everything, where GT-NSGDm loses, what heavy tails need, what bytes buy."""
        return verdicts_of(results)
