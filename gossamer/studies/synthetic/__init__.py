"""The study of the paper on robust regression."""
