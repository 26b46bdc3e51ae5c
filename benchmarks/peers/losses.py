"""What the second table compares: a ring that is whole, that loses messages, that compresses them.

Every tool is told the same and nothing more; what it makes of a lost or a short message is its own.
"""

import json
from importlib.metadata import version

NODES, ROUNDS = 10, 5000
LOST = 0.01
"""Probability of each message to be lost, one way."""

SENT = 0.1
"""Share of the coordinates that a message holds, the largest."""

SLOWER = 1 / 3
"""Step size, of that of the first table: with it all of these methods are stable."""

NORMALIZED = 0.005
"""Length of the steps of GT-NSGDm."""

SEEDS = {"whole": 1, "lossy": 3, "compressed": 1}
"""How often each network is run: nothing is random about two of them."""


def answer_errors(package: str, method: str, network: str, errors: list[float]) -> None:
    """Report one method on one network: its final error for each seed."""
    facts = {"package": package, "version": version(package), "method": method}
    print(json.dumps({**facts, "network": network, "errors": errors}), flush=True)
