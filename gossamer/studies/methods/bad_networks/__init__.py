"""Which method survives which network."""
