"""What people sell second-hand, and what they say about each other afterwards."""

from __future__ import annotations

from typing import NamedTuple

from ..kit import Draw
from .state import Category

GOODS: dict[Category, tuple[str, ...]] = {
    "books": ("atlas", "cookbook", "crime novel set", "comic collection", "dictionary", "field guide", "poetry volume"),
    "cameras": ("camera bag", "compact camera", "flash unit", "mirrorless camera", "tripod", "wide lens", "zoom lens"),
    "clothing": ("denim jacket", "hiking boots", "leather belt", "rain coat", "silk scarf", "wool coat", "wool jumper"),
    "cycling": ("bike helmet", "bike lock", "bike trailer", "city bike", "folding bike", "gravel bike", "pannier set"),
    "furniture": ("armchair", "bookshelf", "coffee table", "desk lamp", "dining chair", "floor lamp", "oak desk"),
    "garden": ("bird bath", "garden bench", "hedge trimmer", "lawn mower", "parasol", "plant pot set", "watering can"),
    "kitchen": (
        "bread maker",
        "coffee grinder",
        "espresso machine",
        "pasta maker",
        "pressure cooker",
        "tea set",
        "wok",
    ),
    "music": ("acoustic guitar", "bass amplifier", "clarinet", "digital piano", "drum kit", "turntable", "violin"),
    "sports": (
        "climbing harness",
        "rowing machine",
        "running watch",
        "ski boots",
        "surfboard",
        "tennis racket",
        "tent",
    ),
    "toys": ("board game", "building blocks", "doll house", "model railway", "puzzle set", "rocking horse", "scooter"),
}
MAKERS = (
    "Albion", "Brightwell", "Calder", "Dunmore", "Eastvale", "Fairholm", "Glenrock", "Hartwell", "Ironleaf",
    "Juniper", "Kestrel", "Larkfield", "Mistral", "Norrland", "Oakridge", "Pemberton", "Quayside", "Ravenna",
    "Solvang", "Thornbury", "Umbra", "Valmora", "Westerly", "Zephyr",
)  # fmt: skip
LOOKS = ("", "", "black", "blue", "brown", "cream", "green", "grey", "orange", "red", "silver", "white", "yellow")
PRAISE = (
    "All as described.", "Friendly and quick.", "Well packed, many thanks.", "A pleasure to deal with.",
    "Better than in the photos.", "Quick answers, fair price.",
)  # fmt: skip
BLAME = ("Scratches that were not mentioned.", "Took two weeks to send it.", "One part was missing.", "Hard to reach.")


class Good(NamedTuple):
    """A thing to sell."""

    title: str
    category: Category


class Goods:
    """Things with different titles, one after the other."""

    def __init__(self, draw: Draw):
        self.draw, self.taken = draw, dict[str, None]()

    def next(self) -> Good:
        while True:
            category = self.draw.choice(tuple(GOODS))
            words = self.draw.choice(MAKERS), self.draw.choice(LOOKS), self.draw.choice(GOODS[category])
            title = " ".join(word for word in words if word)
            if title not in self.taken:
                self.taken[title] = None
                return Good(title, category)
