"""What a function reads beside its arguments, by its byte code."""

import ast
import dataclasses
import dis
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any


def constants_read(unit: Any, ours: tuple[str, ...]) -> set[str]:
    """Module constants that `unit.run` reads, in the modules `ours` and whatever they call there.

    A constant is a global that one of these modules assigns. Attributes of classes count too, but
    for the fields of the unit and of the records it holds.
    """
    found: set[str] = set()
    seen: set[Any] = set()
    todo: list[Any] = [type(unit), *map(type, _held(unit))]
    while todo:
        thing = todo.pop()
        if thing in seen or not _lies_in(thing, ours):
            continue
        seen.add(thing)
        for name, value in _reads(thing):
            target = _unwrapped(value)
            if isinstance(target, FunctionType | type):
                todo.append(target)
            elif isinstance(thing, type) or name in _assigned(ours):
                found.add(f"{thing.__module__}.{name}")
    return found


def _held(record: Any) -> Iterator[Any]:
    """The values of a record's fields, and of the records in them."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            yield value
            yield from _held(value)


def _lies_in(thing: Any, ours: tuple[str, ...]) -> bool:
    return getattr(thing, "__module__", "").startswith(ours)


def _unwrapped(value: Any) -> Any:
    """The function behind a property or a cache."""
    value = getattr(value, "func", value)
    return getattr(value, "fget", None) or getattr(value, "__wrapped__", value)


def _reads(thing: Any) -> Iterator[tuple[str, Any]]:
    """Name → value of all that a function, or the methods of a class, read by name."""
    if isinstance(thing, type):
        fields = getattr(thing, "__dataclass_fields__", {})
        for name, value in vars(thing).items():
            if not name.startswith("_abc") and not name.startswith("__") and name not in fields:
                yield name, value
        return
    for code in _codes(inspect.unwrap(thing).__code__):
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL" and step.argval in thing.__globals__:
                yield step.argval, thing.__globals__[step.argval]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def _assigned(ours: tuple[str, ...]) -> set[str]:
    """The names that these modules assign at their top."""
    modules = [module for name, module in sys.modules.items() if name.startswith(ours)]
    trees = [ast.parse(inspect.getsource(module)) for module in modules if module.__file__]
    targets = [
        target
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
