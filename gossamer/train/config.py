"""What `gossamer train` is told: the options, from Python or a command line, and their checks."""

import argparse
import ast
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

import torch

from gossamer.algorithms import ALGORITHMS, SCHEDULES, Algorithm, admissible_sets, named
from gossamer.distributed.exchange import Overlap
from gossamer.distributed.optimizer import OnPeerFailure
from gossamer.distributed.refusals import require_node_per_process
from gossamer.distributed.rendezvous import require_timeout
from gossamer.distributed.survivors import require_drop
from gossamer.errors import InvalidInput, choice, refuse, require, whole
from gossamer.networks import NETWORKS, Network, from_text
from gossamer.spec import build

WORDS: dict[str, dict[str, Any]] = {
    "message_dtype": {"exact": None, "bfloat16": torch.bfloat16, "float16": torch.float16},
    "overlap": {"off": False, "on": True, "auto": "auto"},
    "wait": {"on": True, "off": False},
}
"""Option → word of the command line → what it stands for in Python."""

MODELS = ("mlp", "gpt")

ABOUT = """Train a model on several processes of this machine, by names:

    gossamer train --processes 4 --max-restarts 3 --model mlp --data digits \\
        --algorithm GTNSGDm --lr 0.1 --momentum 0.8 --network ring --steps 200

`--processes` is the number of processes [4], and `--max-restarts` says how
often all are started again after one has died [0]. On several machines, start
them by torchrun with `-m gossamer.train` and the options below. Every process
trains on its own share of the data. The first one reports the loss of the
network's average model on held-out data. With a checkpoint folder the run
resumes by itself, so that with `--max-restarts` it survives the death of a
process, and `gossamer watch FOLDER` shows how it learns.
"""

T = TypeVar("T")


def option(default: T, text: str) -> T:
    """A field with a default and the words that `--help` has for it."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class TrainConfig:
    """What to train, on what, how, and where the results go."""

    model: str = option("mlp", "mlp, or gpt")
    data: str = option(
        "digits", "digits (needs scikit-learn), blobs (made here), or the path of a text for gpt"
    )
    algorithm: str = option("GTNSGDm", "one of " + ", ".join(ALGORITHMS) + ", or PushSum of one")
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    network: str = option(
        "ring", "a name, made for the number of processes, or with all its arguments: torus(2, 2)"
    )
    steps: int = option(200, "steps to train, those before a resume included")
    batch_size: int = option(32, "samples per process and step")
    seed: int = option(0, "of the initial weights, the data, the batches and the network")
    log_every: int = option(50, "steps from one report to the next")
    save_every: int = option(50, "steps from one checkpoint to the next")
    checkpoints: str | None = option(None, "folder to save to and resume from")
    tensorboard: str | None = option(None, "folder of TensorBoard logs (needs tensorboard)")
    message_dtype: torch.dtype | None = option(
        None, "exact, or bfloat16 or float16: messages half as long, and lossy"
    )
    overlap: Overlap = option(
        False,
        "off, on, or auto: messages that do not need the gradient travel while it is computed",
    )
    wait: bool = option(
        True,
        "on, or off: a process goes on without messages that are late, which count when they come; "
        "steps are then those of the fastest process",
    )
    timeout: float = option(60.0, "seconds to wait for another process")
    on_peer_failure: OnPeerFailure = option(
        "raise", "raise, or drop: go on without a process that died"
    )
    min_nodes: int | None = option(
        None,
        "with drop, how many processes it takes to go on: with fewer left, all end with an error "
        "[more than half of those that began]",
    )


def config_of(**options: Any) -> TrainConfig:
    """Options of `TrainConfig`, and the algorithm's hyper-parameters under their own names."""
    names = {option.name for option in dataclasses.fields(TrainConfig)}
    own = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    return TrainConfig(**{"hyperparameters": rest, **own})


def require_sound(config: TrainConfig) -> None:
    """Refuse a configuration, as far as it can be told before the processes start."""
    make_algorithm(config)
    _require_network(config.network)
    own = "a model of your own needs a script, e.g. examples/mlp.py"
    choice("model", config.model, MODELS, own)
    choice("on_peer_failure", config.on_peer_failure, get_args(OnPeerFailure))
    require_drop(config.min_nodes, config.on_peer_failure)
    for name in ("steps", "batch_size", "log_every", "save_every"):
        whole(name, getattr(config, name), 1)
    require_timeout(config.timeout)
    _require_data(config)


def _require_network(text: str) -> None:
    """A family is told the number of processes later; a call can be built now."""
    if "(" in text:
        from_text(text)
    else:
        choice("network", text, NETWORKS)


def _require_data(config: TrainConfig) -> None:
    if config.model == "gpt":
        file, way_out = Path(config.data).is_file(), "gpt needs one: --data book.txt"
        require(file, "data", config.data, "a text file", way_out)
    else:
        choice("data", config.data, ("digits", "blobs"))


