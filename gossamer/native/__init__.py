"""A method's step on a problem as C: many steps of many runs in one call, on CPUs."""

from gossamer.native.loop import NativeLoop, native_loop

__all__ = ["NativeLoop", "native_loop"]
