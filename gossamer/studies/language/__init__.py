"""Transformers: the table of the paper, and what its noise looks like."""
