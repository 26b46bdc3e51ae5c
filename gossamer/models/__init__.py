"""Models: the GPT of the GT-NSGDm paper, for one node and for many nodes at once."""

from gossamer.models.gpt import GPT

__all__ = ["GPT"]
