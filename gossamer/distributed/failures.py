"""What is known when an exchange fails."""

from collections.abc import Sequence


class PeerFailure(RuntimeError):
    """A neighbour died or fell silent: the message names this rank, the edges and the step."""

    def __init__(self, rank: int, edges: Sequence[tuple[int, int]], step: int, reason: str) -> None:
        self.rank, self.edges, self.step, self.reason = rank, list(edges), step, reason
        links = ", ".join(f"{sender} → {receiver}" for sender, receiver in self.edges)
        super().__init__(f"rank {rank}, step {step}: exchange failed on edge {links} ({reason})")

    def __reduce__(self) -> tuple[type["PeerFailure"], tuple[object, ...]]:
        return type(self), (self.rank, self.edges, self.step, self.reason)
