"""Messages that nobody waits for: they lie in a box until their receiver looks."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.failures import PROBE_TAG
from gossamer.distributed.transport import Message, Transport
from gossamer.errors import require

STAMP = 8
"""Bytes of the number at the end of a letter, and of a receipt."""

FIRST_TAG = 1 << 12
"""Tags below are those of messages that are waited for."""

MOST_SITES = 16
"""Mixes of a step at most, each with tags of its own: further ones would have another opening's."""

PROBE_SECONDS = 0.5
"""Silence after which a sender is suspected to be gone, from one suspicion to the next."""

LOOK_SECONDS = 0.001
"""From one look to the next where letters are waited for after all."""


class Posted(NamedTuple):
    """How many letters a node has sent so far to one receiver at one site."""

    site: int
    receiver: int
    letters: int
    length: int


class Outbox:
    """Letters to one node, at most one of them under way.

    gloo does not tell whether a message has arrived, unless one waits for it. So the receiver sends
    the number of each letter back as its receipt, and then the next one may go.

    Args:
        transport: what carries them.
        peer: the receiver.
        tag: of letters; receipts have the next one.
    """

    def __init__(self, transport: Transport, peer: int, tag: int) -> None:
        self._transport, self._peer, self._tag = transport, peer, tag
        self._receipt = torch.zeros(STAMP, dtype=torch.uint8)
        self._letter = torch.empty(0, dtype=torch.uint8)
        self._under_way: list[tuple[Message, dist.Work]] = []
        self.sent = self.length = 0

    @property
    def free(self) -> bool:
        """Whether the last letter has been taken."""
        return _number(self._receipt) == self.sent

    def send(self, content: Tensor) -> None:
        """Send a copy of `content`; the box must be free."""
        for message, work in self._under_way:
            self._transport.wait([message], [work])  # at once: it has been taken
        self.sent, self.length = self.sent + 1, content.nbytes
        if len(self._letter) != _size(content.nbytes):
            self._letter = torch.zeros(_size(content.nbytes), dtype=torch.uint8)
        self._letter[: content.nbytes].copy_(content.contiguous().view(torch.uint8))
        _write(self._letter, self.sent)
        receipt = Message("receive", self._peer, self._receipt)
        letter = Message("send", self._peer, self._letter)
        self._transport.count_sent(letter.content.nbytes)
        self._under_way = [
            (receipt, self._transport.post(receipt, self._tag + 1)),
            (letter, self._transport.post(letter, self._tag)),
        ]


class Inbox:
    """Letters from one node: the next is received while nobody looks, into memory of its own.

    A letter ends with its number. Once that is there, the rest is, or a moment later.

    Args:
        transport: what carries them.
        peer: the sender.
        tag: of letters; receipts have the next one.
        length: bytes of a letter's content.
    """

    def __init__(self, transport: Transport, peer: int, tag: int, length: int) -> None:
        self._transport, self._peer, self._tag, self.length = transport, peer, tag, length
        self._next, self._last = (torch.zeros(_size(length), dtype=torch.uint8) for _ in range(2))
        self._receipt = Message("send", peer, torch.zeros(STAMP, dtype=torch.uint8))
        self._confirmed: dist.Work | None = None
        self.received, self._looked = 0, time.monotonic()
        self._silent = self._probed = 0.0
        self._await_next()

    def take(self) -> Tensor | None:
        """The content of a letter that has come since the last look, valid until the next one."""
        if _number(self._next) != self.received + 1:
            self._note_silence()
            return None
        self._transport.wait([self.awaited], [self._work])
        if self._confirmed is not None:
            self._transport.wait([self._receipt], [self._confirmed])  # at once: it was answered
        self.received += 1
        self._last, self._next = self._next, self._last
        self._await_next()
        _write(self._receipt.content, self.received)
        self._confirmed = self._transport.post(self._receipt, self._tag + 1)
        self._transport.count_sent(STAMP)
        self._looked, self._silent, self._probed = time.monotonic(), 0.0, 0.0
        return self._last[: self.length]

    def newest(self) -> Tensor | None:
        """The content of the last letter that has come, now or earlier."""
        self.take()
        return self._last[: self.length] if self.received else None

    def _await_next(self) -> None:
        _write(self._next, 0)
        self.awaited = Message("receive", self._peer, self._next)
        self._work = self._transport.post(self.awaited, self._tag)

    def _note_silence(self) -> None:
        """Raise if the sender is gone, or has been silent for too long while this node was not.

        Of a pause in which this node did not look either, e.g. to evaluate, a part counts.
        """
        now, transport = time.monotonic(), self._transport
        self._silent += min(now - self._looked, transport.timeout / 4)
        self._looked = now
        if self._silent > transport.timeout:
            reason = f"Timed out after {transport.timeout:g} s without a message"
            raise transport.failure([self.awaited], reason)
        if self._silent > self._probed + PROBE_SECONDS:
            self._probed = self._silent
            nothing = Message("receive", self._peer, torch.empty(1, dtype=torch.uint8))
            transport.post(nothing, PROBE_TAG)  # raises if the connection is closed


