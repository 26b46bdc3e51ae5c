"""Every method of the library as a torch optimizer, one node per process."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT, StateDict

from gossamer.algorithms import Algorithm
from gossamer.distributed.agreement import require_agreement
from gossamer.distributed.exchange import NeighborExchange, uses_nccl
from gossamer.distributed.failures import PeerFailure, disconnect
from gossamer.distributed.flat import FlatParameters
from gossamer.distributed.hyperparameters import ScheduledAlgorithm
from gossamer.distributed.launch import join
from gossamer.distributed.survivors import Survivors
from gossamer.errors import require
from gossamer.memory import keep_freed_memory
from gossamer.networks import Network

OnPeerFailure = Literal["raise", "drop"]

PICKLED = ("algorithm", "network", "message_dtype", "timeout", "nonfinite_grads", "bytes_sent")
"""What goes into a pickle besides torch's own; the rest is made anew."""


class DecentralizedOptimizer(Optimizer):
    """Runs `algorithm` on this process's model, talking to its graph neighbours only.

    Each rank holds its own model and its own data; rank i is node i of `network`. A step is the
    algorithm's own `step` on x, all parameters as one vector, with `mix` an exchange of messages
    with the neighbours. Hyper-parameters live in the param groups, where schedulers find them, and
    the algorithm's state in `self.state[p]`. All ranks must take the same number of steps.

    Making one is a collective: all ranks must agree on algorithm, network, shapes and step, and
    all start from the parameters of rank 0.

    A gradient with an inf or a NaN is left out: the node takes its step with gradient 0 and keeps
    communicating, so its neighbours neither wait nor see it. `nonfinite_grads` counts them.

    Args:
        params: parameters, named parameters or param groups. Those that do not require a gradient
            are started equal, and mixed only once they do. From then on they stay in: one that is
            frozen again has gradient 0.
        algorithm: a method of `gossamer.algorithms`.
        network: a network of as many nodes as there are processes, or a function of that number.
        process_group: who takes part; by default all processes of the launch. Processes launched
            by torchrun are joined on the way, and one that was not launched is a network of one.
        message_dtype: dtype of the messages; a narrower one than the parameters' makes the
            messages lossy, see `NeighborExchange`.
        timeout: seconds that a neighbour may be silent before it counts as failed (on gloo; with
            NCCL the timeout of the process group holds).
        on_peer_failure: "raise" ends the run on every rank; "drop" goes on without the failed node
            and restarts methods that track gradients from their current x, see `Survivors`.

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

    def __init__(
        self,
        params: ParamsT,
        algorithm: Algorithm[Any],
        network: Network | Callable[[int], Network],
        *,
        process_group: dist.ProcessGroup | None = None,
        message_dtype: torch.dtype | None = None,
        timeout: float = 60.0,
        on_peer_failure: OnPeerFailure = "raise",
    ) -> None:
        _require_kinds(algorithm, network)
        join(timeout)
        keep_freed_memory()
        self.algorithm, self.message_dtype, self.timeout = algorithm, message_dtype, timeout
        self.nonfinite_grads = 0
        self.bytes_sent = 0
        self._group = process_group
        self._resume_at = 0
        super().__init__(params, dict(algorithm.hyperparameters))
        require(self.rank >= 0, "process_group", "one without this process", "one that it is in")
        self.network = network if isinstance(network, Network) else network(self._world_size)
        _require_sizes(self.network, self._world_size)
        words = ("raise", "drop")
        require(on_peer_failure in words, "on_peer_failure", on_peer_failure, f"one of {words}")
        self._survivors = Survivors(self.network, timeout) if on_peer_failure == "drop" else None
        self._link()
        nccl = uses_nccl(self.group, self.x)
        require(not (self._survivors and nccl), "on_peer_failure", "drop", "raise with NCCL")
        self._agree()
        self._broadcast([self.x, *self._frozen_params()])

    # ------------------------------------------------------------------ what a user reads

    @property
    def steps(self) -> int:
        """Steps taken, the t of the next one."""
        return int(self._step)

    @property
    def rank(self) -> int:
        """The node of the network that this process is."""
        return dist.get_rank(self.group) if self.group else 0

    @property
    def group(self) -> dist.ProcessGroup | None:
        """The process group of the network; None for a process that was not launched as one."""
        return self._group or (dist.group.WORLD if dist.is_initialized() else None)

    @property
    def x(self) -> Tensor:
        """This node's parameters as one vector, `(dim,)`; writing it moves the model."""
        self._flat.relink()
        return self._flat.buffer

    @property
    def algorithm_state(self) -> Any:
        """The algorithm's state, a named tuple of `(dim,)` tensors; writing them changes it."""
        return self._state

    @torch.no_grad()
    def mean(self) -> Tensor:
        """x̄ = (1/n) Σ x_i, `(dim,)`; a collective."""
        return self._sum(self.x.clone()) / self.network.num_nodes

    @torch.no_grad()
    def consensus_error(self) -> float:
        """(1/n) Σ ‖x_i − x̄‖, how far the nodes disagree; a collective."""
        distance = torch.linalg.vector_norm(self.x - self.mean())
        return float(self._sum(distance)) / self.network.num_nodes

    @contextmanager
    def averaged_parameters(self) -> Iterator[None]:
        """Within, the model holds the network's average x̄; a collective on entry."""
        own, average = self.x.clone(), self.mean()
        self.x.copy_(average)
        try:
            yield
        finally:
            self.x.copy_(own)

    # ------------------------------------------------------------------ the step

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One step of the algorithm; `closure` is evaluated once, before any message is sent."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if len(self._mixed_params()) > len(self._flat.params):  # some were unfrozen
            self._link()
        if not self._agreed:
            self._agree()
        grad = self._finite_grad()
        while self.steps >= self._resume_at:
            try:
                self._advance(grad)
                break
            except PeerFailure as failure:
                self._recover(failure)
        self._step += 1
        return loss

    def _advance(self, grad: Tensor) -> None:
        sizes = [sum(p.numel() for p in self._mixed(group)) for group in self.param_groups]
        before = self.x
        algorithm = self._scheduled.at(self.param_groups, sizes, like=before)
        mix = self._exchange.mixer(self.steps)
        x, state = algorithm.step(self.steps, before, grad, self._state, mix)
        self._hold(x, state)
        self.bytes_sent += self._exchange.take_bytes_sent()

    def _hold(self, x: Tensor, state: Any) -> None:
        """The model keeps its memory, so x is copied; the state takes that of the new one."""
        self.x.copy_(x)
        for p in self._flat.params:  # autograd refuses a graph of the old values
            torch.autograd.graph.increment_version(p)
        self._state = state
        for name, buffer in state._asdict().items():
            for p, part in zip(self._flat.params, self._flat.views(buffer), strict=True):
                self.state[p][name] = part

    def _finite_grad(self) -> Tensor:
        """This node's gradient, unscaled; 0 if some component is not finite."""
        grad = self._flat.gather_grads()
        scale = getattr(self, "grad_scale", None)  # set by GradScaler
        if scale is not None:
            grad.div_(scale)
        if not torch.isfinite(torch.stack(grad.aminmax())).all():  # one pass; a sum may overflow
            grad.zero_()
            self._count_nonfinite()
        return grad

    def _count_nonfinite(self) -> None:
        """Warn at the 1st, 2nd, 4th, 8th, … time."""
        self.nonfinite_grads += 1
        count = self.nonfinite_grads
        if count & (count - 1) == 0:
            where = f"rank {self.rank}, step {self.steps}"
            left_out = f"the gradient is not finite and was left out ({count} so far)"
            warnings.warn(f"{where}: {left_out}", RuntimeWarning, stacklevel=2)

    def _recover(self, failure: PeerFailure) -> None:
        """Go on without the failed nodes, or end the run here and thereby at the neighbours."""
        group, self._group = self._group, None
        del self._exchange
        disconnect(group, failure)
        if self._survivors is None:
            raise failure
        self.network, self._resume_at = self._survivors.regroup(failure, self.network, self.steps)
        if self.algorithm.tracker is not None:
            self._hold(self.x, self.algorithm.init(self.x))
        self._connect()

    # ------------------------------------------------------------------ start and restart

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` returned; the ranks agree on the step before the next one.

        A state dict is one node's: each rank loads its own, or trackers are biased for ever.
        """
        self._require_own(state_dict)
        super().load_state_dict(state_dict)
        self._resume_at = 0
        self._link()

    def _require_own(self, state_dict: StateDict) -> None:
        way_out = f"it was saved by another method than {type(self.algorithm).__name__}"
        fields, names = {*self._state._fields, "step"}, self.algorithm.hyperparameters
        for saved in state_dict["state"].values():
            require(set(saved) == fields, "state_dict", sorted(saved), str(sorted(fields)), way_out)
        for group in state_dict["param_groups"]:
            known = sorted(set(group) - {"params", "param_names"})
            require(set(names) <= set(group), "state_dict", known, str(sorted(names)), way_out)

    @torch.no_grad()
    def restore(self, step: int, x: Tensor, state: Mapping[str, Tensor]) -> None:
        """Continue from step, x and state fields; the ranks agree on the step before the next."""
        own = {name: z.to(self.x, copy=True) for name, z in state.items()}
        self._hold(x, self._state._replace(**own))
        self._step.fill_(step)
        self._resume_at = 0
        self._agreed = False

    def parameter_shapes(self) -> list[tuple[str, list[int]]]:
        """Name and shape of every mixed parameter, in the order in which `x` holds them."""
        names = {
            p: name
            for group in self.param_groups
            for p, name in zip(group["params"], group.get("param_names", ()), strict=False)
        }
        mixed = enumerate(self._flat.params)
        return [(names.get(p, f"parameter_{i}"), list(p.shape)) for i, p in mixed]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, which start from those of rank 0; a collective."""
        super().add_param_group(param_group)
        if hasattr(self, "_flat"):
            self._link()
            self._agree()
            self._broadcast(self.param_groups[-1]["params"])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), **{name: getattr(self, name) for name in PICKLED}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._group = self._survivors = None
        self._resume_at = 0
        self._link()

    @torch.no_grad()
    def _link(self) -> None:
        """Make parameters and state views of flat buffers, with the values they have."""
        self._flat = FlatParameters(self._mixed_params())
        self._state = self.algorithm.init(self.x)
        self._step = torch.tensor(
            max(int(self.state[p].get("step", 0)) for p in self._flat.params)  # new ones: none
        )
        for name, buffer in zip(self._state._fields, self._state, strict=True):
            for p, part in zip(self._flat.params, self._flat.views(buffer), strict=True):
                part.copy_(self.state[p].get(name, part))
                self.state[p][name] = part
        for p in self._flat.params:
            self.state[p]["step"] = self._step
        self._scheduled = ScheduledAlgorithm(self.algorithm)
        self._agreed = False
        self._connect()

    def _connect(self) -> None:
        self._exchange = NeighborExchange(
            self.network, self.rank, self.x, self.group, self.message_dtype, self.timeout
        )

    def _agree(self) -> None:
        shapes = [tuple(p.shape) for p in self._flat.params]
        frozen = [tuple(p.shape) for p in self._frozen_params()]
        facts = {
            "algorithm": repr(self.algorithm),
            "network": self.network,
            "parameters": f"{shapes} of {self.x.dtype}" + f", frozen {frozen}" * bool(frozen),
            "message_dtype": str(self.message_dtype),
            "step": self.steps,
        }
        require_agreement(facts, self.group)
        self._agreed = True

    @torch.no_grad()
    def _broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Give `tensors` the values they have on rank 0."""
        if self.group is not None:
            for tensor in tensors:
                values = tensor.detach().contiguous()
                dist.broadcast(values, group=self.group, group_src=0)
                tensor.copy_(values)

    def _mixed(self, group: dict[str, Any]) -> list[Tensor]:
        """The parameters of a group that the nodes mix: those that require a gradient, or did."""
        return [p for p in group["params"] if p.requires_grad or p in self.state]

    def _mixed_params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in self._mixed(group)]

    def _frozen_params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"] if p not in self.state]

    def _sum(self, tensor: Tensor) -> Tensor:
        """Σ over the nodes, in place; a collective."""
        if self.group is not None:
            dist.all_reduce(tensor, group=self.group)
        return tensor

    @property
    def _world_size(self) -> int:
        return dist.get_world_size(self.group) if self.group else 1


def _require_kinds(algorithm: object, network: object) -> None:
    method = isinstance(algorithm, Algorithm)
    require(method, "algorithm", repr(algorithm), "a method, such as gs.DSGD(lr=0.1)")
    usable = isinstance(network, Network) or callable(network)
    require(usable, "network", repr(network), "a network, or a function such as gs.ring")


def _require_sizes(network: Network, processes: int) -> None:
    require(
        network.num_nodes == processes,
        "network",
        f"{network.name} with {network.num_nodes} nodes on {processes} processes",
        "as many nodes as processes",
        "pass a function of the number of processes, such as gs.ring",
    )
