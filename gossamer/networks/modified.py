"""What makes one network of another: losses, compression, more exchanges or fewer."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from gossamer.errors import require
from gossamer.networks.network import Network
from gossamer.networks.recipe import Recipe
from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True, repr=False)
class Modified(Network):
    """A network that modifies another one, e.g. by losing its messages.

    Modifications may be written in any order, but they are always applied in this one: `drops`,
    `compressed`, `accelerated`, `every`.

    Args:
        inner: the network that is modified.
        recipe: how the modified network is built.
    """

    inner: Network
    recipe: Recipe = field(compare=False)
    place: ClassVar[int]
    """Position in the order in which modifications are applied."""

    @classmethod
    def on(cls, inner: Network, *arguments: Any) -> Self:
        """This modification, with the given arguments, of the network `inner`."""
        change = cls(inner, inner.recipe, *arguments)
        return replace(change, recipe=inner.recipe.then(change.call))

    @property
    def call(self) -> str:
        """The Python call that makes this modification, e.g. "every(5)"."""
        raise NotImplementedError

    @property
    def departure(self) -> str:
        """What the modification adds to the departure of the inner network; "" if nothing."""
        raise NotImplementedError

    @property
    def rounds(self) -> tuple[StaticNetwork, ...]:
        """The rounds of the inner network."""
        return self.inner.rounds

    @property
    def num_nodes(self) -> int:
        """That of the inner network, n."""
        return self.inner.num_nodes

    @property
    def period(self) -> int:
        """That of the inner network."""
        return self.inner.period

    @property
    def numbers_per_round(self) -> int:
        """That of the inner network."""
        return self.inner.numbers_per_round

    @property
    def symmetric(self) -> bool:
        """Whether the matrices of the inner network are symmetric."""
        return self.inner.symmetric

    @property
    def balanced(self) -> bool:
        """Whether the inner network has one matrix in every round for opinions and totals."""
        return self.inner.balanced

    @property
    def loses_one_way(self) -> bool:
        """Whether the inner network may lose a message without its sender noticing."""
        return self.inner.loses_one_way

    @property
    def compresses(self) -> bool:
        """Whether the inner network compresses its messages."""
        return self.inner.compresses

    @property
    def why_no_lam(self) -> str:
        """The reason why the inner network has no λ; "" if it has one."""
        return self.inner.why_no_lam

    @property
    def lam_note(self) -> str:
        """The sense in which the λ of the inner network holds."""
        return self.inner.lam_note

    @property
    def degrees(self) -> str:
        """How many others a node hears in a round of the inner network, as text."""
        return self.inner.degrees

    def without(self, node: int) -> Self:
        """The same modification of the network that is left when `node` dies."""
        return self.around(self.inner.without(node))

    def around(self, inner: Network) -> Self:
        """The same modification of another network."""
        return self.on(inner, *(getattr(self, one.name) for one in fields(self)[2:]))


def layers(network: Network) -> Iterator[Network]:
    """The network, the one that it was made of, and so on.

    >>> from gossamer.networks import ring
    >>> [type(one).__name__ for one in layers(ring(4).drops(0.1).every(2))]
    ['Every', 'Drops', 'StaticNetwork']
    """
    yield network
    if isinstance(network, Modified):
        yield from layers(network.inner)


def modify(network: Network, kind: type[Modified], *arguments: Any) -> Network:
    """`network` with one more modification, at its place among those that are there."""
    if not isinstance(network, Modified) or network.place < kind.place:
        return kind.on(network, *arguments)
    once = network.place != kind.place
    way_out = "write it once, with the numbers you want"
    require(once, "network", network.name, f"at most one .{kind.__name__.lower()}(…)", way_out)
    return network.around(modify(network.inner, kind, *arguments))
