"""A C file with one function, `run`: many steps of blocks of R runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from gossamer.native.elementwise import ONE
from gossamer.native.emit import Emitter
from gossamer.native.expressions import FUNCTIONS, KINDS
from gossamer.native.trace import OneRun

SIZES = {"float": 4, "double": 8, "int": 4}
"""C type → bytes of a number."""


@dataclass(frozen=True)
class Source:
    """The text of a C file and the tensors that its program reads in every step."""

    text: str
    constants: tuple[Tensor, ...]
    scratch: int
    """Bytes of all arrays of a step, for one run."""

    def same_as(self, other: Source) -> bool:
        """Whether both are one program that reads the same numbers."""
        same = self.text == other.text and len(self.constants) == len(other.constants)
        return same and all(map(_same_bits, self.constants, other.constants))


def _bits(z: Tensor) -> bytes:
    return z.detach().numpy().tobytes()  # a view as bytes would refuse a number of stride 0


def _same_bits(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and _bits(a) == _bits(b)


@dataclass(frozen=True)
class Held:
    """What a run keeps from step to step: x, or a field of the state."""

    name: str
    kind: str
    size: int
    """Numbers of one run."""

    def places(self, pointer: int) -> str:
        """Where a block of it is read, and where its next value goes."""
        given = f"({self.kind} *)p[{pointer}] + block * {self.size} * R"
        return f"{self.kind} *from_{self.name} = {given}, *to_{self.name} = spare_{self.name};"

    def swapped(self) -> str:
        """The next value is what is read then."""
        own, name = self.kind, self.name
        return f"{{ {own} *old = from_{name}; from_{name} = to_{name}; to_{name} = old; }}"

    def copied_back(self) -> str:
        """To where it was given."""
        return f"memcpy(to_{self.name}, from_{self.name}, sizeof({self.kind}) * {self.size} * R);"


def source(run: OneRun, seed: int) -> Source:
    """The program of a run, for the number R of them that the compiler is told.

    It is recorded with the numbers of an example, of which nothing must be seen in it.
    """
    fields = [(f"s{k}", z) for k, z in enumerate(run.state)]
    samples = [] if run.noise is None else ["noise"]
    numbers = [f"h{k}" for k in range(len(run.names))]
    names = ["x", *(name for name, _ in fields)]
    inputs = [("t", False), *((name, True) for name in [*names, *samples, *numbers])]
    kind = run.problem.start.dtype
    emitter = Emitter(run.operations(seed), inputs, [f"next_{name}" for name in names], kind)
    x = Held("x", KINDS[kind], run.problem.num_nodes * run.problem.dim)
    held = [x, *(Held(name, KINDS[z.dtype], z.numel()) for name, z in fields)]
    step = _step(emitter, held, KINDS[kind], [*samples, *numbers])
    taken = sum(size * SIZES[own] for _, own, size, _ in emitter.arrays)
    constants = tuple(z for _, z in emitter.constants)
    head = HEAD.replace("FUNCTIONS", "\n".join(map(_at_once, FUNCTIONS)))
    return Source("\n".join([head, step, _run(emitter, held, run)]), constants, taken)


HEAD = """\
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

/* glibc has these for all numbers of a register at once, a few units in the last place apart. */
#if defined __x86_64__ && defined __GLIBC__ && __GLIBC_PREREQ(2, 35)
#define AT_ONCE __attribute__((simd("notinbranch"), const)) extern
FUNCTIONS
#endif

#define LARGEST_float FLT_MAX
#define LARGEST_double DBL_MAX
#define ALIGNED 64

#if R > 1
typedef float V_float __attribute__((vector_size(REGISTER), aligned(REGISTER), may_alias));
typedef double V_double __attribute__((vector_size(REGISTER), aligned(REGISTER), may_alias));
#endif

