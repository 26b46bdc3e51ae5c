"""What the documentation starts with torchrun runs as printed, on real processes."""

import argparse
import contextlib
import io
import os
import runpy
import shlex
import sys
from pathlib import Path

import pages
import pytest
from processes import on_ranks
from torch.distributed.run import get_args_parser

ROOT = Path(__file__).parent.parent.parent
LAUNCHES = [
    (page, command)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for command in pages.commands(page)
    if command.line.startswith("torchrun")
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "command"), LAUNCHES, ids=lambda value: getattr(value, "stem", "")
)
def test_torchrun(page: Path, command: pages.Command, tmp_path: Path):
    """On forked processes, which need not import torch; torchrun itself is in test_restart.

    `train.py` is the page's first python block that joins others. `gossamer.train` takes a few
    steps only, unless the page says what it prints; test_train_equals_simulator compares more.
    """
    script = next(block.code for block in pages.blocks(page) if "join()" in block.code)
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    shorter = [] if command.output or "gossamer.train" not in command.line else ["--steps", "5"]
    given = get_args_parser().parse_args([*shlex.split(command.line)[1:], *shorter])
    size = int(given.nproc_per_node)
    printed = "".join(on_ranks(as_a_rank, given, tmp_path, size=size, deadline=120))
    pages.compare(f"{page.name}: {command.line}", printed, command.output)


def as_a_rank(rank: int, given: argparse.Namespace, folder: Path) -> str:
    """What a rank prints."""
    os.environ["RANK"] = str(rank)
    sys.argv = [given.training_script, *given.training_script_args]
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
        if given.module:
            runpy.run_module(given.training_script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(given.training_script, run_name="__main__")
    return out.getvalue()


def test_there_are_launches():
    assert {page.stem for page, _ in LAUNCHES} >= {"README", "distributed"}
