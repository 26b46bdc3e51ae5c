"""How tensors and words are named: by a digest of their bytes."""

import hashlib

from torch import Tensor


def digest(*content: Tensor | str) -> str:
    """Sixteen hexadecimal digits that name tensors, and text between them.

    Equal numbers of another type have other bytes: convert what shall be equal.

    >>> import torch
    >>> digest(torch.tensor([1.0, 2.0]).double()) == digest(torch.tensor([1, 2]).double())
    True
    """
    found = hashlib.sha256()
    for one in content:
        found.update(one.encode() if isinstance(one, str) else _bytes(one))
    return found.hexdigest()[:16]


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().numpy().tobytes()


def digest_of_words(*words: str) -> str:
    """32 hexadecimal digits that name words in their order.

    >>> digest_of_words("a", "b") == digest_of_words("b", "a")
    False
    """
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]
