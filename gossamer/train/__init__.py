"""Train a model on real processes, by names; `gossamer train --help` says how."""

from gossamer.train.training import train

__all__ = ["train"]
