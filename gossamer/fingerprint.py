"""What makes two objects the same: a digest of their content, and of the code that is not ours."""

import copyreg
import functools
import hashlib
import inspect
import re
import types
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from gossamer.code_references import references
from gossamer.digests import digest_of_words
from gossamer.errors import InvalidInput
from gossamer.libraries import (
    HEAP_TYPE,
    files_of,
    is_library_class,
    is_library_function,
    is_library_module,
    is_named_in_library,
    is_python_module,
    name_in_library,
    top_of,
)

HOOKS = re.compile(r"_.*_hooks(_with_kwargs|_always_called)?")
"""Attributes of a module, in which each hook has a number."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range)
_NAMED = (
    torch.dtype
    | torch.device
    | torch.layout
    | torch.memory_format
    | torch.finfo
    | torch.iinfo
    | np.dtype
)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_BUILT_IN = (
    types.BuiltinFunctionType
    | types.MethodWrapperType
    | types.MethodDescriptorType
    | types.ClassMethodDescriptorType
    | types.WrapperDescriptorType
    | types.GetSetDescriptorType
    | types.MemberDescriptorType
    | np.ufunc
)
_LAZY = (functools.cached_property,)
_CACHED_FUNCTION = type(functools.lru_cache(len))
_NOT_WRITTEN = {
    *("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__orig_bases__"),
    *("__parameters__", "__firstlineno__", "__static_attributes__", "_abc_impl", "_backward_cls"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__"),
}
"""Entries of a class that Python or torch makes."""
_CODE = (
    *("co_code", "co_consts", "co_names", "co_freevars", "co_cellvars", "co_varnames"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_exceptiontable"),
)


def fingerprint(value: Any) -> str:
    """A digest that changes with any number, word or line of code in `value`.

    Numbers, words, tensors and arrays count by their content, containers and objects by what they
    hold, functions and classes of libraries by name, those of the user by their compiled code and
    by what it refers to. Python, torch and Gossamer are told apart by their versions, not here; of
    any other library that is installed, the Python files count.

    Raises:
        InvalidInput: there is an object whose content cannot be seen, as that of a lock or file.

    >>> import torch
    >>> fingerprint({"a": torch.ones(2)}) == fingerprint({"a": torch.ones(2)})
    True
    >>> fingerprint({"a": torch.ones(2)}) == fingerprint({"a": torch.zeros(2)})
    False
    """
    return _Digest().of(value)


class _Digest:
    """Digests of values, each object looked into once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []  # an id names an object only as long as it lives
        self._open: dict[int, int] = {}

    def of(self, value: Any) -> str:
        """The digest of a value; one that holds itself ends there."""
        plain = _plain(value)
        if plain is not None:
            return digest_of_words(type(value).__qualname__, plain)
        key = id(value)
        if key in self._open:
            return f"itself, {len(self._open) - self._open[key]} above"
        if key not in self._known:
            self._kept.append(value)
            self._open[key] = len(self._open)
            self._known[key] = digest_of_words(type(value).__qualname__, *self._parts(value))
            del self._open[key]
        return self._known[key]

    def _all(self, values: Iterable[Any]) -> list[str]:
        return [self.of(value) for value in values]

    def _parts(self, value: Any) -> list[str]:
        """The digests of what a value consists of."""
        if type(value) in (list, tuple, *_VIEWS):
            return self._all(value)
        if type(value) in (dict, OrderedDict, types.MappingProxyType):
            return self._all(part for item in value.items() for part in item)
        if isinstance(value, set | frozenset):
            return [*self._of_attributes(value), *self._of_set(value)]
        if isinstance(value, torch.Tensor | np.ndarray):
            return self._of_array(value)
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return [self.of(type(value)), *_content(np.asarray(value))]
        if isinstance(value, types.ModuleType):
            return self._of_module(value)
        of_code = self._of_code(value)
        return self._of_object(value) if of_code is None else of_code

    def _of_set(self, value: Iterable[Any]) -> list[str]:
        """The items in the order of their digests, none of which knows of another."""
        digests, known = [], len(self._known)
        for item in value:
            digests.append(self.of(item))
            while len(self._known) > known:
                self._known.popitem()
        return sorted(digests)

    def _of_array(self, value: Any) -> list[str]:
        """The numbers of an array and its attributes; objects in it as a list."""
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            numbers = [str(value.dtype), str(value.shape), self.of(value.tolist())]
        else:
            numbers = _content(value)
        own = {} if isinstance(value, np.memmap) else _attributes(value)
        return [*numbers, self.of(type(value)), self.of(own)]

    def _of_module(self, value: types.ModuleType) -> list[str]:
        """The name of a module; of the user's also all that it holds."""
        if is_library_module(value.__name__):
            return [value.__name__, *files_of(value.__name__)]
        held = vars(value)
        names = sorted(n for n in held if not (n.startswith("__") and n.endswith("__")))
        return [value.__name__, self.of({n: held[n] for n in names})]

    def _of_code(self, value: Any) -> list[str] | None:
        """What is called or holds what is called; None of anything else."""
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, types.CodeType):
            return self._all(getattr(value, name) for name in _CODE)
        if isinstance(value, _BUILT_IN):
            return self._of_built_in(value)
        held = _held_by_wrapper(value)
        return None if held is None else self._all([type(value), *held])

    def _of_built_in(self, value: Any) -> list[str]:
        """A function in C: its name, and the object or class that it is of."""
        if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is not value:
            raise _unseen(value)
        owner = getattr(value, "__self__", getattr(value, "__objclass__", None))
        name = getattr(value, "__qualname__", value.__name__)
        module = getattr(value, "__module__", "")
        owned = "" if _is_no_owner(owner) else self.of(owner)
        return [f"{module}.{name}", owned, *files_of(module)]

    def _of_function(self, value: types.FunctionType) -> list[str]:
        """The name of a library's function; else its code and all that it uses."""
        name = f"{value.__module__}.{value.__qualname__}"
        library = is_library_function(value)
        if library and is_named_in_library(value):
            return [name, *files_of(value.__module__)]
        cells = [_cell(cell) for cell in value.__closure__ or ()]
        held = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
        if library:
            return [name, *self._all(held), *files_of(value.__globals__.get("__name__"))]
        parts = [value.__qualname__, *self._all(held), self.of(vars(value))]
        return [*parts, self.of(references(value))]

    def _of_class(self, value: type) -> list[str]:
        """The name of a library's class; else its bases, metaclass and all written in it."""
        if is_library_class(value):
            return [f"{value.__module__}.{value.__qualname__}", *files_of(value.__module__)]
        written = {n: vars(value)[n] for n in sorted(vars(value)) if n not in _NOT_WRITTEN}
        shown = {n: None if _is_slot(v) else v for n, v in written.items()}
        return [value.__qualname__, *self._all([type(value), value.__bases__, shown])]

    def _of_attributes(self, value: Any) -> list[str]:
        return self._all([type(value), _attributes(value)])

    def _of_object(self, value: Any) -> list[str]:
        """What an object holds but for what it only remembers of its computations."""
        if name := name_in_library(value):
            return [name, *files_of(name)]
        kind, library = type(value), is_library_class(type(value))
        named = library and _has_own_reduce(kind)
        if named and top_of(kind.__module__) == "gossamer":
            return self._of_attributes(value)  # a metric, which is pickled by name
        own, reduced = {} if named else _attributes(value), _reduced(value)
        if isinstance(reduced, str):
            return [_name_of_unique(value, reduced), *self._all([kind, own])]
        make, args, state, *items = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):
            state = _lasting(kind, state)
        if not _has_own_reduce(kind) and not _has_own(kind, "__getstate__"):
            state = None  # the attributes
        content = [list(i) if isinstance(i, Iterator) else i for i in items]
        return self._all([kind, own, make, args, state, content])


