"""Vocabulary of the catalogue: the goods of each category with their options and prices."""

from __future__ import annotations

from typing import NamedTuple

from .state import Category


class Goods(NamedTuple):
    """A kind of goods; `prices` are the lowest and highest in cents."""

    qualities: tuple[str, ...]
    nouns: tuple[str, ...]
    options: tuple[str, ...]
    prices: tuple[int, int]


BRANDS = (
    "Alder", "Brook", "Cinder", "Dune", "Ember", "Fjord", "Gale", "Heron", "Islet", "Juniper", "Kestrel", "Lumen",
    "Moss", "Nova", "Onyx", "Pebble", "Quill", "Raven", "Sable", "Tundra", "Umber", "Vale", "Willow", "Zephyr",
)  # fmt: skip
COLOURS = ("black", "white", "blue", "green", "red", "grey")
CATALOGUE: dict[Category, Goods] = {
    "clothing": Goods(
        ("linen", "merino", "cotton", "denim", "waterproof"),
        ("shirt", "jumper", "jacket", "trousers", "dress", "scarf", "hoodie", "coat"),
        ("size S", "size M", "size L", "size XL"),
        (1_900, 14_900),
    ),
    "shoes": Goods(
        ("leather", "canvas", "suede", "light", "warm"),
        ("trainers", "boots", "sandals", "loafers", "slippers", "hiking boots"),
        ("size 37", "size 39", "size 41", "size 43", "size 45"),
        (2_900, 17_900),
    ),
    "electronics": Goods(
        ("wireless", "compact", "foldable", "solar", "portable"),
        ("headphones", "speaker", "keyboard", "charger", "webcam", "radio", "mouse", "tablet"),
        COLOURS,
        (1_900, 39_900),
    ),
    "books": Goods(
        ("illustrated", "short", "complete", "practical", "secret"),
        ("atlas", "cookbook", "thriller", "travel guide", "dictionary", "biography", "poems", "history"),
        ("paperback", "hardcover", "large print"),
        (900, 4_900),
    ),
    "kitchen": Goods(
        ("steel", "ceramic", "cast-iron", "bamboo", "glass"),
        ("pan", "teapot", "knife", "mixing bowl", "kettle", "lunch box", "coffee press", "grater"),
        ("small", "medium", "large"),
        (990, 11_900),
    ),
    "sports": Goods(
        ("light", "foam", "padded", "racing", "indoor"),
        ("yoga mat", "football", "racket", "helmet", "rucksack", "water bottle", "skipping rope", "dumbbells"),
        COLOURS,
        (1_200, 12_900),
    ),
    "toys": Goods(
        ("wooden", "magnetic", "musical", "soft", "giant"),
        ("train", "puzzle", "building blocks", "teddy bear", "kite", "board game", "dolls house", "robot"),
        ("the single pack", "the family pack"),
        (1_100, 7_900),
    ),
    "beauty": Goods(
        ("lavender", "rose", "citrus", "unscented", "mint"),
        ("hand cream", "shampoo", "soap", "face oil", "lip balm", "bath salt", "sun lotion"),
        ("50 ml", "100 ml", "250 ml"),
        (600, 4_500),
    ),
    "garden": Goods(
        ("copper", "hanging", "recycled", "sturdy", "folding"),
        ("watering can", "planter", "rake", "lantern", "bird house", "pruning shears", "garden hose"),
        ("small", "large"),
        (1_400, 9_900),
    ),
    "furniture": Goods(
        ("oak", "walnut", "pine", "round", "velvet"),
        ("armchair", "bookcase", "desk", "side table", "wardrobe", "bench", "bed frame"),
        ("natural", "white", "dark brown"),
        (6_900, 59_900),
    ),
}
BULKY: tuple[Category, ...] = ("furniture",)
UNRETURNABLE: tuple[Category, ...] = ("beauty",)
PRAISE = (
    "Just as pictured, I would buy it again", "Better than I had hoped", "Well made and it arrived quickly",
    "A present for my sister, who loves it", "Does what it should every day",
)  # fmt: skip
DOUBT = (
    "Fine for the price", "The colour is not quite that of the picture", "Smaller than I expected but good",
    "Good, though the box was torn",
)  # fmt: skip
COMPLAINT = ("It broke after two weeks", "Not worth the money", "I had to send it back", "Nothing like the picture")
COUPON_NAMES = (
    "Welcome", "Spring", "Birthday", "Weekend", "Thank-you", "Newsletter", "Summer", "Autumn", "Anniversary",
    "Friendship", "Flash", "Winter",
)  # fmt: skip
CARD_BRANDS = ("Visa", "Mastercard", "Maestro", "Diners", "Amex", "Discover")
