"""Objects from what a user types: `ring(20, hops=2)`, `StudentT(df=1.5)`, `ring(20).without(3)`."""

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gossamer.errors import InvalidInput, choice, first_line

T = TypeVar("T")


def parse(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Name, positional and named arguments of a call; nothing is executed.

    Arguments are literals, and bare words stand for themselves.

    >>> parse("ring(20, hops=2)")
    ('ring', [20], {'hops': 2})
    >>> parse("ring(20, weights=laplacian)")
    ('ring', [20], {'weights': 'laplacian'})
    >>> parse("GTNSGDm")
    ('GTNSGDm', [], {})
    """
    call = _call(text)
    if not isinstance(call.func, ast.Name):
        raise _unreadable(text)
    return call.func.id, *_arguments(call, text, lambda node: _literal(node, text))


def build(
    kind: str,
    text: str,
    known: Mapping[str, Callable[..., T]],
    data: Mapping[str, Any] | None = None,
    parts: Mapping[str, Callable[..., Any]] | None = None,
    inside: Mapping[str, Callable[..., Any]] | None = None,
) -> T:
    """The object of the given kind that `text` describes: calls of what is `known`, nothing else.

    Args:
        kind: what the errors call it, e.g. "network".
        text: a call, e.g. "ring(8)"; a chain of calls, e.g. "ring(8).without(3)", of methods that
            the class lists in `modifiers`; calls may stand in arguments and in lists.
        known: what the names of functions stand for.
        data: what other names stand for; without it, for themselves.
        parts: functions known within the arguments of methods, and nowhere else.
        inside: functions known, beside others, within the arguments of functions.

    >>> from gossamer.networks import NETWORKS
    >>> build("network", "ring(8).without(3)", NETWORKS).num_nodes
    7
    >>> build("network", "rnig(8)", NETWORKS)
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: network: got 'rnig', need one of ring, ...; did you mean 'ring'?
    """
    try:
        builder = _Builder(kind, text, known, data or {}, parts or {}, inside or {})
        return builder.call(_call(text))
    except RecursionError as reason:
        raise _unreadable(text) from reason


@dataclass(frozen=True)
class Given:
    """An object under a name of its own, where functions are known: it is written without ().

    >>> from gossamer.networks import NETWORKS, ring
    >>> build("network", "mine.without(0)", {**NETWORKS, "mine": Given("mine", ring(5))}).num_nodes
    4
    """

    name: str
    thing: Any

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self) -> Any:
        """The object."""
        return self.thing


@dataclass(frozen=True)
class _Builder:
    """Evaluates the tree of one text; arguments as in `build`."""

    kind: str
    text: str
    known: Mapping[str, Callable[..., Any]]
    data: Mapping[str, Any]
    parts: Mapping[str, Callable[..., Any]]
    inside: Mapping[str, Callable[..., Any]]

    def value(self, node: ast.expr) -> Any:
        """The object of a call, a list of values, what a word stands for, or a literal."""
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.List):
            return [self.value(part) for part in node.elts]
        if isinstance(node, ast.Name):
            given = self.known.get(node.id)
            return given() if isinstance(given, Given) else self.data.get(node.id, node.id)
        return _literal(node, self.text)

    def call(self, node: ast.Call) -> Any:
        """What the function returns; its complaints name the text and its arguments."""
        maker = self.maker(node.func)
        within = replace(self, known={**self.known, **self.inside})
        if isinstance(node.func, ast.Attribute):
            within = replace(self, kind=f"argument of {maker.__name__}", known=self.parts)
        positional, named = _arguments(node, self.text, within.value)
        try:
            inspect.signature(maker).bind(*positional, **named)
            return maker(*positional, **named)
        except InvalidInput:
            raise
        except (TypeError, ValueError, RuntimeError, MemoryError, OverflowError) as reason:
            what = f"{self.text}: {_in_short(reason)}; the arguments of {maker.__name__} are"
            raise InvalidInput(f"{self.kind}: {what} {usage(maker)}") from reason

    def maker(self, function: ast.expr) -> Callable[..., Any]:
        """A known function, or a method of what stands before the dot."""
        if isinstance(function, ast.Name):
            return self.known[choice(self.kind, function.id, self.known)]
        if not isinstance(function, ast.Attribute):
            raise _unreadable(self.text)
        before = ast.unparse(function.value)
        named = before in self.data or isinstance(self.known.get(before), Given)
        if isinstance(function.value, ast.Name) and not named:
            reason = self._no_object(before, function.attr)
            raise InvalidInput(f"{self.kind}: {self.text}: {reason}")
        thing = self.value(function.value)
        methods = getattr(type(thing), "modifiers", ())
        name = choice(f"method of {before}", function.attr, methods)
        method: Callable[..., Any] = getattr(thing, name)
        return method

    def _no_object(self, word: str, attribute: str) -> str:
        """What a bare word before a dot lacks."""
        if word in self.known:
            arguments = usage(self.known[word])
            return f"{word} needs its arguments {arguments}, as in 'ring(4).drops(0.1)'"
        return f"no module is named here; write {attribute} instead of {word}.{attribute}"


def _call(text: str) -> ast.Call:
    """The tree of a call; a bare name is a call without arguments."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as reason:
        raise _unreadable(text) from reason
    if isinstance(tree, ast.Name):
        return ast.Call(func=tree, args=[], keywords=[])
    if not isinstance(tree, ast.Call):
        raise _unreadable(text)
    return tree


def _arguments(
    call: ast.Call, text: str, value: Callable[[ast.expr], Any]
) -> tuple[list[Any], dict[str, Any]]:
    named = {keyword.arg: value(keyword.value) for keyword in call.keywords if keyword.arg}
    if len(named) < len(call.keywords):  # a name twice, or **
        raise _unreadable(text)
    return [value(argument) for argument in call.args], named


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError) as reason:
        raise _unreadable(text) from reason


def _unreadable(text: str) -> InvalidInput:
    return InvalidInput(
        f"cannot read {text!r}, need NAME or NAME(value, name=value), e.g. 'ring(20, hops=2)' "
        "or 'ring(20).drops(0.1)'"
    )


def _in_short(reason: Exception) -> str:
    """The first line of a complaint; Python's own about words that are no numbers, in ours."""
    first = first_line(reason)
    word = isinstance(reason, TypeError) and "'str'" in first
    return "a word stands where a number is needed" if word else first


def usage(maker: Callable[..., Any]) -> str:
    """The arguments of a constructor, for error messages and help.

    >>> from gossamer.networks import NETWORKS
    >>> usage(NETWORKS["ring"])
    '(n, hops=1, weights=metropolis)'
    >>> usage(NETWORKS["random_regular"])
    '(n, degree=..., seed=0, weights=metropolis)'
    """
    return f"({', '.join(map(_shown, inspect.signature(maker).parameters.values()))})"


def _shown(parameter: inspect.Parameter) -> str:
    if parameter.default is not inspect.Parameter.empty:
        return f"{parameter.name}={parameter.default}"
    by_name = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return f"{parameter.name}=..." if by_name else parameter.name
