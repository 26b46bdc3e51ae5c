"""Steps in C: many steps of many runs in one call, on CPUs.

A method and a problem are Python that calls torch, and a step of a small problem is mostly the time
that Python and torch take to begin an operation. Where many steps are to come, the simulator has
them taken in C instead:

1. `trace`: one step of one run, as a function of tensors: gradient, noise, method, mix.
2. `recorder`: Python is run once with that function, and every operation of torch is written down.
   What cannot be written down is refused: a branch on a number, a number drawn at random.
3. `emit`: each operation as C for R runs side by side; `expressions` and `elementwise` what is done
   number by number, `products`, `reductions` and `joins` the rest. What has no C is refused.
4. `source`: the C file, `build`: compiled by gcc once per machine and kept in a cache.
5. `agreement`: before it is used, a few steps of it are compared with the steps as written.
6. `loop`: what the simulator calls in place of Python, with the x and the state of its runs.

For the long vectors of one node among processes, a step is mostly the time that memory takes. There
`node_step` makes few passes of it: `passes` writes each as a loop of C.

What is left to Python and torch: drawing the noise, schedules, metrics, `init`, `info`, and all
that is refused on the way. A refusal is no error: the steps are then taken as they are written.
"""

from gossamer.native.loop import Lanes, NativeLoop, native_loop

__all__ = ["Lanes", "NativeLoop", "native_loop"]
