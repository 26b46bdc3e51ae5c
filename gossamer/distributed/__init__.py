"""The library's methods on real processes, with `torch.distributed`: each rank is one node."""

from gossamer.distributed.checkpoint import export, read_nodes
from gossamer.distributed.exchange import NeighborExchange
from gossamer.distributed.failures import Diverged, PeerFailure
from gossamer.distributed.launch import join
from gossamer.distributed.optimizer import DecentralizedOptimizer
from gossamer.distributed.resume import Checkpoints
from gossamer.distributed.sampler import MinibatchSampler

__all__ = [
    "Checkpoints",
    "DecentralizedOptimizer",
    "Diverged",
    "MinibatchSampler",
    "NeighborExchange",
    "PeerFailure",
    "export",
    "join",
    "read_nodes",
]
