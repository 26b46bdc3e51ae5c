"""Clip or normalize, over heterogeneity, tails and networks."""
