"""Four processes train. One of them is killed, and the other three go on without it.

    python examples/survive_a_dead_node.py

torchrun would end all processes when one dies, so this script starts the processes itself. The
optimum of node i is i. Four nodes would agree on the average, 1.5. After the death of node 3 the
others agree on 1. The script takes about 10 s on 2 cores.
"""

import multiprocessing
import os
import warnings

import torch
import torch.distributed as dist

import gossamer as gs
from gossamer.distributed import join

NODES, STEPS, DIES_AT = 4, 150, 50


def train(rank: int, port: int) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(NODES), MASTER_ADDR="127.0.0.1")
    os.environ.update(MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True")
    warnings.simplefilter("ignore")  # the survivors warn that a node died
    join()
    x = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = gs.DecentralizedOptimizer(
        [x], gs.GTDSGD(lr=0.5), network=gs.ring, timeout=3.0, on_peer_failure="drop"
    )
    while optimizer.steps < STEPS:
        if (rank, optimizer.steps) == (NODES - 1, DIES_AT):
            os._exit(1)  # as if the machine had lost power
        optimizer.zero_grad()
        (0.5 * (x - rank) ** 2).sum().backward()
        optimizer.step()
        if rank == 0 and optimizer.steps in (DIES_AT, STEPS):
            print(
                f"step {optimizer.steps} on {optimizer.network.name}: x = {x.item():.6f}",
                flush=True,
            )


def main() -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gossamer", "torch._dynamo"])  # import once, not four times
    ranks = [context.Process(target=train, args=(rank, store.port)) for rank in range(NODES)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    print("exit codes:", [process.exitcode for process in ranks])


if __name__ == "__main__":
    main()
