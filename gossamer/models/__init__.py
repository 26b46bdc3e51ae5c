"""Models: the paper's GPT, and its form stacked over many nodes."""

from gossamer.models.gpt import GPT

__all__ = ["GPT"]
