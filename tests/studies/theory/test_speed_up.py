import pytest

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.studies.theory import speed_up
from gossamer.studies.theory.rates import ORDERS, skewed_noise
from gossamer.studies.theory.speed_up import CASES, SIZES, SpeedUp, noise_exponent


def power_laws(exponent: float) -> Results:
    """Levels n^exponent of three seeds with a little spread; whole averages do not move."""
    spread = (0.97, 1.0, 1.04)
    flat = [list(spread) for _ in SIZES]
    level = [[n**exponent * c ** (n % 3) for c in spread] for n in SIZES]
    noise = {
        f"{p}": [[n ** noise_exponent(skewed_noise(p, 1)) * c for c in spread] for n in SIZES]
        for p in ORDERS
    }
    runs = {"horizons": [64], "averages": [flat], "second_half": [level]}
    return {"noise": noise, **dict.fromkeys(CASES, runs)}


@pytest.mark.parametrize(("exponent", "holds"), [(-1 / 3, "yes"), (-0.15, "partly"), (0.2, "no")])
def test_verdict_follows_the_slope(exponent: float, holds: str):
    noise, loud, quiet = SpeedUp().verdicts(power_laws(exponent))
    assert (noise.holds, loud.holds, quiet.holds) == ("yes", holds, "yes")


def test_small_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speed_up, "horizons", lambda options: [64, 256])
    monkeypatch.setattr(speed_up, "seeds", lambda options: [0, 1])
    monkeypatch.setattr(speed_up, "BATCH", 400)
    study = SpeedUp()
    results = {unit.name: unit.compute() for unit in study.units(Options())}
    assert len(study.tables(results)[0].rows) == len(ORDERS) + 4 * len(CASES)
    assert len(study.figures(results)["speed-up"].axes) == 2
    assert len(study.verdicts(results)) == 3