def _plain(value: Any) -> str | None:
    """The words for what is no container and no object."""
    if type(value) in _PLAIN:
        return repr(value)
    return str(value) if isinstance(value, _NAMED) else None


def _content(value: "torch.Tensor | np.ndarray[Any, Any]") -> list[str]:
    """Type, shape and bytes of an array."""
    if isinstance(value, torch.Tensor):
        kind = f"{value.dtype} {value.layout} {value.requires_grad}"
        dense = value.detach() if value.layout == torch.strided else value.detach().to_dense()
        flat = dense.resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes()
    else:
        data, kind = np.ascontiguousarray(value).tobytes(), str(value.dtype)
    return [kind, str(tuple(value.shape)), hashlib.sha256(data).hexdigest()]


def _attributes(value: Any) -> dict[str, Any]:
    """Name → value of what an object's `__dict__` and slots hold."""
    held = dict(getattr(value, "__dict__", {}))
    kind: Any = type(value)
    slots = _slots(kind)
    held |= {name: _slot(slot, value) for name, slot in slots.items()}
    return _lasting(kind, {name: held[name] for name in sorted(held, key=str)})


@functools.lru_cache(maxsize=4096)
def _slots(kind: Any) -> dict[str, Any]:
    """Class and name → slot."""
    every = [(owner, name, slot) for owner in kind.__mro__ for name, slot in vars(owner).items()]
    return {f"{owner.__qualname__}.{name}": slot for owner, name, slot in every if _is_slot(slot)}


