"""Training of models on real processes; `gossamer train --help` says how."""

from gossamer.train.training import train

__all__ = ["train"]
