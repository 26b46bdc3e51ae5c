"""torchrun restarts a job whose rank was killed, and the end is the same."""

from processes import on_ranks
from soak import RESTARTED, require_same_end, restart_run, uninterrupted_run

STEPS = 200


def test_a_restarted_run_ends_like_an_uninterrupted_one(tmp_path):
    assert restart_run(tmp_path / "killed", kills=1, steps=STEPS, seed=0, limit=120) == 1
    assert f"of {STEPS}." in (tmp_path / "killed.log").read_text().partition("Resumed at step ")[2]
    on_ranks(uninterrupted_run, tmp_path / "whole", STEPS, size=RESTARTED)
    require_same_end(tmp_path / "killed", tmp_path / "whole")
