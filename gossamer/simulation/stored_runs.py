"""The runs of one task in a store: a file of records per piece of work, and one to go on from."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gossamer.networks.link_names import from_named, named
from gossamer.sealed import read_sealed, write_sealed
from gossamer.simulation.block import Block, Piece
from gossamer.simulation.checkpoint import Checkpoint
from gossamer.simulation.leg import Leg
from gossamer.simulation.shelf import Shelf

RECORDS, STATE = ".records.safetensors", ".state.safetensors"

SHARE = 20
"""Writing takes a twentieth of the time at most: where states are large, files are rarer."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of the stored runs."""

    runs: Sequence[str]
    """The key of every run."""

    metrics: Mapping[str, str]
    """Name → fingerprint."""

    record_steps: Sequence[int]
    needs_x: bool

    @property
    def steps(self) -> int:
        """T."""
        return self.record_steps[-1]

    def steps_after(self, start: int, end: int) -> set[int]:
        """The records on the way from `start` to `end`; the first step has one of its own."""
        first = {0} if start == 0 else set()
        return first | {t for t in self.record_steps if start < t <= end}


class StoredRuns(Shelf):
    """What a store has of the runs that are wanted.

    Args:
        folder: of the task.
        wanted: of its runs.
        state_type: of the method.
        seconds: between two files.
    """

    def __init__(self, folder: Path, wanted: Wanted, state_type: type, seconds: float) -> None:
        super().__init__(len(wanted.runs))
        self._folder, self._wanted, self._state_type = folder, wanted, state_type
        self.turn = self._seconds = seconds
        self.computed = 0
        self._places: dict[str, list[int]] = {}
        for run, key in enumerate(wanted.runs):
            self._places.setdefault(key, []).append(run)
        self._source = torch.full_like(self.reached, -1)
        self._passing: dict[Path, set[str]] = {}
        """Files of states → the runs that have not gone on from there."""
        read = sorted(read_pieces(folder), key=lambda r: (r.of.start, -r.of.end, r.of.path.name))
        self._files = [records.of for records in read]
        for number, records in enumerate(read):
            self._take(number, records)
        self._drop_dead_ends()

    def _take(self, number: int, records: "StoredRecords") -> None:
        """Add the piece to the runs that it continues."""
        wanted, file = self._wanted, records.of
        rows = {key: row for row, key in enumerate(file.runs)}
        pairs = [(row, run) for key, row in rows.items() for run in self._places.get(key, [])]
        here, ids = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).unbind(1)
        fits = (self.reached[ids] == file.start) & (file.start < wanted.steps)
        if not bool(fits.any()) or not file.answers(wanted):
            return
        piece, ids = records.piece(wanted, self._state_type).select(here[fits]), ids[fits]
        self.pieces.append((ids, piece))
        self.reached[ids] = torch.where(piece.going_on, min(piece.end, wanted.steps), wanted.steps)
        self._source[ids] = number

    def _drop_dead_ends(self) -> None:
        """Runs that have not arrived and cannot go on, their state being removed, begin anew."""
        unfinished = self.reached < self._wanted.steps
        stateless = [not file.state.exists() for file in self._files]
        dead = unfinished & torch.tensor([*stateless, False])[self._source]
        self.reached[dead] = 0
        self._source[dead] = -1
        self.pieces = [(ids[~dead[ids]], piece.select(~dead[ids])) for ids, piece in self.pieces]

    def _legs(self, ids: Tensor) -> list[Leg]:
        """Where the runs are, file by file."""
        sources = self._source[ids]
        legs = [Leg(ids[sources < 0], None)]
        for number in sources[sources >= 0].unique().tolist():
            own, file = ids[sources == number], self._files[number]
            if file.is_passing:
                self._passing[file.state] = set(file.runs)
            keys = [self._wanted.runs[run] for run in own.tolist()]
            legs.append(Leg(own, file.checkpoint(keys, self._state_type)))
        return [leg for leg in legs if len(leg.ids) > 0]

    def keep(self, block: Block, piece: Piece) -> None:
        """Write what came of a block, then remove what it has gone on from."""
        started = time.monotonic()
        keys = [self._wanted.runs[run] for run in block.ids.tolist()]
        passing = piece.end < block.end
        stored = write_piece(self._folder, keys, self._wanted.metrics, piece, passing)
        for state, waiting in list(self._passing.items()):
            waiting.difference_update(keys)
            if not waiting:
                state.unlink(missing_ok=True)
                del self._passing[state]
        if passing:
            self._passing[stored.state] = {
                key for key, on in zip(keys, piece.going_on.tolist(), strict=True) if on
            }
        self.computed += piece.run_steps
        self.turn = max(self._seconds, SHARE * (time.monotonic() - started))