static void *allocate(size_t bytes)
{
return aligned_alloc(ALIGNED, (bytes + ALIGNED - 1) / ALIGNED * ALIGNED);
}
"""


def _at_once(name: str) -> str:
    return f"AT_ONCE double ({name})(double); AT_ONCE float ({name}f)(float);"


def _step(emitter: Emitter, held: Sequence[Held], kind: str, given: Sequence[str]) -> str:
    """One step of one block."""
    arguments = [
        "const double *restrict t",
        *(f"const {one.kind} *restrict {one.name}" for one in held),
        *(f"const {kind} *restrict {name}" for name in given),
        *(f"{one.kind} *restrict next_{one.name}" for one in held),
        *(f"{own} *restrict {name}" for name, own, _, _ in emitter.arrays),
        *(f"const {KINDS[z.dtype]} *restrict {name}" for name, z in emitter.constants),
    ]
    body = "\n".join([ONE, *emitter.lines])
    return f"static void step({', '.join(arguments)})\n{{\n{body}\n}}\n"


def _run(emitter: Emitter, held: Sequence[Held], run: OneRun) -> str:
    """All steps of all blocks, from one copy of x and state to another and back.

    It returns whether there was memory for that.
    """
    kind, buffers = KINDS[run.problem.start.dtype], _buffers(emitter, held, run)
    lines = [
        "int run(const long *sizes, double t, void **p)",
        "{",
        "const long steps = sizes[0], first = sizes[1], last = sizes[2];",
        "const long seeds = sizes[3], scheduled = sizes[4];",
        f"const {kind} *samples = p[0]; const long *place = p[1]; const {kind} *numbers = p[2];",
        *(f"{own} *{name} = allocate(sizeof({own}) * {size});" for name, own, size in buffers),
        f"const int enough = {' && '.join(name for name, _, _ in buffers)};",
        "for (long block = first; enough && block < last; block++) {",
        *(one.places(3 + k) for k, one in enumerate(held)),
        *_steps(emitter, held, run),
        "if (steps % 2) {",
        *(one.copied_back() for one in held),
        "}",
        "}",
        *(f"free({name});" for name, _, _ in buffers),
        "return enough;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _buffers(emitter: Emitter, held: Sequence[Held], run: OneRun) -> list[tuple[str, str, str]]:
    """Name, C type and size of all memory that a thread needs for a block."""
    kind, numbers = KINDS[run.problem.start.dtype], run.problem.num_nodes * run.problem.dim
    arrays = emitter.arrays
    return [
        *((name, own, f"{size} * R" if wide else f"{size}") for name, own, size, wide in arrays),
        *((f"spare_{one.name}", one.kind, f"{one.size} * R") for one in held),
        *([] if run.noise is None else [("noise", kind, f"{numbers} * R")]),
    ]


def _steps(emitter: Emitter, held: Sequence[Held], run: OneRun) -> list[str]:
    """The loop over the steps of a block."""
    problem, noisy, count = run.problem, run.noise is not None, len(run.names)
    arguments = [
        "&now",
        *(f"from_{one.name}" for one in held),
        *(["noise"] if noisy else []),
        *(f"h + {k} * R" for k in range(count)),
        *(f"to_{one.name}" for one in held),
        *(name for name, _, _, _ in emitter.arrays),
        *(f"p[{3 + len(held) + k}]" for k in range(len(emitter.constants))),
    ]
    return [
        "for (long s = 0; s < steps; s++) {",
        "const double now = t + s;",
        "const long row = scheduled ? block * steps + s : block;",
        f"const {KINDS[problem.start.dtype]} *h = numbers + row * {count} * R;",
        *(_gather(problem.num_nodes, problem.dim) if noisy else []),
        f"step({', '.join(arguments)});",
        *(one.swapped() for one in held),
        "}",
    ]


def _gather(nodes: int, dim: int) -> list[str]:
    """The noise of every run's seed, side by side."""
    return [
        f"for (int i = 0; i < {nodes}; i++) for (int j = 0; j < {dim}; j++)",
        "for (int r = 0; r < R; r++)",
        f"noise[(i * {dim} + j) * R + r] = "
        f"samples[((s * {nodes} + i) * seeds + place[block * R + r]) * {dim} + j];",
    ]
