"""`gossamer tails` and `gossamer plan --samples`: what they read from a file."""

import re
from pathlib import Path

import numpy as np
import pytest

from gossamer.cli._tails import read_samples

VECTORS = np.random.default_rng(0).standard_t(1.5, (2000, 3))


def write(folder: Path, header: str = "", encoding: str = "utf-8") -> Path:
    path = folder / "noise.csv"
    np.savetxt(path, VECTORS, delimiter=",", header=header, comments="", encoding=encoding)
    return path


@pytest.mark.parametrize("header", ["", "a,b,c"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_no_row_is_lost(tmp_path: Path, header: str, encoding: str):
    found = read_samples(write(tmp_path, header, encoding))
    np.testing.assert_allclose(found, VECTORS, rtol=1e-15)


def test_a_drift_is_said_once(gossamer, tmp_path: Path):
    np.save(tmp_path / "noise.npy", VECTORS + 50)
    code, out, err = gossamer("tails noise.npy")
    assert (code, err) == (0, "")
    assert out.count("not centred") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "no data"), ("a,b", "no data"), ("1,2\n3", "holds no table of numbers")],
)
def test_files_without_numbers_are_refused(refused, tmp_path: Path, content: str, words: str):
    (tmp_path / "noise.csv").write_text(content)
    assert words in refused("tails noise.csv")


@pytest.mark.parametrize("first", ["", '""'])
def test_row_numbers_of_pandas_are_no_noise(refused, tmp_path: Path, first: str):
    """They were a coordinate larger than all others, and the tail looked light."""
    rows = [f"{k},{x},{y}" for k, (x, y, _) in enumerate(VECTORS)]
    (tmp_path / "noise.csv").write_text("\n".join([f"{first},a,b", *rows]))
    assert "a first column without a name, need noise only" in refused("tails noise.csv")


def test_an_empty_array_file_is_refused(refused, tmp_path: Path):
    (tmp_path / "noise.npy").touch()
    assert "holds no table of numbers" in refused("tails noise.npy")


def test_complex_numbers_are_refused(refused, tmp_path: Path):
    np.save(tmp_path / "noise.npy", VECTORS * 1j)
    assert "imaginary part" in refused("tails noise.npy")


def test_samples_of_another_dimension_need_sigma(gossamer, refused, tmp_path: Path):
    np.save(tmp_path / "noise.npy", VECTORS)
    line = "plan --samples noise.npy -n 'ring(4)'"
    assert "need shape (samples, 20)" in refused(line)
    assert "from 2000 samples" in gossamer(f"{line} --sigma 3").out


def test_scalar_noise_is_refused_with_an_option_as_way_out(refused, tmp_path: Path):
    np.save(tmp_path / "noise.npy", VECTORS[:, 0])
    assert "scalar noise is --kind vectors;" in refused("tails noise.npy")


@pytest.mark.parametrize("dim", [3, 20])
@pytest.mark.parametrize("kind", ["vectors", "norms"])
def test_what_is_suggested_next_works(gossamer, tmp_path: Path, dim: int, kind: str):
    """It used to suggest samples, which fit a problem of their dimension only."""
    noise = np.random.default_rng(0).standard_normal((2000, dim))
    np.save(tmp_path / "noise.npy", noise if kind == "vectors" else np.linalg.norm(noise, axis=1))
    sigma, p = next_plan(gossamer, f"noise.npy --kind {kind}")
    assert sigma == pytest.approx((np.linalg.norm(noise, axis=1) ** p).mean() ** (1 / p), rel=1e-2)


def test_what_is_suggested_next_for_scalar_noise_works(gossamer, tmp_path: Path):
    np.save(tmp_path / "noise.npy", VECTORS[:, 0])
    sigma, p = next_plan(gossamer, "noise.npy --kind vectors")
    assert sigma == pytest.approx((np.abs(VECTORS[:, 0]) ** p).mean() ** (1 / p), rel=1e-2)


def next_plan(gossamer, samples: str) -> tuple[float, float]:
    """σ and p of the plan that is suggested for some samples, and that must be accepted."""
    out = gossamer(f"tails {samples}").out
    command = out.partition("Next: `gossamer ")[2].partition("`")[0]
    code, said, err = gossamer(command)
    assert (code, err) == (0, "")
    found = re.search(r"Noise: p = (\S+) and σ = (\S+) as given", said)
    assert found is not None
    return float(found[2]), float(found[1])
