"""Names and texts from Faker's lists, drawn with our own seeded generator: the same on every Python and machine."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from random import Random
from threading import local
from typing import Any

from faker import Factory

from ..core.rng import Draw

PROVIDERS = [
    f"faker.providers.{name}" for name in ("address", "automotive", "color", "company", "job", "lorem", "person")
]


class Steady(Random):
    """Random generator for Faker that derives every choice from a `Draw`."""

    def __init__(self, draw: Draw):
        super().__init__(0)
        self.draw = draw

    def random(self) -> float:
        return self.draw.random()

    def randint(self, a: int, b: int) -> int:
        return self.draw.integer(a, b)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self.draw.choice(range(start) if stop is None else range(start, stop, step))

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self.draw.random()

    def choice(self, seq: Any) -> Any:
        return self.draw.choice(seq)

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
        if cum_weights is not None:
            weights = [high - low for low, high in zip([0, *cum_weights], cum_weights, strict=False)]
        shares = weights or [1.0] * len(population)
        return [self.draw.choose_weighted(population, shares) for _ in range(k)]

    def sample(self, population: Iterable[Any], k: int, *, counts: Any = None) -> list[Any]:
        return self.draw.sample(list(population), k)

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x[:] = self.draw.shuffle_items(x)


class Generator(local):
    """Faker's generator, one per thread: threads that share one would draw from each other's streams."""

    def __init__(self) -> None:
        self.fake = Factory.create("en_US", PROVIDERS)


GENERATOR = Generator()


class FakeText:
    """Faker's texts for one stream of choices; not to be used for dates, ids, e-mail addresses or people's names."""

    def __init__(self, draw: Draw):
        self.steady = Steady(draw)

    def company(self) -> str:
        """Return a company's name, such as Watkins and Sons."""
        return self.text("company")

    def street(self) -> str:
        """Return a house number and a street, such as 48 Kennedy Meadow."""
        return f"{self.steady.randint(1, 240)} {self.text('street_name')}"

    def job(self) -> str:
        """Return a profession, such as Legal secretary."""
        return self.text("job")

    def slogan(self) -> str:
        """Return a company's slogan, such as Devolved modular data-warehouse."""
        return self.text("catch_phrase")

    def sentence(self, words: int = 8) -> str:
        """Return a meaningless English sentence of about `words` common words."""
        return self.text("sentence", nb_words=words)

    def word(self) -> str:
        """Return a common English word."""
        return self.text("word")

    def color(self) -> str:
        """Return a colour's name in lower case, such as dark magenta."""
        return self.text("safe_color_name").lower()

    def licence_plate(self) -> str:
        """Return a licence plate, such as 03R 649."""
        return self.text("license_plate")

    def text(self, kind: str, **options: Any) -> str:
        """Return a text of any kind that the Faker providers in `PROVIDERS` offer, such as last_name."""
        GENERATOR.fake.random = self.steady
        return str(getattr(GENERATOR.fake, kind)(**options))

    def different(self, kind: str, count: int) -> Sequence[str]:
        """Return `count` different texts of a kind, such as company. Raises LookupError if Faker has too few."""
        found: dict[str, None] = {}
        for _ in range(50 * count):
            if len(found) == count:
                return tuple(found)
            found[getattr(self, kind)()] = None
        raise LookupError(f"Faker has fewer than {count} different texts of the kind {kind}.")
