"""Models: the paper's GPT, for one node and for many nodes at once."""

from gossamer.models.gpt import GPT

__all__ = ["GPT"]
