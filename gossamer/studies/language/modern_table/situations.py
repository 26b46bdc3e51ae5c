"""On which corpora methods are trained, which methods, and losses printed elsewhere."""

import dataclasses

from gossamer.studies.language.task import Task, TinyShakespeare

CAUSAL = Task("causal", stride=32, epochs=20, dropout=0.1, style="pytorch")

TASKS = {
    "Multi30k": CAUSAL,
    "Tiny Shakespeare": dataclasses.replace(CAUSAL, text=TinyShakespeare()),
}
ENDS = {"Multi30k": (".",), "Tiny Shakespeare": ("\n", "\n")}
"""What ends a caption, and a speech, which begins with the speaker's name."""

PARAMETERS = {"Multi30k": 3_018_240, "Tiny Shakespeare": 422_144}

PRINTED = {
    "Multi30k": {
        "DSGD": 4.634,
        "Normalized DSGD": 4.386,
        "DSGD-GClip": 4.375,
        "DSGD-CClip": 3.962,
    },
    "Tiny Shakespeare": {
        "DSGD": 2.357,
        "Normalized DSGD": 1.966,
        "DSGD-GClip": 1.980,
        "DSGD-CClip": 1.725,
    },
}
"""arXiv 2610.10527, Table 2, which calls DSGD-GClip "DSGD-Clip" and Normalized DSGD "DSGD-N"."""

PUBLISHED = tuple(PRINTED["Multi30k"])
FAMILY = ("GT-NSGDm", "GT-LayerNSGDm", "GT-SignSGDm", "DeMuon")
FIRST = (*PUBLISHED, *FAMILY, "GT-Adam")
MOVED = (*FAMILY, "GT-Adam")
"""The methods that are trained elsewhere, too."""


def tuned_name(corpus: str, method: str) -> str:
    """The unit of a method on a corpus."""
    return f"{corpus} {method}"


def elsewhere_name(corpus: str, method: str) -> str:
    """The unit of a method on a corpus, at other places."""
    return f"{corpus} elsewhere {method}"


def shards_name(corpus: str) -> str:
    """The unit of a corpus itself."""
    return f"{corpus} shards"
