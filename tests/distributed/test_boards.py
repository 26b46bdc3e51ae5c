"""Memory that another process reads, and files that are none."""

import os
import sys

import pytest
import torch
from processes import context

from gossamer.distributed.boards import HEAD, NOWHERE, VARIABLE, Address, Board, content_at

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boards are made on Linux")


def read(pipe) -> None:
    address = Address(*pipe.recv())
    content = content_at(address)
    pipe.send(None if content is None else content.tolist())
    pipe.recv()
    pipe.send(content.tolist())


def test_another_process_reads_what_is_written_now_and_later():
    board = Board(3)
    board.content.copy_(torch.tensor([1, 2, 3]))
    mine, theirs = context.Pipe()
    reader = context.Process(target=read, args=(theirs,), daemon=True)
    reader.start()
    mine.send(tuple(board.address))
    assert mine.recv() == [1, 2, 3]
    board.content[1] = 7
    mine.send("again")
    assert mine.recv() == [1, 7, 3]
    reader.join()


def test_it_has_no_name_by_which_it_could_be_left_behind():
    assert os.fstat(Board(3).address.file).st_nlink == 0


def test_an_address_is_a_message():
    address = Board(3).address
    assert Address.of(address.message) == address


@pytest.mark.parametrize(
    "wrong",
    [
        lambda address: NOWHERE,
        lambda address: address._replace(mark=address.mark ^ 1),
        lambda address: address._replace(size=address.size + 1),
        lambda address: address._replace(process=2**22 + 1),
        lambda address: address._replace(file=10**6),
    ],
    ids=["nowhere", "mark", "size", "process", "file"],
)
def test_what_is_no_board_is_not_read(wrong):
    board = Board(3)
    assert content_at(board.address) is not None
    assert content_at(wrong(board.address)) is None


def test_a_file_that_can_be_cut_is_not_read(tmp_path):
    """Reading beyond its end would kill the reader."""
    board = Board(3)
    with (tmp_path / "file").open("w+b") as file:
        file.write(board.address.mark.to_bytes(8, sys.byteorder).ljust(HEAD + 3))
        file.flush()
        assert content_at(board.address._replace(file=file.fileno())) is None


def test_the_environment_says_that_nothing_is_shared(monkeypatch):
    board = Board(3)
    monkeypatch.setenv(VARIABLE, "0")
    assert content_at(board.address) is None