def _is_slot(value: Any) -> bool:
    """Whether an entry of a class is one that its `__slots__` made."""
    of_python = isinstance(value, types.MemberDescriptorType)
    return of_python and bool(value.__objclass__.__flags__ & HEAP_TYPE)


def _slot(slot: Any, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return "nothing yet"


def _lasting(kind: type, held: dict[Any, Any]) -> dict[Any, Any]:
    """The attributes but for the values of cached properties, and for the numbers of hooks.

    Torch numbers the hooks of all modules together.
    """
    of_module = issubclass(kind, torch.nn.Module)
    return {
        name: list(part.values()) if of_module and HOOKS.fullmatch(name) and part else part
        for name, part in held.items()
        if not isinstance(inspect.getattr_static(kind, str(name), None), _LAZY)
    }


def _has_own_reduce(kind: type) -> bool:
    """Whether a class says itself what its objects are made of."""
    own = any(_has_own(kind, name) for name in ("__reduce_ex__", "__reduce__"))
    return own or kind in copyreg.dispatch_table


def _has_own(kind: type, name: str) -> bool:
    return getattr(kind, name) is not getattr(object, name)


def _reduced(value: Any) -> Any:
    """What an object is made of, as for a copy of it."""
    reduce: Any = copyreg.dispatch_table.get(type(value))
    try:
        return reduce(value) if reduce else value.__reduce_ex__(2)
    except Exception as error:
        if _is_python(type(value)) and not _has_own_reduce(type(value)):
            return (None, ())  # its own `__getstate__` refuses; the attributes are all there is
        raise _unseen(value) from error


def _is_python(kind: type) -> bool:
    """Whether a class, its bases and its `__getstate__` are written in Python."""
    of_python = all(base is object or is_python_module(base.__module__) for base in kind.__mro__)
    return of_python and inspect.isfunction(inspect.getattr_static(kind, "__getstate__"))


def _name_of_unique(value: Any, name: str) -> str:
    """The name of what a module has only one of; a user's function in C is not seen into."""
    module = getattr(value, "__module__", None)
    if callable(value) and isinstance(module, str) and not is_library_module(module):
        raise _unseen(value)
    return f"{module}.{name}"


def _unseen(value: Any) -> InvalidInput:
    return InvalidInput(
        f"{type(value).__module__}.{type(value).__qualname__}: what it holds cannot be seen, so "
        "that a change would not be noticed; hold what it is made of in a class with attributes, "
        "and make it in a functools.cached_property, which does not count"
    )


def _held_by_wrapper(value: Any) -> list[Any] | None:
    """What a wrapper of functions or objects holds, None of anything else."""
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords, vars(value)]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return [value.func]
    if isinstance(value, _CACHED_FUNCTION):
        return [value.__wrapped__, value.cache_parameters()]
    return [value()] if isinstance(value, weakref.ReferenceType) else None


def _is_no_owner(value: Any) -> bool:
    """Whether a function in C is bound to nothing but its module or its own record."""
    records = type(value).__module__ == "pybind11_builtins" or type(value).__name__ == "PyCapsule"
    return value is None or isinstance(value, types.ModuleType) or records


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "nothing yet"
