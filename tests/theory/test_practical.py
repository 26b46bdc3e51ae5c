import pytest

import gossamer as gs
from gossamer.theory import practical_rule


def test_the_steps_cover_five_times_the_distance():
    setting = practical_rule(2000, distance=3.0)
    assert setting.lr * 2000 == pytest.approx(15.0, rel=1e-12)
    assert setting.momentum == 0.9


def test_refusals():
    with pytest.raises(gs.InvalidInput, match="distance: got 0"):
        practical_rule(100, distance=0)
    with pytest.raises(gs.InvalidInput, match="steps: got 1"):
        practical_rule(1, distance=1.0)
