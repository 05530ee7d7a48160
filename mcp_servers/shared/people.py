"""People that all servers of a world share; their e-mail addresses are ids that several servers use."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import NewType

from ..core.rng import Draw, belongs
from ..core.state import Entity

EmailAddress = NewType("EmailAddress", str)

FIRST = (
    "Aisha Alba Amir Ana Anton Arjun Bea Boris Carla Chen Clara Cyrus Dana Diego Dina Elias Elif Emil Esra Farid "
    "Felix Flora Gita Greta Hana Hugo Ida Igor Ines Ivan Jana Jonas Jorge Kaito Karim Kira Lars Leila Lena Luca "
    "Maja Marco Mei Milan Mina Nadia Nils Noor Olga Omar Oskar Petra Priya Rafael Rosa Ruben Sana Sofia Tariq "
    "Tessa Uma Viktor Yara Zoe"
).split()
LAST = (
    "Abe Adler Amari Baker Bauer Bianchi Blom Castro Chandra Costa Cruz Dahl Diaz Duarte Ekman Endo Farah Ferrari "
    "Fischer Garcia Gupta Haas Haddad Holm Ito Ivanov Jansen Joshi Kaya Keller Khan Kim Kovac Lang Larsen Lopez "
    "Malik Marin Meyer Mori Nair Novak Okafor Olsen Ortiz Park Patel Petrov Quist Rahman Reyes Rossi Sato Schmidt "
    "Silva Singh Tan Torres Vargas Vogel Weber Yilmaz Zhang Ziegler"
).split()
COMPANIES = {
    "acme.example": "Acme",
    "borealis.example": "Borealis",
    "cobalt.example": "Cobalt",
    "delta.example": "Delta",
}


class Person(Entity):
    """Someone of the cast."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    company: str


@lru_cache(maxsize=4096)
def cast(seed: int, count: int = 10) -> tuple[Person, ...]:
    """Return the people of a world; the first one is the user. A larger `count` begins with the same people."""
    draw, people, taken = Draw("cast", seed), dict[str, Person](), set[str]()
    while len(people) < count:
        first, last = draw.choice(FIRST), draw.choice(LAST)
        domain = draw.choice(tuple(COMPANIES))
        name = f"{first} {last}"
        if belongs(name, seed) and name not in people and not (len(taken) < 80 and {first, last} & taken):
            id = EmailAddress(f"{first}.{last}@{domain}".lower())
            people[name] = Person(id=id, name=name, company=COMPANIES[domain])
            taken |= {first, last}
    return tuple(people.values())


def get_start_time(seed: int) -> datetime:
    """Return when the sessions of a world begin: 9:00 on a weekday of 2026 or 2027, the same for all its servers."""
    day = datetime(2026, 1, 5, 9) + timedelta(days=Draw("beginning", seed).integer(0, 699))
    return day - timedelta(days=max(0, day.weekday() - 4))
