"""Every method of the library as a torch optimizer, one node per process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NoReturn, overload

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT, StateDict

from gossamer.algorithms import Algorithm, Local
from gossamer.algorithms.local import STREAM
from gossamer.algorithms.mixing import state_dtype
from gossamer.distributed.agreement import about_network
from gossamer.distributed.collectives import Interrupted, rank_in, size_of
from gossamer.distributed.company import Company, all_processes, patient_store
from gossamer.distributed.exchange import NeighborExchange, Overlap
from gossamer.distributed.failures import Diverged, PeerFailure
from gossamer.distributed.flat import FlatParameters
from gossamer.distributed.hyperparameters import (
    ScheduledAlgorithm,
    WeightDecay,
    require_weight_decay,
    value_of,
)
from gossamer.distributed.inside import Crew, PartLocal, PartParameters, groups_of
from gossamer.distributed.inside.mesh import local, require_whole
from gossamer.distributed.launch import is_late, join
from gossamer.distributed.links.refusals import (
    require_links,
    require_no_waiting,
    require_nothing_owed,
    require_taken_up,
)
from gossamer.distributed.mailboxes import Posted
from gossamer.distributed.newcomer import Newcomer, come_late
from gossamer.distributed.node import Node, Overflow, apart, is_finite, joined
from gossamer.distributed.param_groups import frozen, group_values, in_short, mixed, names_of
from gossamer.distributed.random_state import replaying, rng_state
from gossamer.distributed.refusals import (
    require_all_processes,
    require_kinds,
    require_node_per_process,
    require_own,
    require_same_node,
    warn_of_rounded,
)
from gossamer.distributed.rendezvous import processes_here
from gossamer.distributed.shown_state import show, take_exactly, take_in, take_x
from gossamer.distributed.survivors import Survivors, require_drop
from gossamer.distributed.unequal import Announced, AtOwnPace, Unequal
from gossamer.distributed.without_compiler import without_compiler
from gossamer.errors import InvalidInput, refuse, require, whole
from gossamer.fit import require_fit
from gossamer.memory import keep_all_freed_memory
from gossamer.native.passes import Vector
from gossamer.native.threads import use_spare_cores
from gossamer.networks import LinkMemory, Network
from gossamer.networks.chance import Coins
from gossamer.networks.link_names import from_named, has_copies, in_flight, named
from gossamer.user_line import warn_user
from gossamer.version import __version__

OnPeerFailure = Literal["raise", "drop"]

COUNTS = ("bytes_sent", "nonfinite_grads")
"""What is counted over a whole run, its resumes included."""

PICKLED = ("algorithm", "network", "seed", "message_dtype", "timeout", "overlap", "wait", *COUNTS)
"""What goes into a pickle besides torch's own; the rest is made anew."""


