"""What methods tell of a step, against its meaning."""

import pytest
import torch

import gossamer as gs

GRAD = torch.tensor([[[3.0, 4.0], [0.3, 0.4]], [[0.1, 9.0], [2.0, 0.0]]])  # (nodes, runs, dim)


def told(method: gs.Algorithm, t: int = 0) -> dict[str, list]:
    info = method.info(t, torch.zeros_like(GRAD), GRAD, method.init(GRAD))
    return {name: values.tolist() for name, values in info.items()}


def test_clipped_gradients_are_those_longer_than_the_level():
    assert told(gs.DSGDGClip(lr=0.1, clip=1.0)) == {"clipped": [[1, 0], [1, 1]]}
    per_run = torch.tensor([[6.0], [0.4]])
    assert told(gs.DSGDGClip(lr=0.1, clip=per_run)) == {"clipped": [[0, 1], [1, 1]]}


def test_the_level_of_dsgd_clip_changes_with_time():
    method = gs.DSGDClip(lr=0.1, clip=1.0, clip_exponent=0.5)
    assert told(method, t=3) == {"clipped": [[1, 0], [1, 0]]}  # τ = 2
    assert told(method, t=99) == {"clipped": [[0, 0], [0, 0]]}  # τ = 10


def test_clipped_coordinates_are_a_share():
    assert told(gs.DSGDCClip(lr=0.1, clip=1.0)) == {"clipped": [[1, 0], [0.5, 0.5]]}


def test_trackers_tell_their_norm():
    method = gs.GTNSGDm(lr=0.1, momentum=0.5)
    state = method.init(GRAD)._replace(y=GRAD)
    norm = method.info(1, GRAD, GRAD, state)["tracker_norm"]
    torch.testing.assert_close(norm, GRAD.norm(dim=-1))


def test_gt_adam_tells_the_share_of_capped_second_moments():
    method = gs.GTAdam(lr=0.1, cap=1.0)
    state = method.init(GRAD)._replace(v=torch.tensor([1.0, 0.5]).expand_as(GRAD), s=GRAD)
    info = method.info(1, GRAD, GRAD, state)
    assert info["capped"].tolist() == [[0.5, 0.5]] * 2
    torch.testing.assert_close(info["tracker_norm"], GRAD.norm(dim=-1))


@pytest.mark.parametrize("method", [gs.DSGD(0.1), gs.NormalizedDSGD(0.1), gs.QGDSGDm(0.1)])
def test_others_tell_nothing(method: gs.Algorithm):
    assert told(method) == {}
