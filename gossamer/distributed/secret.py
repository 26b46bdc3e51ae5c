"""Ranks prove to each other that they know a secret, before anything of theirs is used.

The secret is the text of the environment variable `GOSSAMER_SECRET`, the same on all ranks; without
it nothing is proved. Of every pair of ranks i and j, over the connection that will carry
their messages:

    i → j   nᵢ                                              32 random bytes
    i → j   HMAC-SHA256(secret, "gossamer i j" nⱼ nᵢ)       which j computes, too

No proof is worth anything a second time, for another pair or in the other direction.
"""

import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import NoReturn

import torch
import torch.distributed as dist

from gossamer.distributed.collectives import connects_on_use, device_of, rank_in, size_of
from gossamer.distributed.rendezvous import ranks_text
from gossamer.errors import first_line, require

VARIABLE = "GOSSAMER_SECRET"
SHORTEST = 16
LENGTH = 32
TAG = 0x5EC
"""Of the proofs: messages of another optimizer may still be on their way over the connection."""


def secret() -> bytes:
    """What the environment says; empty if it says nothing."""
    text = os.environ.get(VARIABLE, "")
    way_out = f"e.g. export {VARIABLE}=$(openssl rand -hex 32) on one machine, copied to the others"
    found, need = f"{len(text)} characters", f"none, or at least {SHORTEST}"
    require(not text or len(text) >= SHORTEST, VARIABLE, found, need, way_out)
    return text.encode()


def require_secret(group: dist.ProcessGroup | None, timeout: float, linked: Sequence[int]) -> None:
    """Raise, with their numbers, if some ranks do not know the secret, or do not answer.

    All others are asked; where gloo connects ranks on first use only, those that are `linked` with
    this one. Without a secret nothing is asked, and nobody connects for it.
    """
    key = secret()
    if group is None or not key:
        return
    me, peers = rank_in(group), linked if connects_on_use() else range(size_of(group))
    nonces = {peer: secrets.token_bytes(LENGTH) for peer in sorted(peers) if peer != me}
    theirs = _swap(nonces, group, timeout)
    proofs = {p: _proof(key, me, p, theirs[p] + nonces[p]) for p in nonces}
    shown = _swap(proofs, group, timeout)
    expected = {p: _proof(key, p, me, nonces[p] + theirs[p]) for p in nonces}
    strangers = [p for p in nonces if not hmac.compare_digest(shown[p], expected[p])]
    if strangers:
        refuse_strangers(strangers, me)


def refuse_strangers(strangers: Sequence[int], rank: int) -> NoReturn:
    """Name the ranks that do not know the secret of `rank`."""
    way_out = f"set the same {VARIABLE} on all ranks, and check who else can reach the ports"
    who, ours = ranks_text(strangers), f"that of rank {rank}"
    reason = f"{who}: {VARIABLE} differs from {ours}, or is not set"
    raise PermissionError(f"{reason}; {way_out}")


def sealed(about: str, text: str) -> str:
    """A text to be left in the store, with a seal that only who knows the secret can make.

    >>> opened("weather", sealed("weather", "fine").encode())
    'fine'
    >>> opened("mood", sealed("weather", "fine").encode())      # nothing
    """
    return json.dumps([text, _proof_of(about, text)])


def opened(about: str, content: bytes | None) -> str | None:
    """The text that was sealed; None if it was not, or was about something else."""
    try:
        text, seal = json.loads(content or b"")
        return text if hmac.compare_digest(seal, _proof_of(about, text)) else None
    except (ValueError, TypeError, AttributeError):
        return None


def _proof_of(about: str, text: str) -> str:
    return hmac.digest(secret(), json.dumps([about, text]).encode(), "sha256").hex()


def _proof(key: bytes, sender: int, receiver: int, nonces: bytes) -> bytes:
    return hmac.digest(key, b"gossamer %d %d" % (sender, receiver) + nonces, "sha256")


def _swap(sent: Mapping[int, bytes], group: dist.ProcessGroup, timeout: float) -> dict[int, bytes]:
    """Send 32 bytes to each of some ranks, and take as many from each of them."""
    device = device_of(group)
    bytes_of = partial(torch.tensor, dtype=torch.uint8, device=device)
    mine = {p: bytes_of(list(text)) for p, text in sent.items()}
    theirs = {p: torch.zeros(LENGTH, dtype=torch.uint8, device=device) for p in sent}
    sends = [dist.P2POp(dist.isend, z, None, group, TAG, p) for p, z in mine.items()]
    receives = [dist.P2POp(dist.irecv, z, None, group, TAG, p) for p, z in theirs.items()]
    works = dist.batch_isend_irecv(sends + receives) if sent else []
    silent, deadline = {}, time.monotonic() + timeout
    for work, peer in zip(works, [*sent, *sent], strict=False):  # NCCL has one for all
        try:
            work.wait(timedelta(seconds=max(0.1, deadline - time.monotonic())))
        except RuntimeError as reason:
            silent[peer] = first_line(reason)
    if silent:
        problem = f"{ranks_text(sorted(silent))}: did not prove in {timeout:g} s to know the secret"
        raise ConnectionError(f"{problem} ({'; '.join(silent.values())})")
    return {p: bytes(z.tolist()) for p, z in theirs.items()}