class DecentralizedOptimizer(Optimizer):
    """A torch optimizer that runs `algorithm` on this process's model as one node of a network.

    Each process, called a rank, has its own model and its own data. Rank i is node i of `network`
    and exchanges messages with its neighbours only. A step is the algorithm's `step`, applied to
    the vector x of all parameters of the model. Each `mix` in that step, i.e. each weighted average
    with the neighbours, is an exchange of messages. Hyper-parameters are in the param groups, where
    torch's schedulers find them, and the algorithm's state is in `self.state[p]`. All ranks must
    take the same number of steps, except within `until_all_end` and with `wait=False`.

    Creating the optimizer is a collective, i.e. a call that all ranks must make together. The ranks
    must agree on algorithm, network, shapes of the parameters, hyper-parameters and step. All of
    them start from the parameters of rank 0.

    A gradient that contains an inf or a NaN is replaced by 0. So the node still takes its step, and
    its neighbours need not wait for it. `nonfinite_grads` counts these gradients. If x itself would
    become non-finite, all ranks raise `Diverged`, which names the first such node and its step.

    Args:
        params: parameters, named parameters or param groups. If a group has a `weight_decay` μ,
            each step also subtracts lr · μ · x from x, in addition to what the method does.
            Parameters that do not require a gradient start equal on all ranks, and are not mixed
            until they require one. From then on they stay mixed: if such a parameter is frozen
            again, its gradient counts as 0.
        algorithm: a method of `gossamer.algorithms`. If one of its hyper-parameters is a
            `Schedule`, all param groups follow it and show its value at the last step. Torch's
            schedulers may change the other hyper-parameters.
        network: a network with one node per process (with `device_mesh`, one per node of the mesh),
            or a function that makes the network for a given number of nodes, e.g. `gs.ring`.
        process_group: the processes that take part; by default all that were launched together. The
            optimizer calls `join` for processes that torchrun launched. A process that was launched
            alone is a network of one node.
        device_mesh: given instead of `process_group` if a node consists of several processes. It is
            a `DeviceMesh` of torch: the first dimension counts the nodes, the second one the
            processes of a node. The processes of a node train one model, by `fully_shard` or
            `DistributedDataParallel` along the second dimension. Each of them updates its own part
            of x and exchanges messages with the processes that update the same part in other
            nodes. With `fully_shard` a process stores its own part of the model only. With
            `DistributedDataParallel` it stores the whole model, and after every step the processes
            of the node send each other their parts.
        seed: determines the random choices of the network (lost messages, random links, random
            numbers of compressors) and the random numbers of the method. It must be the same on
            all ranks. A simulation with this seed makes the same choices.
        message_dtype: dtype of the messages. If it is narrower than the parameters' dtype, messages
            are rounded, see `NeighborExchange`.
        timeout: seconds that a neighbour may be silent before it counts as failed. This holds for
            gloo; with NCCL the timeout of the process group applies.
        overlap: whether messages travel while the next gradient is computed. This needs a method
            with messages that do not depend on that gradient, e.g. `GTNSGDm` with
            `order="combine-then-adapt"`. The steps are bit for bit the same as without overlap. The
            parameters must not be changed between two steps. "auto" takes 5 steps to warm up, then
            20 without overlap and 20 with it, and keeps the faster choice; with NCCL it means True.
        wait: whether a step waits for the messages of its neighbours. With `wait=False` it uses the
            messages that have arrived, and late ones count in a later step. So each rank takes
            steps at its own pace. Only methods with a tracker, i.e. with gradient tracking, are
            allowed. With these, the optimum of the average objective is still the only point at
            which the nodes can come to rest. With `wait=False`, call collectives only after the
            `until_all_end` block. Inside the block they fail if a rank has already come to its end,
            because that rank no longer takes part.
        on_peer_failure: with "raise", the failure of a node ends the run on every rank. With
            "drop", the others go on without the failed node, and the method's state restarts from
            the current x, unless the method says `state_is_own` (see `Algorithm`).
        min_nodes: with "drop", the number of nodes that must be left for the run to go on. With
            fewer, all ranks raise `PeerFailure`. The default is the smallest number that is more
            than half of the original nodes.

    >>> from gossamer.algorithms import GTNSGDm
    >>> from gossamer.networks import ring
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.init.constant_(model.weight, 1.0)
    >>> optimizer = DecentralizedOptimizer(model.parameters(), GTNSGDm(lr=0.1, momentum=0.8), ring)
    >>> model(torch.tensor([3.0, 4.0])).sum().backward()
    >>> optimizer.step()
    >>> model.weight.data                                    # 1 − 0.1 · (3, 4)/5
    tensor([[0.9400, 0.9200]])
    """

    _step_supports_amp_scaling = True  # else GradScaler skips step(), and the neighbours wait
    holds_average = False
    """Whether the model's parameters are x̄ now, within `averaged_parameters`."""
    _unequal: Unequal | None = None  # within until_all_end
    _broken = ""  # which step was not taken to its end, and by what
    came_at: int | None = None
    """The step at which `admit` let this rank in; None if it took part from the beginning."""
    _came_with: Sequence[int] = ()
    """Whom that call of `admit` let in, until this rank has come to the call itself."""
    _company: Company
    _flat: FlatParameters
    _node: Node

    def __init__(
        self,
        params: ParamsT,
        algorithm: Algorithm[Any],
        network: Network | Callable[[int], Network],
        *,
        seed: int = 0,
        process_group: dist.ProcessGroup | None = None,
        device_mesh: DeviceMesh | None = None,
        message_dtype: torch.dtype | None = None,
        timeout: float = 60.0,
        overlap: Overlap = False,
        wait: bool = True,
        on_peer_failure: OnPeerFailure = "raise",
        min_nodes: int | None = None,
    ) -> None:
        require_kinds(algorithm, network)
        words = ("raise", "drop")
        require(on_peer_failure in words, "on_peer_failure", on_peer_failure, f"one of {words}")
        require_drop(min_nodes, on_peer_failure)
        join(timeout)
        keep_all_freed_memory()
        self.algorithm, self.message_dtype, self.timeout = algorithm, message_dtype, timeout
        self.seed, self.overlap, self.wait = whole("seed", seed, 0), overlap, wait
        self.bytes_sent = 0
        self.nonfinite_grads = 0
        group, crew = _nodes_of(process_group, device_mesh, timeout, on_peer_failure)
        super().__init__(params, {"weight_decay": 0.0} | algorithm.at(0).arguments)
        survivors, newcomer = None, None
        if is_late():
            joining = [p for group in mixed(self.param_groups, self.state) for p in group]
            needs = self._lasting_facts(joining)
            newcomer = come_late(network, timeout, on_peer_failure, min_nodes, needs)
        if dist.is_initialized():
            use_spare_cores(processes_here(dist.get_world_size()))
        if newcomer:
            survivors, network = newcomer.survivors, newcomer.survivors.network()
        elif on_peer_failure == "drop":
            everyone = range(require_all_processes(group or all_processes()))
            survivors = Survivors(patient_store(timeout), network, everyone, timeout, min_nodes)
        here = rank_in(group or all_processes()) >= 0
        require(here, "process_group", "one without this process", "one that it is in")
        built = _network_of(network, size_of(group or all_processes()))
        require_fit(algorithm, built)
        self._company = Company(self._interrupted, built, timeout, group, crew, survivors)
        if not wait:
            self._require_no_waiting()
        self._link()
        nccl = self._company.uses_nccl
        require(not (survivors and nccl), "on_peer_failure", "drop", "raise with NCCL")
        way_out = 'pass process_group=torch.distributed.new_group(backend="gloo")'
        require(wait or not nccl, "wait", "False with NCCL", "True, or gloo", way_out)
        self._come_in(newcomer) if newcomer else self._begin()

    def _require_no_waiting(self) -> None:
        alone, way_out = self.crew.size == 1, "take one process per node"
        require(alone, "wait", "False for nodes of several processes", "True", way_out)
        require_no_waiting(self.algorithm, self.network)

    def _begin(self) -> None:
        """Start together with all others."""
        if self._company.meets_by_store:
            self._agree()  # through the store, with seals: else they do not know who is linked
        self._company.require_secret()
        if not self._agreed:
            self._agree()
        self._company.start_equal([self.x, *map(local, frozen(self.param_groups, self.state))])
        self._flat.show()

    # ------------------------------------------------------------------ what a user reads

    @property
    def steps(self) -> int:
        """Number of steps taken, which is also the index t of the next step."""
        return self._node.t

    @property
    def rank(self) -> int:
        """The number of this process's node in the network."""
        return self._company.rank

    @property
    def number(self) -> int:
        """The `rank` that this process had when the run began, before nodes were dropped."""
        return self._company.number

    @property
    def run(self) -> str:
        """A name that all ranks of this run share, and no other run has; "" if it is alone."""
        return self._company.run

    @property
    def network(self) -> Network:
        """The network of the nodes that take part."""
        return self._company.network

    @property
    def group(self) -> dist.ProcessGroup | None:
        """The process group that connects the nodes; None for a process that was launched alone."""
        return self._company.group

    @property
    def crew(self) -> Crew:
        """The processes of this node; `crew.size` is their number, 1 without a `device_mesh`."""
        return self._company.crew

    @property
    def x(self) -> Tensor:
        """This node's parameters as one vector, `(dim,)`; writing into it changes the model.

        In two cases writing into it does not change the model, and `restore` must be used instead.
        If the node has several processes, it is a copy of this process's part of the vector. For a
        model in bfloat16 or float16, it is the float32 copy of the parameters that steps update.
        """
        self._flat.relink()
        return self._flat.buffer

    @property
    def algorithm_state(self) -> Any:
        """The algorithm's state, a named tuple of `(dim,)` or `(1,)` tensors.

        You may write into these tensors.
        """
        return self._node.state

    @property
    def links(self) -> dict[str, Tensor]:
        """The tensors that this node's links keep from step to step, by name; {} on most networks.

        A name begins with the number of the mix in a step, e.g. in `GTNSGDm` 0 for the trackers and
        1 for x. "0.in_flight.<receiver>" is the part of a tracker that has not reached its receiver
        yet. With compressed messages, "1.copy" is what the neighbours know about this node's x, and
        "1.copy.<sender>" is what this node knows about a neighbour's. Compressed messages that were
        lost and must be sent again are kept, too. With `wait=False`, call `come_to_rest` before you
        read `links`.
        """
        found, need = "totals that are under way", "all ranks at rest"
        way_out = "call come_to_rest() on all ranks first, or read it after until_all_end()"
        require(self._node.exchange.at_rest, "wait", found, need, way_out)
        return named(self._node.links)

    @property
    def counts(self) -> dict[str, int]:
        """The counts `bytes_sent` and `nonfinite_grads` of this rank since the run began."""
        return {name: getattr(self, name) for name in COUNTS}

    def parameters(self) -> list[Tensor]:
        """The parameters that are mixed, in the order in which `x` contains them."""
        return self._flat.params

    def whole(self, z: Tensor) -> Tensor:
        """Joins the parts `z` of all processes of the node, e.g. their `x`, into one vector.

        A collective of the processes of a node. If the node has one process, it returns `z`.
        """
        return self._flat.whole(z)

    def part(self, z: Tensor) -> Tensor:
        """This process's part of the node's whole vector `z`; the inverse of `whole`."""
        return self._flat.part(z)

    def parameter_names(self) -> list[str]:
        """The names of `parameters()`; "parameter_0", … if the optimizer was given no names."""
        return names_of(self.param_groups, self._flat.params)

    @torch.no_grad()
    def mean(self) -> Tensor:
        """x̄ = (1/n) Σ x_i, the average of all nodes' parameters, `(dim,)`; a collective."""
        self._warn_of_differences()
        return self._company.average(self.x)

    def _warn_of_differences(self) -> None:
        """Schedulers that are stepped unequally, or by local losses, are noticed here."""
        found = self._company.differences(self._shared_values) if self.wait else ""
        if found:
            advice = "step schedulers equally often, and with equal values, on all ranks"
            warn_user(f"step {self.steps}: {found}; {advice}")

    @torch.no_grad()
    def consensus_error(self) -> float:
        """(1/n) Σ ‖x_i − x̄‖, the disagreement of the nodes; a collective."""
        difference = self.x - self.mean()
        with self._as_one_node():
            distance = self.crew.norm(difference)
        return float(self._company.average(distance.view(1)))

    def _require_own_parameters(self, call: str) -> None:
        found, need = "a call inside averaged_parameters()", "one outside: it would be lost there"
        require(not self.holds_average, call, found, need)

    @contextmanager
    def averaged_parameters(self) -> Iterator[None]:
        """A context in which the model's parameters are x̄, the average over all nodes.

        When it ends, the model has its own parameters again. Entering it is a collective.
        """
        own, average = self.x.clone(), self.mean()
        try:
            self.holds_average = True
            self._move(average)
            yield
        finally:
            self._move(own)
            self.holds_average = False

    def gather(self, say: Callable[[], Any]) -> list[Any]:
        """The values that `say()` returns on all ranks, in the order of the ranks; a collective.

        Values are sent as JSON, so they must consist of numbers, strings, lists and dictionaries.
        If ranks are dropped meanwhile, `say` is called again. If nodes have several processes, the
        values of all processes of node 0 come first, then those of node 1, and so on.
        """
        return self._company.gather(say)

    def _interrupted(self, reason: str) -> None:
        self._recover(PeerFailure(self.rank, [], self.steps, reason))

    def _move(self, x: Tensor) -> None:
        self.x.copy_(x)
        with self._as_one_node():
            self._flat.show()

    # ------------------------------------------------------------------ the step

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Take one step of the algorithm; returns the loss if there is a `closure`.

        Without a closure, the gradients must have been computed before. A `closure` must clear the
        gradients, compute the loss of this step's batch, call `backward` and return the loss. It is
        evaluated at the current parameters before the step begins. Some methods, e.g. `GTNSTORM`,
        need a second gradient of the same batch at another point. With these methods a closure is
        required, and it is evaluated again at that point, with the same random numbers.
        """
        self._require_own_parameters("step")
        if self._unequal:
            self._unequal.require_announced(self.steps)
        loss, before = None, rng_state() if self.algorithm.asks_local else {}
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        joining = mixed(self.param_groups, self.state)
        if sum(map(len, joining)) > len(self._flat.params):  # some were unfrozen
            self._link_more()
        if not self._agreed:
            self._agree()
        self._set_hyperparameters(self.steps)
        elsewhere = partial(self._grad_at, closure, before)
        with self._as_one_node():
            grad = self._finite_grad()
            if self._unequal:
                self._unequal.grad = joined(grad)  # a copy: gradients change where they are
            self._advance(grad, elsewhere)
        return loss

    def _set_hyperparameters(self, t: int) -> None:
        """Those of step t."""
        now, x = (t, self.param_groups, self._flat.sizes), self.x
        self._node.algorithm = self._scheduled.at(*now, like=x)
        if "weight_decay" not in self.algorithm.arguments:  # else it is the method's own
            self._node.decay = self._decay.at(*now[1:], like=x)

    @contextmanager
    def _as_one_node(self) -> Iterator[None]:
        """Within, another process of this node may be found to be gone, or silent."""
        try:
            yield
        except Interrupted as reason:
            self._interrupted(f"inside its node: {reason}")

    def _advance(self, grad: Vector, elsewhere: Callable[[Tensor], Tensor]) -> None:
        """A step of the node, however many of its neighbours fail on the way."""
        self._company.require_running()
        taken = self.steps
        with self._unbroken():
            while self.steps == taken:
                try:
                    self._node.advance(grad, *self._asked_for(elsewhere))
                except PeerFailure as failure:
                    self._recover(failure)
                except Overflow as overflow:
                    self._diverge(overflow.own)
            self._show_moved()
        self.bytes_sent += self._node.exchange.take_bytes_sent()

    @contextmanager
    def _unbroken(self) -> Iterator[None]:
        """Within, what breaks a step off halfway, e.g. Ctrl-C, ends the run."""
        step = self.steps
        try:
            yield
        except (PeerFailure, Diverged, Interrupted, InvalidInput):
            raise  # it is as it was before
        except BaseException as reason:
            if self._company.size > 1:  # else nobody has heard of half a step
                self._broken = f"step {step} was broken off by {type(reason).__name__}"
                self._company.end(self._broken)
            raise

    def _asked_for(self, elsewhere: Callable[[Tensor], Tensor]) -> tuple[Local, ...]:
        """What the step is given beside its arguments, if it asks for it."""
        if not self.algorithm.asks_local:
            return ()
        if isinstance(self._flat, PartParameters):
            return (PartLocal(self.steps, elsewhere, self._flat.layout),)
        coins = Coins.of(self.seed, torch.tensor(self.rank, device=self.x.device), STREAM)
        shapes = [p.shape for p in self._flat.params]
        return (Local(self.steps, elsewhere, coins, shapes),)

    def _grad_at(
        self, closure: Callable[[], float] | None, before: Mapping[str, Any], point: Tensor
    ) -> Tensor:
        """The gradient at `point`, with the random numbers that come after the state `before`."""
        if closure is None:
            asking = f"{type(self.algorithm).__name__}, which asks for a gradient at another point"
            need = "a closure that computes the loss of this step's batch and its gradients"
            refuse("closure", f"none for {asking}", need, "call optimizer.step(closure)")
        own, grads = self.x.clone(), [p.grad for p in self._flat.params]
        self._place(point, [None] * len(grads))
        try:
            with torch.enable_grad(), replaying(before):
                closure()
            return joined(self._finite_grad())
        finally:
            self._place(own, grads)

    def _place(self, x: Tensor, grads: Sequence[Tensor | None]) -> None:
        """Let the model have these parameters and gradients."""
        self._move(x)
        for p, grad in zip(self._flat.params, grads, strict=True):
            p.grad = grad

    def _recover(self, failure: PeerFailure, comers: Sequence[tuple[int, int]] = ()) -> None:
        """Go on without the failed nodes, or end the run here and thereby at the neighbours."""
        try:
            words = self._company.regroup(failure, self.steps, self._greeting(), comers)
        finally:
            self._node.exchange.forget()
        furthest = max(word["step"] for word in words.values())
        self._node.reconnect(self._connected(), furthest if self.wait else self.steps)
        self._company.hand_over(words)

    # ------------------------------------------------------------------ ranks with less data

    @contextmanager
    def until_all_end(self, steps: int | None = None) -> Iterator[None]:
        """A context in which each rank takes as many steps as it has data for.

        When a rank comes to the end of the block, it goes on taking steps with the last gradient
        that it computed (0 if there is none), until all ranks have come to the end. With the
        repeated gradient, the sum of the trackers remains the sum of the last gradients of all
        nodes. So the optimum of the average objective is still the only point at which the nodes
        can come to rest. With gradient 0 instead, the others would move to an optimum that ignores
        this node. The disadvantage is that the noise of the last gradient is repeated as well.

        With `wait=True`, each rank must announce its number of steps. In the end all ranks have
        taken the same number, which is the largest one announced. With `wait=False`, a rank repeats
        its last gradient at its own pace, and these steps are not counted. In the end
        `come_to_rest` is called, and `steps` becomes the largest number that any rank has taken.
        Leaving the block is a collective. Entering it is one with `wait=True`. With `wait=False`,
        entering is one only if the optimizer was loaded, copied or resumed since its last step.

        Args:
            steps: how many steps this rank will take in the block; not needed with `wait=False`.

        >>> # with optimizer.until_all_end(len(batches)):
        >>> #     for batch in batches:
        >>> #         ...; optimizer.step()
        """
        if not self._agreed:
            self._agree()
        grad = torch.zeros_like(self.x)
        if self.wait:
            self._unequal = Announced(grad, self._company, self.steps, steps)
        else:
            self._unequal = AtOwnPace(grad, self._company, self.steps)
        try:
            yield
            self._end_together(self._unequal)
        finally:
            self._unequal = None

    @property
    def someone_has_ended(self) -> bool:
        """With `wait=False`, whether some rank has come to the end of its `until_all_end` block.

        It is always False outside of such a block. The answer may be 50 ms old.
        """
        return self._unequal is not None and self._unequal.someone_has_ended

    @torch.no_grad()
    def _end_together(self, unequal: Unequal) -> None:
        """At the end of this rank's data, go on until all ranks have come to theirs."""
        self._node.t = unequal.go_on(self.steps, self._repeat)
        self._set_hyperparameters(max(0, self.steps - 1))  # as after a step that all have taken
        self._show_state()
        self.come_to_rest()

    def _repeat(self, grad: Tensor, t: int) -> int:
        """A step with a gradient of before and the hyper-parameters of step t; the next step."""
        self._set_hyperparameters(t)
        if not self._agreed:
            self._agree()
        with self._as_one_node():
            self._advance(grad, lambda _: grad)
        return self.steps

    def come_to_rest(self) -> None:
        """With `wait=False`, wait until all totals that are in transit have arrived; a collective.

        A total, e.g. a gradient tracker, is a quantity whose sum over the nodes must not change
        when the nodes mix. After this call `state_dict()` and `links` include what has arrived.
        `Checkpoints.save` makes the call itself. With `wait=True` it does nothing.
        """
        if self.wait:
            return
        exchange = self._node.exchange
        told = self.gather(exchange.posted)
        if exchange is not self._node.exchange:  # some rank was dropped: all have begun anew
            return
        posted = [[Posted(*one) for one in theirs] for theirs in told]
        try:
            with self._unbroken():
                self._node.links = exchange.bring_in(self._node.links, posted)
        except PeerFailure as failure:
            self._recover(failure)

    # ------------------------------------------------------------------ newcomers

    def admit(self) -> list[int]:
        """Let waiting nodes join the run, and return their numbers; a collective.

        These are nodes that were started again after a failure, and new nodes. They start at the
        average x̄ of the other nodes, so x̄ does not change. They take over the step and the
        hyper-parameters of the others. All ranks then form a new process group, and the network is
        rebuilt for the new number of nodes. The method's state restarts from x, so that e.g.
        trackers again sum to the gradients of all nodes, unless the method says `state_is_own` (see
        `Algorithm`). Needs `on_peer_failure="drop"`.

        A node that does not fit, e.g. because it has another method or other parameters, is refused
        with an error, and the others go on with a warning that says why.

        A node that joins runs the program from its beginning. It takes part in everything that the
        others do after the call of `admit` that let it in. If its own program calls `admit` before
        its first step, this call returns at once, with the same numbers as that of the others.
        """
        self._require_own_parameters("admit")
        came_with, self._came_with = list(self._came_with), ()
        if came_with and self.steps == self.came_at:
            return [number for number in came_with if number in self._company.numbers]
        survivors = self._company.survivors
        if survivors is None:
            way_out = 'create it with on_peer_failure="drop" on all ranks'
            refuse("on_peer_failure", "raise", '"drop" to admit', way_out)
        comers, refused = self.gather(partial(self._at_the_door, survivors))[0]
        for problem in refused:
            warn_user(f"step {self.steps}: {problem}")
        numbers = sorted(number for _, number in comers)
        if fresh := survivors.fresh(comers):
            self._recover(PeerFailure(self.rank, [], self.steps, f"{numbers} come in"), fresh)
        if comers:
            self._settle(numbers)
        return [number for number in numbers if number in self._company.numbers]

    def _at_the_door(self, survivors: Survivors) -> Sequence[Any]:
        """The first rank says who comes in, and why others cannot."""
        if self.rank > 0:
            return [], []
        return survivors.waiting(self._lasting_facts(self._flat.params))

    def _greeting(self) -> dict[str, Any]:
        """What newcomers are told."""
        names = ["weight_decay", *self.algorithm.arguments]
        options = [{name: value_of(group[name]) for name in names} for group in self.param_groups]
        return {"options": options, "run": self._company.run}

    def _come_in(self, newcomer: Newcomer) -> None:
        """Take over what the others have."""
        entry, mine = newcomer.entry, newcomer.words[self.rank]
        self._company.same_network = True  # they build it as the others do
        self.came_at, self._company.together.acts = mine["step"], mine["acts"]
        self._came_with = entry["comers"]
        self._company.hear_of(entry["run"])
        for group, options in zip(self.param_groups, entry["options"], strict=True):
            group.update(options)
        self._node.place(mine["step"], self.x, self.algorithm_state)
        self._company.hand_over(newcomer.words)
        self._settle(entry["comers"])

    def _settle(self, comers: Sequence[int]) -> None:
        """All ranks and newcomers become one run; a collective."""
        average = self._company.average(self.x, comers)
        if self.rank not in self._company.members(comers):
            self._move(average)
        self._company.start_equal(frozen(self.param_groups, self.state), comers)
        self._node.reconnect(self._connected(), self.steps)
        self._show_moved()
        self._agree()

    def _diverge(self, own: bool) -> NoReturn:
        """End the run on all ranks, before an x that is not finite goes further."""
        lr = {f"{group['lr']:g}" for group in self.param_groups if "lr" in group}
        way_out = f"lower lr, {' and '.join(sorted(lr))}, or go back to a checkpoint before it"
        where = f"node {self._company.number}: x is no longer finite in step {self.steps}"
        self._company.diverge(f"{where}; {way_out}", own)

    def _finite_grad(self) -> Vector:
        """This node's gradient, unscaled, in pieces; 0 if some component is not finite."""
        scale = getattr(self, "grad_scale", None)  # set by GradScaler
        in_place = scale is None and self.crew.size == 1
        pieces = self._flat.grads_in_place() if in_place else None
        if pieces is None:
            pieces = [self._flat.gather_grads()]
        if scale is not None:
            pieces[0].div_(scale)
        if self.crew.agree(is_finite(pieces)):
            return pieces
        self.nonfinite_grads += 1
        _warn_nonfinite(self.nonfinite_grads, self._company.number, self.steps)
        return torch.zeros_like(self._flat.buffer)

    # ------------------------------------------------------------------ start and restart

    def state_dict(self) -> StateDict:
        """This node's state and hyper-parameters in torch's format.

        It also contains `counts`, `links` and the number of the node. For a model in bfloat16 or
        float16, the state of each parameter contains its float32 copy, under the name "exact".
        """
        if self._broken:
            warn_user(f"{self._broken}: its state may be half changed; go back to a checkpoint")
        own = {"counts": self.counts, "links": self.links, "node": self._company.number}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` returned on the same rank.

        Each rank must load its own state dict. That of another rank is refused, because the
        trackers would be wrong for the rest of the run. The next `step()` checks that all ranks
        have taken the same number of steps.
        """
        self._require_own_parameters("load_state_dict")
        require_own(state_dict, self.algorithm, self.algorithm_state._fields)
        require_same_node(state_dict, self._company.number)
        require_links(state_dict, self.network)
        super().load_state_dict(state_dict)
        take_exactly(self.state, self.param_groups, state_dict)
        self._node.links = self._memory(state_dict.get("links", {}))
        if self._flat.is_apart:
            warn_of_rounded(state_dict)
            with self._as_one_node():
                self._flat.show()
        self.count_from(state_dict.get("counts", {}))  # torch.distributed.checkpoint keeps none

    @torch.no_grad()
    def restore(
        self,
        step: int,
        x: Tensor,
        state: Mapping[str, Tensor],
        links: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Continue at `step` with the parameters `x` and the fields of the algorithm's state.

        `links` is an earlier value of the property `links`. Without it, the links begin as in a new
        run. The next `step()` checks that all ranks have taken the same number of steps.
        """
        self._require_own_parameters("restore")
        self._flat.relink()
        kept = self.algorithm_state._asdict()  # totals have a precision of their own
        own = {name: z.to(kept[name], copy=True) for name, z in state.items()}
        self._node.place(step, x, self.algorithm_state._replace(**own), self._memory(links or {}))
        self._show_moved()
        self._agreed = False

    def count_from(self, counts: Mapping[str, int]) -> None:
        """Continue counting from earlier `counts`; counts that are not given do not change."""
        for name in COUNTS:
            setattr(self, name, counts.get(name, getattr(self, name)))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; all ranks start from the values that rank 0 has. A collective."""
        without_compiler(Optimizer.add_param_group)(self, param_group)
        require_weight_decay(self.param_groups[-1])
        if hasattr(self, "_node"):
            self._require_own_parameters("add_param_group")
            self._link_more()
            self._agree()
            self._company.start_equal(list(map(local, self.param_groups[-1]["params"])))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to None, or with `set_to_none=False` to zero."""
        without_compiler(Optimizer.zero_grad)(self, set_to_none)

    def __getstate__(self) -> dict[str, Any]:
        found, need = 'a copy or a pickle of an optimizer with "drop"', 'one with "raise"'
        way_out = "make a new optimizer, and give it this one's state_dict()"
        require(self._company.survivors is None, "on_peer_failure", found, need, way_out)
        own = {name: getattr(self, name) for name in PICKLED}
        return {**super().__getstate__(), **own, "_links": self.links}

    def __setstate__(self, state: dict[str, Any]) -> None:
        links, network = state.pop("_links", {}), state.pop("network", None)
        super().__setstate__(state)
        if network is not None:  # of a pickle, not of a state dict
            self._company = Company(self._interrupted, network, self.timeout)
        self._link()
        self._node.links = self._memory(links)

    @torch.no_grad()
    def _link(self) -> None:
        """Make parameters and state views of flat buffers, with the values they have."""
        if hasattr(self, "_node"):
            self._node.exchange.forget()
        self._flat = self._held(mixed(self.param_groups, self.state))
        x = self._flat.buffer
        take_x(self.state, self._flat)
        state = apart(self.algorithm.at(0).init(x), x)
        step = take_in(self.state, self._flat, state._asdict())
        self._company.device = x.device
        self._node = Node(self.algorithm, x, state, self._connected(), step, crew=self.crew)
        self._scheduled, self._decay = ScheduledAlgorithm(self.algorithm), WeightDecay()
        self._show_state()
        self._agreed = False

    def _held(self, groups: list[list[Tensor]]) -> FlatParameters:
        """What this process holds of its node's parameters."""
        if self.crew.size > 1:
            return PartParameters(groups, self.crew)
        require_whole([p for group in groups for p in group])
        return FlatParameters(groups)

    def _link_more(self) -> None:
        """Take in parameters that join: links begin anew, but for totals that are in flight."""
        self.come_to_rest()
        require_nothing_owed(self.network, self.links)
        before, links = self._flat, self._node.links
        self._link()
        self._node.links = in_flight(links, lambda z: self._flat.taken_over(z, before))

    def _memory(self, links: Mapping[str, Tensor]) -> LinkMemory:
        require_taken_up(links, self.network, self.wait)
        return from_named({name: z.to(self.x.device) for name, z in links.items()})

    def _connected(self) -> NeighborExchange:
        options = (self.message_dtype, self._company.patience, self.seed, self.overlap, self.wait)
        exchange = NeighborExchange(self.network, self.rank, self.x, self.group, *options)
        exchange.take_lane(self._company.lane)
        return exchange

    def _show_state(self) -> None:
        """Let torch find the node's step and state under each parameter."""
        show(self.state, self._flat, self.algorithm_state._asdict(), self.steps)

    def _show_moved(self) -> None:
        """Let torch know that x is another, so that autograd refuses a graph of the old one."""
        self._flat.show()
        torch.autograd.graph.increment_version(self._flat.params)
        self._show_state()

    def _agree(self) -> None:
        self._company.agree(self._facts)
        self._node.exchange.take_lane(self._company.lane)
        self._node.exchange.open()
        self._agreed = True

    def _shared_values(self) -> dict[str, Any]:
        """The hyper-parameters, which all ranks must change alike."""
        return group_values(self.param_groups, ["weight_decay", *self.algorithm.arguments])

    def _facts(self) -> dict[str, Any]:
        """What all ranks must have alike."""
        survivors = self._company.survivors
        return {
            **self._lasting_facts(self._flat.params),
            **about_network(self.network),
            **self._shared_values(),
            "on_peer_failure": "drop" if survivors else "raise",
            "min_nodes": survivors.min_nodes if survivors else 0,
            "step": self.steps if self.wait else "of its own",
            "memory of links": "public copies" if has_copies(self.links) else "no public copies",
        }

    def _lasting_facts(self, params: Sequence[Tensor]) -> dict[str, Any]:
        """Those that a newcomer must have, too, whenever it comes; `params` are mixed."""
        shapes = [tuple(p.shape) for p in params]
        still = [tuple(p.shape) for p in frozen(self.param_groups, {*params})]
        dtype = state_dtype(params[0].dtype) if params else "no dtype"
        return {
            "algorithm": self.algorithm,
            "seed": self.seed,
            "parameters": f"{shapes} of {dtype}" + f", frozen {still}" * bool(still),
            "names of the parameters": in_short(names_of(self.param_groups, params)),
            "param groups": len(self.param_groups),
            "message_dtype": self.message_dtype,
            "timeout": self.timeout,
            "wait": self.wait,
            "version of Gossamer": __version__,
        }


def _warn_nonfinite(count: int, rank: int, step: int) -> None:
    """At the 1st, 2nd, 4th, 8th, … time."""
    if count & (count - 1) == 0:
        left_out = f"the gradient is not finite and was left out ({count} so far)"
        warn_user(f"rank {rank}, step {step}: {left_out}")


def _nodes_of(
    group: dist.ProcessGroup | None,
    mesh: DeviceMesh | None,
    timeout: float,
    on_peer_failure: OnPeerFailure,
) -> tuple[dist.ProcessGroup | None, Crew]:
    """Who talks to whom in other nodes, and the processes of this one."""
    if mesh is None:
        return group, Crew()
    require(group is None, "device_mesh", "given together with a process_group", "one of the two")
    across, inside = groups_of(mesh)
    lives = on_peer_failure == "raise" or inside is None
    need = "raise for nodes of several processes"
    way_out = "restart from checkpoints, or take one process per node"
    require(lives, "on_peer_failure", on_peer_failure, need, way_out)
    return across, Crew(inside, timeout)


def _network_of(network: Network | Callable[[int], Network], processes: int) -> Network:
    """The network of so many nodes."""
    built = network if isinstance(network, Network) else network(processes)
    way_out = "pass a function of the number of processes, e.g. gs.ring"
    require_node_per_process(built, processes, way_out)
    return built
