"""Ranks prove to each other that they know a secret, before anything of theirs is used.

The secret is the text of the environment variable `GOSSAMER_SECRET`, the same on all ranks; without
it the proofs prove nothing. Of every pair of ranks i and j, over the connection that will carry
their messages:

    i → j   nᵢ                                              32 random bytes
    i → j   HMAC-SHA256(secret, "gossamer i j" nⱼ nᵢ)       which j computes, too

No proof is worth anything a second time, for another pair or in the other direction.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from datetime import timedelta

import torch
import torch.distributed as dist

from gossamer.distributed.collectives import device_of, rank_in, size_of
from gossamer.errors import require

VARIABLE = "GOSSAMER_SECRET"
SHORTEST = 16
LENGTH = 32


def secret() -> bytes:
    """What the environment says; empty if it says nothing."""
    text = os.environ.get(VARIABLE, "")
    way_out = f"e.g. export {VARIABLE}=$(openssl rand -hex 32) on one machine, copied to the others"
    found, need = f"{len(text)} characters", f"none, or at least {SHORTEST}"
    require(not text or len(text) >= SHORTEST, VARIABLE, found, need, way_out)
    return text.encode()


def require_secret(group: dist.ProcessGroup | None, timeout: float) -> None:
    """Raise `PermissionError`, with their numbers, if some ranks do not know the secret."""
    if group is None:
        return
    key, me, peers = secret(), rank_in(group), range(size_of(group))
    nonces = {peer: secrets.token_bytes(LENGTH) for peer in peers if peer != me}
    theirs = _swap(nonces, group, timeout)
    proofs = {p: _proof(key, me, p, theirs[p] + nonces[p]) for p in nonces}
    shown = _swap(proofs, group, timeout)
    expected = {p: _proof(key, p, me, nonces[p] + theirs[p]) for p in nonces}
    strangers = [p for p in nonces if not hmac.compare_digest(shown[p], expected[p])]
    if strangers:
        who = f"rank{'s' * (len(strangers) > 1)} {', '.join(map(str, strangers))}"
        reason = f"{who}: knows another secret than rank {me}, or none"
        way_out = f"set the same {VARIABLE} on all ranks, and look who else can reach the port"
        raise PermissionError(f"{reason}; {way_out}")


def _proof(key: bytes, sender: int, receiver: int, nonces: bytes) -> bytes:
    return hmac.digest(key, b"gossamer %d %d" % (sender, receiver) + nonces, "sha256")


def _swap(sent: Mapping[int, bytes], group: dist.ProcessGroup, timeout: float) -> dict[int, bytes]:
    """Send 32 bytes to each of some ranks, and take as many from each of them."""
    device = device_of(group)
    mine = {
        p: torch.tensor(list(text), dtype=torch.uint8, device=device) for p, text in sent.items()
    }
    theirs = {p: torch.zeros(LENGTH, dtype=torch.uint8, device=device) for p in sent}
    receives = [dist.P2POp(dist.irecv, z, group=group, group_peer=p) for p, z in theirs.items()]
    sends = [dist.P2POp(dist.isend, z, group=group, group_peer=p) for p, z in mine.items()]
    for work in dist.batch_isend_irecv(receives + sends) if sent else ():
        try:
            work.wait(timedelta(seconds=timeout))
        except RuntimeError as reason:
            problem = f"a rank did not prove within {timeout:g} s that it knows the secret"
            raise ConnectionError(f"{problem} ({str(reason).splitlines()[0]})") from reason
    return {p: bytes(z.tolist()) for p, z in theirs.items()}
