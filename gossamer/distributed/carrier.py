"""How a message comes to a neighbour: over a board if it is on the same host, else by transport."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.boards import ADDRESS, NOWHERE, Address, Board, can_share, content_at
from gossamer.distributed.failures import PeerFailure
from gossamer.distributed.transport import Message, Transfer, Transport

SHORTEST = 1 << 16
"""Bytes of a message that is worth a board."""

RECEIPTS = 1 << 11
"""Tags of receipts begin here; those below are of messages."""

ADDRESSES, OFFERS = 2, 4
"""From these on, places of the transport where others' addresses are received, and answers."""


class Carried(NamedTuple):
    """Messages that are under way."""

    carrier: "Carrier"
    site: int
    sent: Transfer
    """Of messages by the transport."""

    told: Transfer
    """Of the addresses of boards."""

    new: Sequence[Board]
    """The boards that a reader has not opened before."""

    def arrived(self) -> dict[int, Tensor]:
        """Wait for all of them, and return their bytes, by sender, to be read until `release`."""
        contents = self.sent.arrived()
        for sender, message in self.told.arrived().items():
            contents[sender] = self.carrier.read(sender, Address.of(message))
        return contents

    def release(self) -> None:
        """Tell those whose boards were read that they may write there again.

        A new board is waited for until it was read: this process may end now, and then nobody could
        open it any more. What is open can be read after that, too.
        """
        for sender in self.told.senders:
            self.carrier.confirm(self.site, sender)
        for board in self.new:
            self.carrier.await_readers(board)


class Receipts:
    """The receipts that are under way in a process group; they live as long as it does."""

    def __init__(self) -> None:
        self.awaited: dict[Address, list[tuple[Message, dist.Work]]] = {}
        """By board, those of its readers."""
        self.sent: dict[tuple[int, int, int], tuple[Message, dist.Work]] = {}
        """By lane, site and sender, the last one."""


_receipts: WeakKeyDictionary[dist.ProcessGroup, Receipts] = WeakKeyDictionary()


class ThreadBoards(threading.local):
    """The boards of a thread, by place, and by reader where each has its own message."""

    def __init__(self) -> None:
        self.boards: dict[tuple[int, int | None], Board] = {}