def make_algorithm(config: TrainConfig) -> Algorithm[Any]:
    """The method of a configuration; what does not fit is refused by name."""
    method = named(config.algorithm)
    if not isinstance(method, type):
        need = "a method without its hyper-parameters, which are options of their own"
        refuse("algorithm", config.algorithm, need, "e.g. DSGD --lr 0.1")
    known = admissible_sets(method)
    for name in config.hyperparameters:
        choice(f"hyper-parameter of {config.algorithm}", name, known)
    required = [f.name for f in dataclasses.fields(method) if f.default is dataclasses.MISSING]
    missing = [name for name in required if name not in config.hyperparameters]
    wanted = f"values for {', '.join(required)}"
    require(not missing, config.algorithm, f"no {' and no '.join(missing)}", wanted)
    return method(**config.hyperparameters)


def make_network(text: str, processes: int) -> Network:
    """A network as a user writes it, which must have as many nodes as there are processes.

    >>> make_network("ring", 4).name, make_network("torus(2, 2)", 4).name
    ('ring(4)', 'torus(2, 2)')
    """
    network = from_text(text if "(" in text else f"{text}({processes})")
    require_node_per_process(network, processes, "ring works for any number")
    return network


def network_for(text: str, processes: int) -> Network | Callable[[int], Network]:
    """What an optimizer is given: a family is made anew for those who are left after a failure.

    From a network with arguments a dead node is removed.

    >>> network_for("ring(4)", 4).without(0).name, network_for("ring", 4)(3).name
    ('ring(4).without(0)', 'ring(3)')
    """
    network = make_network(text, processes)
    return network if "(" in text else partial(make_network, text)


def read_arguments(arguments: Sequence[str] | None = None) -> TrainConfig:
    """The configuration that a command line describes, if it is sound.

    Files of the user are executed first, so that what they define is known by name.
    """
    _import_own(arguments)
    parser = _parser()
    known, unknown = parser.parse_known_args(arguments)
    for word in unknown[:1]:
        choice("option", word.partition("=")[0], parser._option_string_actions)
    typed = vars(known)
    del typed["import"]
    given = {name: _meant(name, value) for name, value in typed.items() if value is not None}
    read = {name: _value(given[name]) for name in _hyperparameters() if name in given}
    config = config_of(**given | read)
    require_sound(config)
    return config


def _import_own(arguments: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--import", action="append", default=[], dest="own")
    for file in parser.parse_known_args(arguments)[0].own:
        from gossamer.own_names import import_file

        import_file(file)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are those of all input."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise InvalidInput(f"{message}; see `gossamer train --help`")


def _parser() -> argparse.ArgumentParser:
    keep_lines = argparse.RawDescriptionHelpFormatter
    usage = "gossamer train [--processes 4] [--max-restarts 0] [OPTIONS]"
    parser = Parser("gossamer train", usage, ABOUT, formatter_class=keep_lines)
    for own in dataclasses.fields(TrainConfig):
        if own.name != "hyperparameters":
            kind = next((k for k in (int, float) if k in (own.type, *get_args(own.type))), str)
            default = word_for(own.name, own.default)
            told = own.metadata["help"] + ("" if default is None else f" [{default}]")
            parser.add_argument(_flag(own.name), type=kind, metavar="X", help=told)
    own_file = "a Python file of yours, repeatable: it is executed, and its methods have names here"
    parser.add_argument("--import", action="append", metavar="FILE", help=own_file)
    about = "Those for which the method has no default are required, e.g. --lr."
    group = parser.add_argument_group("hyper-parameters of the method", about)
    for name, told in _hyperparameters().items():
        group.add_argument(_flag(name), metavar="X", help=told)
    return parser


def word_for(name: str, value: Any) -> Any:
    """What a command line says for this value of an option: its word, or the value itself."""
    words = WORDS.get(name, {})
    return next((word for word, meant in words.items() if meant == value), value)


def _meant(name: str, typed: Any) -> Any:
    return WORDS[name][choice(name, typed, WORDS[name])] if name in WORDS else typed


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _hyperparameters() -> dict[str, str]:
    """Name → what is admissible, and which methods have it."""
    sets = {method: admissible_sets(kind) for method, kind in ALGORITHMS.items()}
    names = sorted({name for known in sets.values() for name in known})
    owners = {name: [method for method in sets if name in sets[method]] for name in names}
    everyone = list(ALGORITHMS)
    return {
        name: f"{sets[having[-1]][name]}; "
        + ("all methods" if having == everyone else ", ".join(having))
        for name, having in owners.items()
    }


def _value(text: str) -> Any:
    """A number, True or False, a schedule; words stand for themselves."""
    if "(" in text:
        return build("hyper-parameter", text, SCHEDULES)
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
