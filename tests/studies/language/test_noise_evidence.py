"""The figure and verdicts of the noise evidence on samples made by hand, and a quick study."""

import pytest
import torch
from made_up import at_test_size, draw, verdict

from gossamer.experiments import Results
from gossamer.noise import AlphaStable
from gossamer.studies.language.noise_evidence import TASKS, NoiseEvidence, samples
from gossamer.tails import diagnose

STUDY = NoiseEvidence()
PAPER = (0, 6, 10)
"""Epochs, of twelve, at which the paper shows its noise."""


def test_the_full_study_is_the_papers():
    units = {unit.name: unit.config for unit in STUDY.units(STUDY.sizes["full"], 0)}
    assert list(units) == ["causal", "paper"]
    for protocol, config in units.items():
        task = config["task"]
        assert (task["protocol"], task["epochs"], task["num_nodes"]) == (protocol, 12, 1)
        assert (task["batch_size"], task["context"], task["text"]["type"]) == (64, 64, "Multi30k")
        assert tuple(config["epochs"]) == PAPER
        assert f"epochs {PAPER[0]}, {PAPER[1]} and {PAPER[2]}" in STUDY.about
        assert f"step size, which is not printed, is {config['lr']};" in STUDY.about
        assert f"batches of {len(config['noise_seeds'])} passes" in STUDY.about


@pytest.mark.parametrize("size", ["test", "quick"])
def test_a_shorter_training_pauses_at_the_same_parts_of_it(size: str):
    for unit in STUDY.units(STUDY.sizes[size], 0):
        length, epochs = unit.config["task"]["epochs"], unit.config["epochs"]
        assert epochs == [length * epoch // 12 for epoch in PAPER]
        assert len(set(epochs)) == 3


def made(*tails: str, size: int = 9000) -> Results:
    """Norms of each kind at the three epochs, the same under both protocols."""
    generator = torch.Generator().manual_seed(1)
    kinds = {
        "light": lambda: 20 + torch.randn(size, generator=generator),
        "wide": lambda: 20 + 3 * torch.randn(size, generator=generator),
        "stable": lambda: AlphaStable(1.5).sample((size,), generator=generator).abs(),
    }
    measured = [
        {"epoch": e, "validation_loss": 5.0, "gradient_norm": 1.0, "norms": kinds[k]().tolist()}
        for e, k in zip(PAPER, tails, strict=True)
    ]
    return {protocol: {"measured": measured} for protocol in TASKS}


@pytest.mark.parametrize(
    ("tails", "heavier", "alike"),
    [
        (("light", "wide", "stable"), "yes", "yes"),
        (("light", "light", "wide"), "yes", "no"),  # longer, but the shape is a Gaussian's
        (("light", "wide", "light"), "no", "no"),
        (("wide", "light", "light"), "no", "no"),
        (("stable", "stable", "stable"), "no", "no"),  # alike, but not increasingly
    ],
)
def test_verdicts_flip_with_the_norms(tails: tuple[str, ...], heavier: str, alike: str):
    verdicts = STUDY.verdicts(made(*tails))
    assert len(verdicts) == 4
    for protocol in TASKS:
        assert verdict(verdicts, f"longer), protocol `{protocol}`").holds == heavier
        assert verdict(verdicts, f"distribution, protocol `{protocol}`").holds == alike


def test_the_synthetic_sample_is_what_it_says():
    results = made("light", "light", "light")
    law = samples(results["paper"])["α-stable"]
    assert law.size == 9000
    assert diagnose(law).tail == "infinite variance"


def test_too_few_norms_are_told():
    few = STUDY.verdicts(made("light", "light", "light", size=400))
    assert all("too few norms" in v.note for v in few)
    many = STUDY.verdicts(made("light", "light", "light"))
    assert not any("too few norms" in v.note for v in many)


@pytest.mark.parametrize(("last", "words"), [("light", "has no"), ("stable", "may have")])
def test_the_finding_is_about_the_last_epoch(last: str, words: str):
    assert f"Transformer {words} infinite variance" in STUDY.finding(made("light", "wide", last))


def test_figures_show_four_panels_on_the_same_axes():
    figures = STUDY.figures(made("light", "wide", "stable"))
    assert list(figures) == ["noise-evidence-causal", "noise-evidence-paper"]
    axes = figures["noise-evidence-paper"].axes
    titles = [ax.get_title().split("\n")[0] for ax in axes]
    assert titles[0] == "epoch 0: no power tail"
    assert titles[2:] == ["epoch 10: infinite variance", "α-stable: infinite variance"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1
    assert [len(ax.texts) for ax in axes] == [0, 0, 1, 1]  # what lies beyond is told


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    for unit in STUDY.units(STUDY.sizes["test"], 0):
        result, passes = results[unit.name], len(unit.config["noise_seeds"])
        assert [m["epoch"] for m in result["measured"]] == unit.config["epochs"]
        assert all(
            len(m["norms"]) == passes * result["steps_per_epoch"] for m in result["measured"]
        )
    for figure in STUDY.figures(results).values():
        draw(figure)
    shapes, *estimates = STUDY.tables(results)
    assert len(shapes.rows) == 8
    for protocol, table in zip(TASKS, estimates, strict=True):
        assert list(dict.fromkeys(row[0] for row in table.rows)) == list(samples(results[protocol]))
    assert len(STUDY.verdicts(results)) == 4
