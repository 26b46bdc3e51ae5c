"""The peers' own virtual environments, made once and kept in `.venvs` beside this file."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parents[1] / "constraints.txt"


class Unavailable(Exception):
    """A peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class Environment:
    """What to install for a peer."""

    name: str
    packages: Sequence[str]
    minimum: tuple[int, int] = (3, 11)
    """Python that the peer needs."""
    needs_mpi: bool = False

    def python(self) -> str:
        """The interpreter of the environment, made on the first call."""
        if self.needs_mpi:
            require_mpi()
        folder = HERE / ".venvs" / self.name
        ready, python = folder / "ready", str(folder / "bin" / "python")
        if not ready.exists() or ready.read_text() != repr(self):
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(exist_ok=True)
            (folder.parent / ".gitignore").write_text("*\n")
            execute([find_python(self.minimum), "-m", "venv", str(folder)])
            install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS)]
            execute([*install, *self.packages])
            ready.write_text(repr(self))
        return python


ENVIRONMENTS = {
    "decent-bench": Environment("decent-bench", ["decent-bench", "torch"], minimum=(3, 13)),
    "DISROPT": Environment("disropt", ["disropt"], needs_mpi=True),
    "decent-dp": Environment("decent-dp", ["decent-dp", "torch", "numpy"]),
}


def execute(command: Sequence[str]) -> None:
    print("+", *command, file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Unavailable(f"`{' '.join(command)}` failed: {' '.join(last)}")


def find_python(minimum: tuple[int, int]) -> str:
    """An interpreter of at least this version: ours, one on the path, or one of pyenv's."""
    name = f"python{minimum[0]}.{minimum[1]}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, shutil.which(name), *map(str, pyenv.glob(f"*/bin/{name}"))]
    check = f"import sys; sys.exit(sys.version_info < {minimum})"
    for python in filter(None, found):
        if subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
            return python
    raise Unavailable(f"needs {name} or newer, and there is none on this machine")


def require_mpi() -> None:
    if shutil.which("mpirun") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        execute(["apt-get", "install", "--yes", "openmpi-bin", "libopenmpi-dev"])
    if shutil.which("mpirun") is None:
        raise Unavailable("needs mpirun, which is not installed (apt-get install openmpi-bin)")
