"""`gossamer tails` and `gossamer plan --samples`: what they read from a file."""

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
