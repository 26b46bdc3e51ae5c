"""Kill `gossamer run` again and again, resume it, and compare with a run left in peace.

    python tests/experiments/soak_kill.py --kills 10 claim-1 connectivity nodes

Takes minutes, so the test suite has a smaller version of it (test_work.py).
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

MAIN = [sys.executable, "-c", "from gossamer.cli import main; main()"]


def stored(folder: Path) -> dict[str, bytes]:
    """File → its bytes without the account of how it was made."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        record = json.loads(path.read_bytes())
        del record["made"]
        found[str(path.relative_to(folder))] = json.dumps(record).encode()
    return found


def run(names: Sequence[str], out: Path, limit: float | None = None) -> bool:
    """Run the experiments in turn; whether they finished before `limit` seconds, or were killed."""
    end = None if limit is None else time.monotonic() + limit
    for name in names:
        command = [*MAIN, "run", name, "--out", str(out)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(None if end is None else max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                return False
        assert process.returncode == 0, f"{' '.join(command[3:])} failed"
    return True


def soak(names: Sequence[str], kills: int, seed: int) -> None:
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        run(names, Path(folder, "peace"))
        seconds = time.monotonic() - start
        expected = stored(Path(folder, "peace"))
        print(f"uninterrupted: {len(expected)} units in {seconds:.0f} s", flush=True)
        killed, attempt = 0, 0
        while killed < kills:
            out = Path(folder, f"killed-{attempt}")
            while killed < kills and not run(names, out, limit := moments.uniform(0, seconds)):
                killed += 1
                left = len(expected) - len(stored(out))
                print(f"kill {killed} after {limit:.1f} s, {left} units left", flush=True)
            run(names, out)
            assert stored(out) == expected, f"results differ after {killed} kills"
            litter = [path.name for path in out.rglob(".*")]
            print(f"resumed to the end: {len(expected)} files identical, left over: {litter}")
            attempt += 1
    print(f"{killed} kills, every result identical to the uninterrupted run")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    soak(arguments.names, arguments.kills, arguments.seed)
