"""How far do methods come on bad networks? docs/bad-networks.md shows what this writes.

Writes benchmarks/bad_networks.json:

    python benchmarks/bad_networks.py

Ten nodes with quadratics of their own in 20 dimensions. Every network gets the same parameters, so
that only the network differs; nothing is tuned for any of them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gossamer as gs
from gossamer.provenance import versions

RESULT = Path(__file__).with_suffix(".json")
PROBLEM = gs.Quadratic(10, 20, condition=10, spread=3)
STEPS, SEEDS = 3000, range(3)
NOISE = gs.StudentT(df=1.5, scale=0.2)

RING, DIGRAPH = gs.ring(10), gs.random_digraph(10, degree=2)
NETWORKS = (
    RING,
    DIGRAPH,
    RING.drops(0.3),
    RING.drops(0.3, both_ways=True),
    RING.drops(0.3, burst=5),
    RING.compressed(gs.TopK(0.1)),
    RING.compressed(gs.QSGD(4)),
    RING.compressed(gs.Sign()),
    RING.every(5),
    RING.accelerated(3),
    gs.random_matching(10),
    DIGRAPH.drops(0.1).compressed(gs.TopK(0.1)).every(2),
)

Situation = tuple[gs.Algorithm[Any], gs.Noise | None]
SITUATIONS: dict[str, Callable[[], Situation]] = {
    "GT-DSGD, no noise": lambda: (gs.GTDSGD(lr=0.05), None),
    "GT-NSGDm, t(1.5)": lambda: (gs.GTNSGDm(lr=0.005, momentum=0.9), NOISE),
    "GT-DSGD, t(1.5)": lambda: (gs.GTDSGD(lr=0.005), NOISE),
}


def measure(network: gs.Network, situation: str) -> list[float]:
    """Final error of every seed."""
    method, noise = SITUATIONS[situation]()
    options: dict[str, Any] = {"steps": STEPS, "record_every": STEPS, "metrics": ["error"]}
    run = gs.simulate(method, PROBLEM, network, noise=noise, seeds=SEEDS, **options)
    return run.metrics["error"][-1].tolist()


def main() -> None:
    start = float((PROBLEM.start - PROBLEM.optimum).norm())
    result: dict[str, Any] = {"versions": versions(), "start": start, "steps": STEPS, "rows": []}
    for network in NETWORKS:
        errors = {situation: measure(network, situation) for situation in SITUATIONS}
        result["rows"].append({"network": network.name, "errors": errors})
        print(network.name, errors, flush=True)
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
