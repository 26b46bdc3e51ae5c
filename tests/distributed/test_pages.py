"""What the documentation starts with torchrun runs as printed, on real processes."""

import shlex
import subprocess
import sys
from pathlib import Path

import pages
import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
LAUNCHES = [
    (page, command)
    for page in sorted(DOCS.rglob("*.md"))
    for command in pages.commands(page)
    if command.line.startswith("torchrun")
]


@pytest.mark.parametrize(
    ("page", "command"), LAUNCHES, ids=lambda value: getattr(value, "stem", "")
)
def test_torchrun(page: Path, command: pages.Command, tmp_path: Path):
    """On two processes and any free port; `train.py` is the page's first python block."""
    (tmp_path / "train.py").write_text(next(pages.blocks(page)).code, encoding="utf-8")
    _, *arguments = shlex.split(command.line.replace("--nproc-per-node 4", "--nproc-per-node 2"))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", *arguments]
    done = subprocess.run(
        launcher, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    pages.compare(f"{page.name}: {command.line}", done.stdout, command.output)


def test_there_are_launches():
    assert {page.stem for page, _ in LAUNCHES} >= {"start", "distributed"}