class Carrier:
    """Carries the messages of a node.

    A sender writes a long message on a board, sends its readers the address of the board instead,
    and writes there again when it has a receipt from each of them. Addresses and receipts are
    messages of the transport, so that the death and the silence of a neighbour are noticed as ever.
    Each link is tried when it is first used: a reader that cannot read the board at an address,
    e.g. since it is on another host, says so, and is sent the messages themselves from then on.

    Args:
        transport: what carries bytes.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport, self.node, self.fused = transport, transport.node, transport.fused
        self.shares: dict[tuple[str, int, int], bool] = {}
        """Whether messages go over boards, by kind, site and peer, once that was tried."""
        self._read: dict[tuple[int, int], tuple[Address, Tensor]] = {}
        """What is on others' boards, by sender and file."""
        self._shown: set[tuple[int, Address]] = set()
        """Readers, and the boards that they have been told of."""
        self._own = ThreadBoards()

    def room(self, site: int, place: int, readers: Iterable[int], size: int) -> Tensor | None:
        """Bytes on a board for one message to all readers; None if none of them reads boards.

        What was written there before has been read when this returns.
        """
        useful = any(self.shares.get(("send", site, k), can_share()) for k in readers)
        if self.fused or size < SHORTEST or not useful:
            if not any(self.shares.values()):
                self._own.boards.clear()  # made before it was tried
            return None
        return self._free(place, None, size).content[:size]

    def holds(self, z: Tensor) -> bool:
        """Whether z is written on a board."""
        return any(board.holds(z) for board in self._own.boards.values())

    def transfer(
        self, site: int, sent: Mapping[int, Tensor], lengths: Mapping[int, int]
    ) -> dict[int, Tensor]:
        """Send a tensor to each of some nodes, and return the bytes of some, by sender."""
        carried = self.begin(site, sent, lengths)
        contents = carried.arrived()
        contents |= {j: contents[j].clone() for j in carried.told.senders}
        carried.release()
        return contents

    def begin(
        self, site: int, sent: Mapping[int, Tensor], lengths: Mapping[int, int], place: int = 0
    ) -> Carried:
        """Send a tensor to each of some nodes, and receive those of some, see `Transport.begin`.

        What is in the `room` of this place is not copied.
        """
        self._meet(site, {k: z.nbytes for k, z in sent.items()}, lengths)
        boards = {
            k: self._written(place, k, z)
            for k, z in sent.items()
            if self._over_board("send", site, k, z.nbytes)
        }
        read = [j for j, size in lengths.items() if self._over_board("receive", site, j, size)]
        addresses = {k: board.address.message for k, board in boards.items()}
        told = self.transport.begin(
            site, addresses, dict.fromkeys(read, ADDRESS), ADDRESSES + place
        )
        for k, board in boards.items():
            self._await_receipt(board, site, k)
        rest = {k: z for k, z in sent.items() if k not in boards}
        others = {j: size for j, size in lengths.items() if j not in read}
        self.transport.count_sent(sum(z.nbytes for z in sent.values()))
        new = [board for k, board in boards.items() if (k, board.address) not in self._shown]
        self._shown |= {(k, board.address) for k, board in boards.items()}
        return Carried(self, site, self.transport.begin(site, rest, others, place), told, new)

    def read(self, sender: int, address: Address) -> Tensor:
        """What a neighbour has written on its board."""
        known, content = self._read.get((sender, address.file), (None, None))
        if known != address:
            content = content_at(address)
        if content is None:
            post = Message("receive", sender, torch.empty(0))
            raise self.transport.failure([post], "cannot read its memory any more")
        self._read[sender, address.file] = address, content
        return content

    def confirm(self, site: int, sender: int) -> None:
        """Tell a neighbour that its message has been read, unless it has ended since."""
        under_way, key = self._receipts.sent, (self.transport.lane, site, sender)
        with suppress(PeerFailure):
            if key in under_way:
                self._finish(*under_way[key])  # at once: it has written again since
            receipt = Message("send", sender, torch.zeros(1, dtype=torch.uint8))
            under_way[key] = receipt, self.transport.post(receipt, RECEIPTS + site)

    def await_readers(self, board: Board) -> None:
        """Wait until all have read what is on a board."""
        for post, work in self._receipts.awaited.pop(board.address, ()):
            self._finish(post, work)

    # ------------------------------------------------------------------ which links

    def _meet(self, site: int, sent: Mapping[int, int], heard: Mapping[int, int]) -> None:
        """Find out of new links, with messages of this many bytes, whether they go over boards."""
        readers = self._new("send", site, sent)
        senders = self._new("receive", site, heard)
        if not (readers or senders):
            return
        offer = self._sample.address if self._sample else NOWHERE
        offers = dict.fromkeys(readers, offer.message)
        offered = self.transport.begin(site, offers, dict.fromkeys(senders, ADDRESS), OFFERS)
        for j, message in offered.arrived().items():
            self.shares["receive", site, j] = content_at(Address.of(message)) is not None
        answers = {j: torch.tensor([self.shares["receive", site, j]]) for j in senders}
        answered = self.transport.begin(site, answers, dict.fromkeys(readers, 1), OFFERS)
        for k, answer in answered.arrived().items():
            self.shares["send", site, k] = bool(answer)

    def _new(self, kind: str, site: int, sizes: Mapping[int, int]) -> list[int]:
        long = [peer for peer, size in sizes.items() if size >= SHORTEST and not self.fused]
        return [peer for peer in long if (kind, site, peer) not in self.shares]

    def _over_board(self, kind: str, site: int, peer: int, size: int) -> bool:
        return size >= SHORTEST and self.shares.get((kind, site, peer), False)

    @cached_property
    def _sample(self) -> Board | None:
        """What neighbours try to read."""
        return Board(0) if can_share() else None

    # ------------------------------------------------------------------ own boards

    def _written(self, place: int, reader: int, message: Tensor) -> Board:
        """The board that has the message: that with `room` for all, or one for the reader alone."""
        board = self._own.boards.get((place, None))
        if board is None or not board.holds(message):
            board = self._free(place, reader, message.nbytes)
            content = message.contiguous().view(torch.uint8)
            board.content[: message.nbytes].copy_(content)
        return board

    def _free(self, place: int, reader: int | None, size: int) -> Board:
        """A board that nobody reads."""
        boards = self._own.boards
        board = boards.get((place, reader))
        if board is not None:
            self.await_readers(board)
        if board is None or len(board.content) < size:
            boards[place, reader] = board = Board(size)
        return board

    def _await_receipt(self, board: Board, site: int, reader: int) -> None:
        receipt = Message("receive", reader, torch.empty(1, dtype=torch.uint8))
        work = self.transport.post(receipt, RECEIPTS + site)
        self._receipts.awaited.setdefault(board.address, []).append((receipt, work))

    def _finish(self, post: Message, work: dist.Work) -> None:
        self.transport.wait([post], [work])

    @property
    def _receipts(self) -> Receipts:
        group = self.transport.group
        return _receipts.setdefault(group, Receipts()) if group else Receipts()
