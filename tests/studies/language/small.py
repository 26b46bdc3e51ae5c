"""A task and a unit small enough for tests: a tiny GPT on artificial text."""

import dataclasses
from typing import Any

import gossamer as gs
from gossamer.studies.language.task import NETWORKS, SIZES, Task
from gossamer.studies.language.tuned import FEW, OnOneNode, Settings, TunedPerNetwork

SMALL = SIZES["test"].task(Task("causal", stride=5, epochs=12), seed=0)


def tuned(
    algorithm: type[gs.Algorithm[Any]],
    settings: Settings,
    networks: tuple[str, ...] = ("ring",),
    **changes: Any,
) -> TunedPerNetwork:
    """A method on the small task, tuned with one seed and reported on two."""
    return TunedPerNetwork(
        "small",
        algorithm=algorithm,
        settings=settings,
        task=dataclasses.replace(SMALL, **changes),
        networks={name: NETWORKS[name] for name in networks},
        search=OnOneNode(FEW),
        tuning_seeds=(500,),
        fresh_seeds=(0, 1),
    )