@dataclass(frozen=True)
class StoredPiece:
    """A piece of work, as its file tells; without its records."""

    path: Path

    facts: dict[str, Any]
    """Where it begins and ends, and of which runs and metrics it is."""

    diverged_at: Tensor
    """Of every run."""

    @property
    def start(self) -> int:
        """The step at which it begins."""
        return int(self.facts["start"])

    @property
    def end(self) -> int:
        """The step at which it ends."""
        return int(self.facts["end"])

    @property
    def runs(self) -> list[str]:
        """The keys of its runs."""
        return list(self.facts["runs"])

    @property
    def is_passing(self) -> bool:
        """Whether it was written on the way, to lose nothing, and not at an end."""
        return bool(self.facts["passing"])

    @property
    def state(self) -> Path:
        """Where its runs ended."""
        return self.path.with_name(self.path.name.removesuffix(RECORDS) + STATE)

    def answers(self, wanted: Wanted) -> bool:
        """Whether it has every record, and at the last step the parameters, that are wanted."""
        measured = self.facts["metrics"]
        if any(measured.get(name) != digest for name, digest in wanted.metrics.items()):
            return False
        on_the_way = wanted.steps_after(self.start, min(self.end, wanted.steps))
        if not on_the_way <= set(self.facts["steps"]):
            return False
        if not wanted.needs_x or self.end < wanted.steps:
            return True
        return self.end == wanted.steps and self.state.exists()

    def checkpoint(self, keys: Sequence[str], state_type: type) -> Checkpoint:
        """Where these of its runs ended."""
        going_on = (self.diverged_at < 0).tolist()
        finite = [key for key, on in zip(self.runs, going_on, strict=True) if on]
        place = {key: row for row, key in enumerate(finite)}
        return read_state(self.state, state_type).select(torch.tensor([place[k] for k in keys]))


@dataclass(frozen=True)
class StoredRecords:
    """A piece of work with its records."""

    of: StoredPiece

    metrics: dict[str, Tensor]
    """Name → `(records, runs)`."""

    def numbers(self) -> Iterator[tuple[tuple[str, int, str, str], float]]:
        """Every number after the key of its run, its step, and the metric with its fingerprint."""
        facts = self.of.facts
        for name, values in self.metrics.items():
            digest = facts["metrics"][name]
            for step, by_run in zip(facts["steps"], values.tolist(), strict=True):
                for run, value in zip(self.of.runs, by_run, strict=True):
                    yield (run, step, name, digest), value

    def piece(self, wanted: Wanted, state_type: type) -> Piece:
        """What was recorded, with the parameters if they are wanted and this is the last step."""
        of, point = self.of, None
        metrics = {name: self.metrics[name] for name in wanted.metrics}
        if wanted.needs_x and of.end == wanted.steps:
            point = read_state(of.state, state_type)
        return Piece(of.start, of.facts["steps"], metrics, of.diverged_at, of.end, point)


def read_pieces(folder: Path) -> list[StoredRecords]:
    """Read the pieces of work of a task, every file once."""
    return [_read_piece(path) for path in folder.glob(f"*{RECORDS}")]


def _read_piece(path: Path) -> StoredRecords:
    way_out = "delete it, and only what it held is computed again"
    tensors, told = read_sealed(path, "store", way_out)
    facts = json.loads(told["piece"])
    metrics = {name: tensors[f"metrics.{name}"] for name in facts["metrics"]}
    return StoredRecords(StoredPiece(path, facts, tensors["diverged_at"]), metrics)


def write_piece(
    folder: Path, keys: Sequence[str], metrics: Mapping[str, str], piece: Piece, passing: bool
) -> StoredPiece:
    """The state first: records without it would be a dead end."""
    assert piece.checkpoint is not None
    span = {"start": piece.start, "end": piece.end, "steps": piece.steps, "passing": passing}
    facts = {**span, "metrics": dict(metrics), "runs": list(keys)}
    told = json.dumps(facts)
    digest = hashlib.sha256(told.encode()).hexdigest()[:12]
    path = folder / f"{piece.start:09}-{piece.end:09}-{digest}{RECORDS}"
    stored = StoredPiece(path, facts, piece.diverged_at)
    write_state(stored.state, piece.checkpoint)
    tensors = {f"metrics.{name}": values for name, values in piece.metrics.items()}
    write_sealed(path, tensors | {"diverged_at": piece.diverged_at}, {"piece": told})
    return stored


def write_state(path: Path, point: Checkpoint) -> None:
    """Write where runs are, whole or not at all."""
    tensors = {"x": point.x, **{f"state.{k}": field for k, field in enumerate(point.state)}}
    tensors |= {f"links.{name}": z for name, z in named(point.links).items()}
    tensors |= {f"generators.{seed}": drawn for seed, drawn in point.generators.items()}
    write_sealed(path, tensors, {"point": json.dumps({"t": point.t, "sites": len(point.links)})})


def read_state(path: Path, state_type: type) -> Checkpoint:
    """Read what `write_state` wrote; executes nothing from the file."""
    tensors, told = read_sealed(path, "store", "delete it, and its runs are computed again")
    facts = json.loads(told["point"])
    links = from_named(_under("links.", tensors), facts["sites"])
    fields = [tensors[f"state.{k}"] for k in range(len(state_type._fields))]  # type: ignore[attr-defined]
    drawn = {int(seed): state for seed, state in _under("generators.", tensors).items()}
    return Checkpoint(facts["t"], tensors["x"], state_type(*fields), links, drawn)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those of whose names this is the beginning, by the rest.

    >>> list(_under("links.", {"links.0.copy": torch.ones(1), "x": torch.ones(1)}))
    ['0.copy']
    """
    return {k.removeprefix(prefix): z for k, z in tensors.items() if k.startswith(prefix)}
