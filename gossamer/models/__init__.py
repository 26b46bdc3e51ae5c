"""Models: the GPT of the GT-NSGDm paper."""

from gossamer.models.gpt import GPT

__all__ = ["GPT"]
