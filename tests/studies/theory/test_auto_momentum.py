import pytest
from gossamer.studies.synthetic.synthetic import NOISES

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.studies.theory import auto_momentum
from gossamer.studies.theory.auto_momentum import AutoMomentum

SEEDS = [0.9, 1.0, 1.1]


def study(grid: float, unknown: float, data: float) -> Results:
    """Three seeds around the given medians; the second β of a grid of two is its best."""
    errors = [[m * s for s in SEEDS] for m in (9.0, grid, unknown, data)]
    result = {
        "p": 1.4,
        "momenta": [0.1, 0.9, 0.98, 0.99],
        "lr": [0.1, 0.01, 0.01, 0.01],
        "tuning": [9.0, grid, unknown, data],
        "errors": errors,
    }
    return dict.fromkeys(NOISES, result)


@pytest.mark.parametrize(
    ("medians", "holds"),
    [((1.0, 1.5, 1.1), ["yes", "yes"]), ((1.0, 1.2, 2.0), ["no", "no"])],
)
def test_verdicts(
    monkeypatch: pytest.MonkeyPatch, medians: tuple[float, float, float], holds: list[str]
):
    monkeypatch.setattr(auto_momentum, "MOMENTA", [0.1, 0.9])
    assert [v.holds for v in AutoMomentum().verdicts(study(*medians))] == holds


def test_small_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(auto_momentum, "MOMENTA", [0.1, 0.9])
    monkeypatch.setattr(auto_momentum, "STEP_SIZES", [0.01, 0.1])
    monkeypatch.setattr(auto_momentum, "steps", lambda options: 50)
    monkeypatch.setattr(auto_momentum, "SAMPLES", 2_000)
    experiment = AutoMomentum()
    results = {unit.name: unit.compute() for unit in experiment.units(Options())}
    assert results["Gaussian"]["p"] == 2
    assert results["Student-t"]["momenta"][-1] > results["Student-t"]["momenta"][-2]
    assert len(experiment.tables(results)[0].rows) == 9
    assert len(experiment.figures(results)["auto-momentum"].axes) == 3
