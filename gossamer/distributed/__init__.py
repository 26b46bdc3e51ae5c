"""The same methods on real processes: torch.distributed, one node per rank."""

from gossamer.distributed.exchange import NeighborExchange
from gossamer.distributed.failures import PeerFailure
from gossamer.distributed.launch import join
from gossamer.distributed.optimizer import DecentralizedOptimizer

__all__ = ["DecentralizedOptimizer", "NeighborExchange", "PeerFailure", "join"]
