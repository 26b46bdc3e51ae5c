"""What docs/integrations.md shows of the examples is what the examples say."""

from pathlib import Path

import pages

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations.md"
NAMES = ("lightning_module.py", "hf_trainer.py", "hf_accelerate.py")


def test_every_excerpt_stands_in_an_example():
    sources = [(ROOT / "examples" / name).read_text(encoding="utf-8") for name in NAMES]
    excerpts = [block.code for block in pages.fenced(PAGE) if block.language == "text"]
    assert len(excerpts) == 4
    for excerpt in excerpts:
        assert any(excerpt in source for source in sources), excerpt
