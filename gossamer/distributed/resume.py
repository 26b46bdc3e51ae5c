"""Save and resume a real run, at steps on which all ranks agree."""

import errno
import os
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gossamer.distributed.agreement import who_says_what
from gossamer.distributed.checkpoint import (
    NodeRecord,
    discard,
    knows_of_others,
    mark_complete,
    prune,
    read_node,
    steps_of_node,
    write_node,
)
from gossamer.distributed.folders import (
    begins,
    has_begun,
    has_saved,
    own_folder,
    require_alone,
    require_own_files,
)
from gossamer.distributed.inside.mesh import whole
from gossamer.distributed.links.refusals import require_same_links
from gossamer.distributed.model_state import ModelState, load_local, state_of
from gossamer.distributed.optimizer import DecentralizedOptimizer
from gossamer.distributed.ownership import FILE
from gossamer.distributed.packs import pack, require_readable, unpack
from gossamer.distributed.param_groups import ParamGroups, group_values
from gossamer.distributed.random_state import rng_state, set_rng_state
from gossamer.distributed.same_run import (
    Offer,
    Otherwise,
    Saved,
    first_difference,
    newest_of_all,
    require_newest,
    require_nothing_lost,
    warn_of_replaced,
    who_has_what,
)
from gossamer.errors import InvalidInput, require
from gossamer.user_line import warn_user

KEPT = 2
"""Checkpoints kept: the newest, and the one to fall back on."""


@runtime_checkable
class Stateful(Protocol):
    """A scheduler, a sampler, a GradScaler, a module: anything with a state dict."""

    def state_dict(self) -> dict[str, Any]: ...  # noqa: D102

    def load_state_dict(self, state_dict: Any) -> Any: ...  # noqa: D102


