"""Several processes that are one node: each holds a part of its parameters, and talks for it."""

from gossamer.distributed.inside.crew import Crew
from gossamer.distributed.inside.local import PartLocal
from gossamer.distributed.inside.mesh import groups_of
from gossamer.distributed.inside.parameters import PartParameters
from gossamer.distributed.inside.part import step_of_part

__all__ = ["Crew", "PartLocal", "PartParameters", "groups_of", "step_of_part"]
