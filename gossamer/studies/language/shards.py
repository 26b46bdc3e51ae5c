"""What a corpus is, and how much the parts that the nodes hold differ."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.data import Corpus
from gossamer.experiments import Result, Unit
from gossamer.problems.language import shuffled
from gossamer.studies.language.task import Sorted, Task, corpus_facts


@dataclass(frozen=True)
class Shards(Unit):
    """The sizes of a corpus and of the model, and how far apart the nodes' texts are."""

    task: Task
    sorted: Sorted

    def run(self, device: str) -> Result:
        """Sizes, steps, and the divergence of contiguous, sorted and shuffled shards."""
        text, nodes = self.task.corpus, self.task.num_nodes
        orders = {
            "contiguous": text.train,
            "sorted": self.sorted.corpus(self.task.seed).train,
            "shuffled": shuffled(text.train, self.task.seed),
        }
        return {
            **corpus_facts(self.task, device),
            "steps": self.task.steps(device),
            "divergence": {name: divergence(text, train, nodes) for name, train in orders.items()},
        }


def divergence(text: Corpus, train: Tensor, nodes: int) -> float:
    """How far the word frequencies of a node are from all of them: mean KL divergence in nats.

    >>> text = Corpus.of("tiny", list("aabb"), list("a"))
    >>> round(divergence(text, text.train, 2), 4)           # log 2
    0.6931
    """
    size = len(train) // nodes
    counts = [torch.bincount(part, minlength=len(text.vocabulary)) for part in train.split(size)]
    shares = torch.stack(counts[:nodes]).double() / size
    everywhere = shares.mean(0)
    logs = (shares / everywhere).log().where(shares > 0, 0.0)
    return float((shares * logs).sum(1).mean())
