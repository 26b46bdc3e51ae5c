"""The theorems, lemmas and remarks of the paper, measured."""