class _Opened:
    """The boxes of a process group, which live as long as it does.

    gloo would choke on a message to a box that is gone.
    """

    def __init__(self) -> None:
        self.times = 0
        self.out: dict[tuple[int, int], Outbox] = {}
        self.into: dict[tuple[int, int], Inbox] = {}


_opened: WeakKeyDictionary[dist.ProcessGroup, _Opened] = WeakKeyDictionary()


class Mailboxes:
    """The boxes of a node, one to and one from each neighbour at each site of a step.

    Args:
        transport: what carries the letters, by gloo.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport, self._first_tag = transport, FIRST_TAG
        self.at_rest = True
        self.total_sites: set[int] = set()
        """Where letters are parts of totals, of which none may be lost."""

    def open(self) -> None:
        """Begin anew, together with all nodes of the group; what is under way is not read."""
        if self._transport.group is not None:
            self._of_group.times += 1
            self._first_tag = FIRST_TAG + 2 * MOST_SITES * self._of_group.times
        self.at_rest = True

    def free(self, site: int, receivers: Iterable[int]) -> list[int]:
        """Those of the receivers that have taken their last letter."""
        return [peer for peer in receivers if self._outbox(site, peer).free]

    def send(self, site: int, letters: Mapping[int, Tensor]) -> None:
        """Send a letter to each of some receivers that are free."""
        for peer, content in letters.items():
            self._outbox(site, peer).send(content)
            self.at_rest = False

    def arrived(self, site: int, senders: Iterable[int], length: int) -> dict[int, Tensor]:
        """By sender, the content of each letter that has come since the last look."""
        taken = {peer: self._inbox(site, peer, length).take() for peer in senders}
        return {peer: content for peer, content in taken.items() if content is not None}

    def newest(self, site: int, senders: Iterable[int], length: int) -> dict[int, Tensor]:
        """By sender, the content of the last letter of each, whenever it has come."""
        read = {peer: self._inbox(site, peer, length).newest() for peer in senders}
        return {peer: content for peer, content in read.items() if content is not None}

    def posted(self) -> list[Posted]:
        """The parts of totals that were sent since the beginning."""
        if self._transport.group is None:
            return []
        sites = {self._tag(site): site for site in self.total_sites}
        boxes = [
            (sites[tag], k, box) for (k, tag), box in self._of_group.out.items() if tag in sites
        ]
        return [Posted(site, k, box.sent, box.length) for site, k, box in boxes if box.sent]

    def outstanding(self, posted: Posted, sender: int) -> Tensor | None:
        """The content of the letter that this node has not taken yet, waited for, if there is one.

        At most one of a sender's is under way.
        """
        box = self._inbox(posted.site, sender, posted.length)
        deadline = time.monotonic() + self._transport.timeout
        while box.received < posted.letters:
            content = box.take()
            if content is not None:
                return content
            if time.monotonic() > deadline:
                raise self._transport.failure([box.awaited], "Timed out before all was at rest")
            time.sleep(LOOK_SECONDS)
        return None

    @property
    def _of_group(self) -> _Opened:
        group = self._transport.group
        assert group is not None
        return _opened.setdefault(group, _Opened())

    def _tag(self, site: int) -> int:
        few, found = site < MOST_SITES, f"False and a step that mixes more than {MOST_SITES} times"
        require(few, "wait", found, f"at most {MOST_SITES} mixes in a step, or True")
        return self._first_tag + 2 * site

    def _outbox(self, site: int, peer: int) -> Outbox:
        boxes, tag = self._of_group.out, self._tag(site)
        if (peer, tag) not in boxes:
            boxes[peer, tag] = Outbox(self._transport, peer, tag)
        return boxes[peer, tag]

    def _inbox(self, site: int, peer: int, length: int) -> Inbox:
        boxes, tag = self._of_group.into, self._tag(site)
        if (peer, tag) not in boxes:
            boxes[peer, tag] = Inbox(self._transport, peer, tag, length)
        return boxes[peer, tag]


def _size(length: int) -> int:
    """Of a letter with `length` bytes of content: its number begins at a multiple of its size."""
    return -(-length // STAMP) * STAMP + STAMP


def _number(letter: Tensor) -> int:
    return int(letter[-STAMP:].view(torch.int64))


def _write(letter: Tensor, number: int) -> None:
    letter[-STAMP:].view(torch.int64).fill_(number)
