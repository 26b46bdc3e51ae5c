"""Compressed messages: one file per compressor, and `COMPRESSORS` lists them by name.

| compressor | what is sent of z − ĥ | share of the bytes of float32 |
|---|---|---|
| `TopK(share)` | the largest coordinates and where they are | share + 3 % |
| `RandK(share)` | random coordinates, which both sides draw alike | share |
| `QSGD(bits)` | each coordinate, randomly rounded to `bits` bits | 13 % with 4 bits |
| `Sign()` | one bit per coordinate | 3.9 % |
| `Cast(dtype)` | each coordinate, rounded to a shorter type | 51 % in bfloat16, 26 % in float8 |

A compressor of your own derives from `Compressor`.
"""

from gossamer.networks.compressors.cast import Cast
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.qsgd import QSGD
from gossamer.networks.compressors.rand_k import RandK
from gossamer.networks.compressors.sign import Sign
from gossamer.networks.compressors.top_k import TopK

COMPRESSORS: dict[str, type[Compressor]] = {
    compressor.__name__: compressor for compressor in (TopK, RandK, QSGD, Sign, Cast)
}

__all__ = ["COMPRESSORS", "QSGD", "Cast", "Compressor", "RandK", "Sign", "TopK"]