class Checkpoints:
    """Saves the state of a run in `folder` and resumes it; the two newest steps are kept.

    A checkpoint contains each node's parameters, algorithm state, `links`, step, hyper-parameters,
    counts and random number generators, the model's buffers and frozen parameters, and the
    `state_dict()` of each of `extras`. A rank reads and writes the files of its own node only. So
    the ranks may share the folder, or each may have a local one.

    Args:
        folder: where the files are. Two optimizers of one program need two folders. If the
            optimizer's process group does not contain all processes, the files are in a subfolder
            that is named after its ranks.
        optimizer: the optimizer whose parameters and state are saved.
        model: the module that the parameters belong to. Its buffers and frozen parameters are then
            saved, too, and `export` can write its complete state dict. None if the parameters
            belong to no module.
        extras: further objects with a `state_dict` and a `load_state_dict`, each as a keyword
            argument, e.g. `scheduler=scheduler`.

    >>> # checkpoints = Checkpoints("runs/a", optimizer, model, scheduler=scheduler)
    >>> # checkpoints.resume()
    >>> # while optimizer.steps < 1000:
    >>> #     ...; optimizer.step(); scheduler.step()
    >>> #     if optimizer.steps % 100 == 0: checkpoints.save()
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        optimizer: DecentralizedOptimizer,
        model: nn.Module | None,
        **extras: Stateful,
    ) -> None:
        for name, extra in extras.items():
            need = "an object with state_dict and load_state_dict"
            way_out = "a MinibatchSampler, for example, remembers its place in the data"
            require(isinstance(extra, Stateful), name, type(extra).__name__, need, way_out)
        own = group_folder(optimizer.group, optimizer.crew.size)
        self.folder = Path(folder) / optimizer.crew.gather(own)[0]
        self.optimizer, self.model, self.extras = optimizer, model, extras
        asked = self._hyperparameters() | self._schedules()
        self._asked = asked if optimizer.steps == 0 else {}
        self._tried = False  # whether what the script saves can be read back
        self.original_rank = optimizer.number
        """The rank that this node had at first; after nodes were dropped, `resume` finds it."""
        self._model_state()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            problem = f"folder: cannot write to {folder} ({reason.strerror}); choose another"
            raise InvalidInput(problem) from reason

    def save(self) -> None:
        """Write this node's file; a collective.

        Older files are deleted when all ranks have written theirs. If a rank cannot write its file,
        e.g. because its disk is full, all ranks raise the same `OSError`, and the older checkpoints
        stay. You may catch it and go on. If a node has several processes, the first of them gathers
        the parts of all and writes the file.
        """
        found, need = "a call inside averaged_parameters()", "one outside: x would be lost"
        require(not self.optimizer.holds_average, "save", found, need)
        require_own_files(self.optimizer, self.folder)
        if not has_begun(self.optimizer, self.folder):
            self._warn_of_later()
        self.optimizer.come_to_rest()
        save = self._own_folder()
        self._require_one_step()
        self._require_written(self.optimizer.gather(partial(self._write, save)))
        if self.optimizer.crew.position == 0:
            mark_complete(self.folder, self.optimizer.steps, self.optimizer.rank)
            prune(self.folder, self.optimizer.rank, self.optimizer.steps, KEPT)
        has_saved(self.optimizer, self.folder)

    def resume(self) -> int:
        """Load the newest step that all ranks can read, and return it; 0 if there is none.

        The files of a step must come from the same `save`. If a run is killed while it saves a
        step, and saves this step again after a restart, its files may come from both; such a step
        is skipped. Files that are damaged or belong to another run are skipped with a warning.
        Another run is one with another method, another number of nodes, or parameters with other
        names or shapes or in another order. All ranks raise an error in three cases: if files were
        skipped and no step is left that all ranks can read; if some ranks have checkpoints and
        others have lost theirs; and if a newer step was saved with a different number of nodes, or
        with other parameters, e.g. after layers were unfrozen. So a run that has checkpoints never
        starts again from the beginning, or from a step before nodes were dropped, unless you delete
        or move files. The only exception is a run that was killed while it saved for the first
        time: it starts again, with a warning.

        The hyper-parameters in the param groups are those of the checkpoint. Only those to which
        the script gives a schedule follow that schedule, from the step of the checkpoint. If the
        script has given a hyper-parameter another value or schedule since the checkpoint was
        written, a warning names it.

        It is a collective, except on a rank that `admit` let in. That rank already has the state
        of the others, and the call only returns the step at which it came in.
        """
        if self.optimizer.came_at is not None:
            return self.optimizer.came_at
        require_alone(self.optimizer, self.folder)
        self._own_folder()
        step = self._resume()
        begins(self.optimizer, self.folder)
        return step

    def _warn_of_later(self) -> None:
        """Warn of a step that an earlier run has left, since it is no reason to refuse a save."""
        last = max(steps_of_node(self.folder, self.optimizer.rank), default=0)
        if last > self.optimizer.steps and self.optimizer.rank == 0:
            left = f"{self.folder} holds step {last} of an earlier run, which was not resumed"
            warn_user(f"{left}: resume() and export() use the newest step; delete the old ones")

    def _own_folder(self) -> str:
        """Keep other trainings out of the folder; returns a name for what is saved next."""

        def said() -> tuple[str, str]:
            return own_folder(self.optimizer, self.folder), secrets.token_hex(8)

        holders, names = zip(*self.optimizer.gather(said), strict=True)
        holder = next(filter(None, holders), "")
        found = f"{self.folder}, where another training saves its checkpoints ({holder})"
        lost = f"delete {self.folder / FILE} if its machine has crashed"
        way_out = f"end that training first, {lost}, or choose another folder"
        require(not holder, "folder", found, "one for each training", way_out)
        return str(names[0])

    def _require_one_step(self) -> None:
        """Refuse to save what no step of all ranks has."""
        said = self.optimizer.gather(lambda: f"step {self.optimizer.steps}")
        found = who_says_what(said[:: self.optimizer.crew.size])
        way_out = "call save() after until_all_end(), or after as many steps on all ranks"
        require(not found, "checkpoint", f"ranks apart ({found})", "the same step on all", way_out)

    def _resume(self) -> int:
        own: list[tuple[Offer, dict[int, NodeRecord]]] = []

        def offer() -> dict[str, Any]:
            own.append(self._readable())
            return own[-1][0]._asdict()

        offers = [Offer.of(said) for said in self.optimizer.gather(offer)]
        newest = newest_of_all(offers)
        mine, records = own[-1]
        if newest is None:
            require_nothing_lost(offers)
            if records:
                warn_user(f"passed over: no save of all ranks; {who_has_what(offers)}")
            return 0
        require_newest(newest, offers)
        for problem in mine.problems:
            warn_user(f"passed over: {problem}")
        self._load(records[newest])
        self._tell_who_goes_on()
        return newest

    def _tell_who_goes_on(self) -> None:
        """Ranks that were renumbered after a drop may otherwise go on with the data of others."""
        former = self.optimizer.gather(lambda: self.original_rank)[:: self.optimizer.crew.size]
        others = [
            f"rank {now} goes on as the former rank {before}"
            for now, before in enumerate(former)
            if now != before
        ]
        if others and self.optimizer.rank == 0:
            warn_user(f"after a drop, {', '.join(others)}")

    def _model_state(self) -> ModelState:
        """The model's state dict now: parameters may be unfrozen on the way."""
        if self.model is None:
            return ModelState(self.optimizer.parameter_names(), {}, {})
        return state_of(self.model, self.optimizer.parameters())

    def _parameters(self) -> list[tuple[str, list[int]]]:
        """Name and shape of each."""
        shapes = [list(p.shape) for p in self.optimizer.parameters()]
        return list(zip(self._model_state().names, shapes, strict=True))

    def _hyperparameters(self) -> dict[str, Any]:
        """What the param groups hold now, by a name that tells the groups apart."""
        algorithm = self.optimizer.algorithm
        names = {"weight_decay", *algorithm.arguments} - {*algorithm.scheduled}
        return _by_name(self.optimizer.param_groups, names)

    def _schedules(self) -> dict[str, Any]:
        """What they follow, by the same names."""
        algorithm = self.optimizer.algorithm
        followed = {name: str(algorithm.arguments[name]) for name in algorithm.scheduled}
        return _by_name([followed] * len(self.optimizer.param_groups), followed)

    def _write(self, save: str) -> tuple[int, str]:
        """Write the record; returns the number of the error and what it says, if it fails."""
        record = self._record(save)
        try:
            if self.optimizer.crew.position == 0:
                write_node(self.folder, record)
        except OSError as reason:
            where = f" ({reason.filename})" if reason.filename else ""
            return (
                reason.errno or errno.EIO,
                f"rank {self.optimizer.number}: {reason.strerror or reason}{where}",
            )
        return 0, ""

    def _require_written(self, said: Iterable[tuple[int, str]]) -> None:
        """Raise the same error on all ranks if some could not write their files."""
        failed = [(number, problem) for number, problem in said if problem]
        if failed:
            discard(self.folder, self.optimizer.steps, self.optimizer.rank)
            raise OSError(failed[0][0], "; ".join(problem for _, problem in failed))

    def _record(self, save: str) -> NodeRecord:
        optimizer, model = self.optimizer, self._model_state()
        vectors = {
            "x": optimizer.x,
            **{f"state.{name}": z for name, z in optimizer.algorithm_state._asdict().items()},
            **{f"links.{name}": z for name, z in optimizer.links.items()},
        }
        return NodeRecord(
            step=optimizer.steps,
            node=optimizer.rank,
            num_nodes=optimizer.network.num_nodes,
            algorithm=type(optimizer.algorithm).__name__,
            network=optimizer.network.name,
            parameters=self._parameters(),
            tensors={
                **{name: optimizer.whole(z) for name, z in vectors.items()},
                **{f"model.{name}": whole(z) for name, z in model.local.items()},
                **self._packed(),
            },
            seed=optimizer.seed,
            tied=model.tied,
            save=save,
            original_rank=self.original_rank,
        )

    def _packed(self) -> dict[str, Tensor]:
        """What each process of the node resumes with besides."""
        live = self._live()
        if not self._tried:
            require_readable("extras", live["extras"])
            options = (option for group in live["param_groups"] for option in group.items())
            require_readable("param_groups", dict(options))
            self._tried = True
        packs = self.optimizer.crew.gather_bytes(pack({"rng": rng_state(), **live}))
        return {
            _pack_of(process): torch.frombuffer(bytearray(content), dtype=torch.uint8)
            for process, content in enumerate(packs)
        }

    def _live(self) -> dict[str, Any]:
        options = [
            {name: group[name] for name in group if name != "params"}
            for group in self.optimizer.param_groups
        ]
        extras = {name: extra.state_dict() for name, extra in self.extras.items()}
        counts = self.optimizer.counts
        return {"param_groups": options, "asked": self._asked, "counts": counts, "extras": extras}

    def _readable(self) -> tuple[Offer, dict[int, NodeRecord]]:
        """What this node can resume from: files that belong to this run, and why others do not."""
        node, records = self.optimizer.rank, dict[int, NodeRecord]()
        offer = Offer(str(self.folder), [], [], [], knows_of_others(self.folder, node))
        for step in steps_of_node(self.folder, node):
            try:
                record = read_node(self.folder, step, node)
                offer.otherwise.extend(self._otherwise(record))
                self._require_same_run(record)
                records[step] = record
                offer.saved.append(Saved(step, record.save))
            except InvalidInput as reason:
                offer.problems.append(str(reason))
        return offer, records

    def _otherwise(self, record: NodeRecord) -> list[Otherwise]:
        """How the run would have to be started to resume this, if it is another one by that."""
        optimizer, nodes, differ = self.optimizer, record.num_nodes, self._difference(record)
        if nodes != optimizer.network.num_nodes:
            way_out = f"start {nodes * optimizer.crew.size} processes"
            return [Otherwise(record.step, f"with {nodes} nodes", way_out)]
        if differ and record.algorithm == type(optimizer.algorithm).__name__:
            how = f"with other parameters ({differ[0]} instead of {differ[1]})"
            way_out = "give the optimizer the parameters that were trained then, in the same order"
            return [Otherwise(record.step, how, way_out)]
        return []

    def _difference(self, record: NodeRecord) -> tuple[str, str] | None:
        """The first parameter that is another one, as it was saved and as it is now."""
        ours = self._parameters()
        dim = sum(p.numel() for p in self.optimizer.parameters())
        return first_difference(record.parameters, [("x", [dim])] if record.simulated else ours)

    def _require_same_run(self, record: NodeRecord) -> None:
        optimizer, step = self.optimizer, f"at step {record.step}"
        dim = sum(p.numel() for p in optimizer.parameters())
        ours = type(optimizer.algorithm).__name__, optimizer.network.num_nodes, dim
        theirs = record.algorithm, record.num_nodes, record.dim
        need = f"(algorithm, nodes, parameters) = {ours}"
        require(theirs[:2] == ours[:2], "checkpoint", f"{theirs} {step}", need)
        before, now = self._difference(record) or ("", "")
        require(before == now, "checkpoint", f"{before} {step}", now)
        saved, crew = sum(name.startswith("resume") for name in record.tensors), optimizer.crew
        need = f"{crew.size}, as now"
        require(saved in (0, crew.size), "checkpoint", f"{saved} processes per node", need)
        if record.links:
            require_same_links(record, optimizer.network, optimizer.seed)

    def _load(self, record: NodeRecord) -> None:
        part = self.optimizer.part
        packed = record.tensors.get(_pack_of(self.optimizer.crew.position))  # of a simulation: none
        saved = unpack(packed) if packed is not None else None
        if saved:
            self._require_same_parts(saved, record)
        fields = self.optimizer.algorithm_state._fields
        state = {name: part(record.tensors[f"state.{name}"]) for name in fields}
        links = {name: part(z) for name, z in record.links.items()}
        self.optimizer.restore(record.step, part(record.tensors["x"]), state, links)
        if record.original_rank is not None:
            self.original_rank = record.original_rank
        if saved:
            load_local(self._model_state().local, record.local)
            self._continue_from(saved)

    def _require_same_parts(self, saved: Mapping[str, Any], record: NodeRecord) -> None:
        step, model = record.step, _shapes(self._model_state().local)
        way_out = "resume with what was saved, or in a new folder"
        held = f"a model with {_shapes(record.local) or 'no'} frozen parameters and buffers"
        need = f"{model or 'no'} ones"
        require(_shapes(record.local) == model, "checkpoint", held, need, way_out)
        ours, theirs = self.optimizer.param_groups, saved["param_groups"]
        found = f"{len(theirs)} param groups and extras {sorted(saved['extras'])} at step {step}"
        need = f"{len(ours)} param groups and extras {sorted(self.extras)}"
        same = len(ours) == len(theirs) and set(self.extras) <= set(saved["extras"])
        require(same, "checkpoint", found, need, way_out)

    def _continue_from(self, saved: Mapping[str, Any]) -> None:
        for group, options in zip(self.optimizer.param_groups, saved["param_groups"], strict=True):
            group.update(options)
        self.optimizer.count_from(saved["counts"])
        for name, extra in self.extras.items():
            extra.load_state_dict(saved["extras"][name])
        set_rng_state(saved["rng"])
        self._follow_schedules()
        warn_of_replaced(self._asked, saved.get("asked", {}), self._hyperparameters())

    def _follow_schedules(self) -> None:
        """Let the param groups show those of the script, whatever the checkpoint's run followed."""
        algorithm = self.optimizer.algorithm
        shown = algorithm.at(max(0, self.optimizer.steps - 1)).arguments
        for group in self.optimizer.param_groups:
            group.update({name: shown[name] for name in algorithm.scheduled})


def group_folder(group: dist.ProcessGroup | None, processes: int = 1) -> str:
    """The folder of a group of some nodes, by their ranks; all have none of their own.

    >>> group_folder(None)
    ''
    """
    if group is None or dist.get_world_size(group) * processes == dist.get_world_size():
        return ""
    ranks = dist.get_process_group_ranks(group)
    strides = {after - before for before, after in pairwise(ranks)}
    if len(ranks) > 2 and len(strides) == 1:
        return f"ranks-{ranks[0]}-to-{ranks[-1]}-by-{strides.pop()}"
    return "ranks-" + "-".join(map(str, ranks))


def _by_name(groups: ParamGroups, names: Iterable[str]) -> dict[str, Any]:
    """What the groups hold; where there is one group, its number is left out."""
    one = len(groups) == 1
    values = group_values(groups, sorted(names))
    return {name.removesuffix(" of param group 0" * one): z for name, z in values.items()}


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, list[int]]:
    return {name: list(z.shape) for name, z in tensors.items()}


def _pack_of(process: int) -> str:
    """The name of what a process of a node resumes with."""
    return f"resume.{process}" if process else "resume"
