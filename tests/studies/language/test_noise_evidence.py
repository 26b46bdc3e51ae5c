"""The figure and verdicts of the noise evidence on samples made by hand, and a quick study."""

import json
from dataclasses import replace

import pytest
import torch
from gossamer.studies.language.language import task_of
from made_up import verdict

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.noise import AlphaStable
from gossamer.studies.language import noise_norms
from gossamer.studies.language.noise_evidence import TASKS, NoiseEvidence, samples
from gossamer.studies.language.noise_norms import MEASURED, measured_epochs
from gossamer.tails import diagnose

STUDY = NoiseEvidence()


def test_epochs_are_the_papers():
    assert MEASURED == (0, 6, 10)
    assert measured_epochs(TASKS["paper"]) == [0, 6, 10]
    assert measured_epochs(replace(TASKS["paper"], epochs=4)) == [0, 2, 3]
    full = {unit.name: unit.config for unit in STUDY.units(Options(full=True, device="cuda"))}
    assert full["causal"]["task"]["epochs"] == 12
    assert full["causal"]["lr"] == 0.1
    assert full["paper"]["task"]["batch_size"] == 64
    json.dumps(full)


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
        for e, k in zip(MEASURED, tails, strict=True)
    ]
    return {protocol: {"measured": measured} for protocol in TASKS}


@pytest.mark.parametrize(
    ("tails", "heavier", "alike"),
    [
        (("light", "wide", "stable"), "yes", "yes"),
        (("light", "light", "wide"), "yes", "no"),  # longer, but the shape is a Gaussian's
        (("light", "wide", "light"), "no", "no"),
        (("wide", "light", "light"), "no", "no"),
        (("stable", "stable", "stable"), "no", "partly"),  # alike, but not increasingly
    ],
)
def test_verdicts_flip_with_the_norms(tails: tuple[str, ...], heavier: str, alike: str):
    verdicts = STUDY.verdicts(made(*tails))
    assert len(verdicts) == 4
    for protocol in TASKS:
        assert verdict(verdicts, f"longer): `{protocol}`").holds == heavier
        assert verdict(verdicts, f"distribution: `{protocol}`").holds == alike


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


def test_figures_show_four_panels_on_the_same_axes():
    figures = STUDY.figures(made("light", "wide", "stable"))
    assert list(figures) == ["noise-evidence-causal", "noise-evidence-paper"]
    axes = figures["noise-evidence-paper"].axes
    titles = [ax.get_title().split("\n")[0] for ax in axes]
    assert titles[0] == "epoch 0: no power tail"
    assert titles[2:] == ["epoch 10: infinite variance", "α-stable: infinite variance"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1
    assert [len(ax.texts) for ax in axes] == [0, 0, 1, 1]  # what lies beyond is told


def test_quick_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(noise_norms, "PASSES", 2)
    computed = {unit.name: unit.compute() for unit in STUDY.units(Options())}
    results = json.loads(json.dumps(computed))
    epochs = measured_epochs(task_of(Options(), TASKS["paper"]))
    assert len(set(epochs)) == 3
    for result in results.values():
        assert [m["epoch"] for m in result["measured"]] == epochs
        assert all(len(m["norms"]) == 2 * result["steps_per_epoch"] for m in result["measured"])
        assert result["final_validation_loss"] < result["measured"][0]["validation_loss"]
    for figure in STUDY.figures(results).values():
        figure.canvas.draw()
    shapes, *estimates = STUDY.tables(results)
    assert [len(row) for row in shapes.rows] == [len(shapes.columns)] * 8
    assert [row[0] for row in estimates[0].rows[::9]] == list(samples(results["causal"]))
    assert {v.holds for v in STUDY.verdicts(results)} <= {"yes", "partly", "no"}
