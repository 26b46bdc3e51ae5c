"""The same command on one core, on two processes and on a cluster that loses a worker.

One of its methods is in a file that only the command has.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from processes import context

from gossamer import executors

MINE = """
import gossamer as gs


class Slow(gs.DSGD):
    label = "mine"

    def step(self, t, x, grad, state, mix):
        return super().step(t, x, 0.5 * grad, state, mix)
"""

LINE = (
    "compare --import code/mine.py -a GTDSGD -a 'Slow(0.2)' -n 'ring(6)' -p 'Quadratic(6, 4)' "
    "--noise 'StudentT(1.5, scale=0.1)' --seeds 3 --steps 200"
)

CLUSTER = """
import multiprocessing, os, shlex, signal, sys, threading
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"
from distributed import Client, LocalCluster
multiprocessing.set_forkserver_preload(["distributed", "gossamer"])  # once for all workers
from gossamer.cli import machines, main

if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with Client(cluster) as client:
            worker = next(iter(client.run(os.getpid).values()))
        threading.Timer(0.2, os.kill, (worker, signal.SIGKILL)).start()
        line = shlex.split(sys.argv[1])
        sys.argv = ["gossamer", *line, "--cluster", cluster.scheduler_address, "--out", "cluster"]
        main()
    machines.SECONDS_TO_ANSWER = 1
    sys.argv = ["gossamer", "run", "claim-1", "--cluster", "tcp://localhost:1"]
    main()
"""


@pytest.mark.slow
def test_the_files_are_the_same(gossamer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executors, "get_context", lambda method: context)  # has imported torch
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(MINE)
    assert gossamer(f"{LINE} --out one --store kept").code == 0
    assert gossamer(f"{LINE} --out two --jobs 2").code == 0
    (tmp_path / "cluster.py").write_text(CLUSTER)
    done = subprocess.run(
        [sys.executable, "cluster.py", LINE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "gossamer: cluster: no scheduler answers at tcp://localhost:1" in done.stderr
    one, two, cluster = (tmp_path / f"{name}.csv" for name in ("one", "two", "cluster"))
    assert one.read_bytes() == two.read_bytes() == cluster.read_bytes()
    again = gossamer(f"{LINE} --out again --store kept")
    assert (tmp_path / "again.csv").read_bytes() == one.read_bytes()
    assert "GT-DSGD" in again.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--jobs 0", "jobs: got 0, need an integer of at least 1"),
        ("--jobs 2 --cluster tcp://localhost:1", "one of --jobs and --cluster"),
    ],
)
def test_refusals(refused, options: str, said: str):
    assert said in refused(f"run claim-1 --size test {options}")


def test_what_is_stored_is_listed_merged_and_written(gossamer, tmp_path: Path):
    line = "compare -a 'DSGD(0.1)' -n 'ring(6)' --noise none --steps 20"
    assert gossamer(f"{line} --seeds 1 --store one").code == 0
    assert gossamer(f"{line} --seeds 3 --store two").code == 0
    assert "files copied" in gossamer("store one --merge two").out
    shown = gossamer("store one --csv all.csv").out
    assert "DSGD" in shown
    assert "Written: all.csv, 63 numbers." in shown  # 21 records of 3 runs, one stored twice
    head = (tmp_path / "all.csv").read_text().splitlines()[0]
    assert head == "method,problem,network,noise,dtype,hyperparameters,seed,step,metric,value"


def test_a_folder_that_is_not_there(refused):
    assert "folder: got nowhere, need an existing folder" in refused("store nowhere")
