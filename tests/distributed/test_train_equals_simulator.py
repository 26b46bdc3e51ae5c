"""The trainings of real processes and of the simulator are one: same batches, same end."""

import pytest
import torch
from processes import on_ranks
from torch import Tensor, nn

import gossamer as gs
from gossamer.data import BatchOrder, TokenWindows, corpus_from_file, token_shard, zipf_corpus
from gossamer.data.zipf import zipf_text
from gossamer.distributed import DecentralizedOptimizer, read_nodes
from gossamer.models import GPT
from gossamer.networks import from_text
from gossamer.problems import LanguageProblem, ModuleProblem
from gossamer.train import train
from gossamer.train.config import config_of
from gossamer.train.data import CONTEXT, STRIDE, load_data
from gossamer.train.training import loss_of, make_model

NODES, SEED, BATCH = 4, 3, 4
STEPS = {"mlp": 20, "gpt": 6}
METHOD = {"lr": 0.05, "momentum": 0.8}
TINY = {"context": 8, "width": 16, "heads": 2, "layers": 1}


def simulated(problem, steps: int, network: str = "ring(4)") -> Tensor:
    """x of every node after all steps, `(nodes, dim)`."""
    seen = {"metrics": ["consensus_error"], "progress": False}
    method, links = gs.GTNSGDm(**METHOD), from_text(network)
    return gs.simulate(method, problem, links, steps=steps, seeds=[SEED], **seen).x[:, 0]


def tiny_gpt(rank: int) -> Tensor:
    """A loop as a user writes it, on this rank's part of the text."""
    corpus = zipf_corpus(4_000, num_types=48)
    model = GPT(len(corpus.vocabulary), **TINY, seed=SEED).double()
    optimizer = DecentralizedOptimizer(model.parameters(), gs.GTNSGDm(**METHOD), gs.ring)
    windows = TokenWindows(token_shard(corpus.train, rank, NODES), TINY["context"], stride=4)
    for batch in BatchOrder(len(windows), BATCH, SEED, rank).batches(0, STEPS["gpt"]):
        optimizer.zero_grad()
        loss_of(model, *windows[batch]).backward()
        optimizer.step()
    return optimizer.x


def test_a_tiny_gpt_on_four_processes_is_the_simulated_one():
    corpus = zipf_corpus(4_000, num_types=48)
    problem = LanguageProblem(corpus, NODES, stride=4, batch_size=BATCH, **TINY, seed=SEED)
    real = torch.stack(on_ranks(tiny_gpt))
    torch.testing.assert_close(real, simulated(problem, STEPS["gpt"]), rtol=0, atol=1e-12)


def trained_by_name(rank: int, options) -> None:
    torch.set_default_dtype(torch.float64)
    train(**options, **METHOD, save_every=options["steps"], batch_size=BATCH, seed=SEED)


@pytest.fixture
def float64():
    """New tensors are float64 in this process as in the ranks."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def problem_of(model: str, data: str):
    """The same model and data by the names of the library."""
    if model == "gpt":
        sizes = {"stride": STRIDE, "context": CONTEXT, "batch_size": BATCH}
        return LanguageProblem(corpus_from_file(data), NODES, **sizes, seed=SEED)
    config = config_of(model=model, data=data, seed=SEED)
    nodes = [load_data(config, node, NODES) for node in range(NODES)]
    shards = [node.shard for node in nodes]
    loss = nn.functional.cross_entropy
    return ModuleProblem(make_model(config, nodes[0]), loss, shards, batch_size=BATCH)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("model", "network"),
    [("mlp", "ring(4)"), ("gpt", "ring(4)"), ("mlp", "ring(4).drops(0.3).compressed(TopK(0.2))")],
)
def test_training_by_name_is_the_simulated_one(tmp_path, model, network):
    text = tmp_path / "text.txt"
    text.write_text(zipf_text(4_000, num_types=48))
    data = {"mlp": "blobs", "gpt": str(text)}[model]
    options = {"model": model, "data": data, "network": network, "steps": STEPS[model]}
    on_ranks(trained_by_name, {**options, "checkpoints": str(tmp_path)})
    real = torch.stack([record.tensors["x"] for record in read_nodes(tmp_path)])
    expected = simulated(problem_of(model, data), STEPS[model], network)
    torch.testing.assert_close(real, expected, rtol=0, atol=1e-12)
