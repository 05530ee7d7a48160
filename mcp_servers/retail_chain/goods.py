"""What the chain sells: things by category with a usual price in cents, and what they can be made of."""

from __future__ import annotations

from .state import Category

MATERIALS = (
    "acacia", "bamboo", "beech", "brass", "ceramic", "copper", "cork", "cotton", "folding", "glass", "jute", "linen",
    "marble", "mini", "oak", "rattan", "round", "steel", "travel", "walnut",
)  # fmt: skip
THINGS: dict[Category, tuple[tuple[str, int], ...]] = {
    "bath": (
        ("bath mat", 1_990),
        ("mirror", 4_950),
        ("soap dish", 790),
        ("towel rail", 2_890),
        ("toothbrush mug", 590),
    ),
    "bedding": (("pillow", 1_790), ("blanket", 3_490), ("mattress topper", 8_900), ("sheet set", 4_290)),
    "garden": (("garden chair", 5_900), ("plant pot", 1_290), ("watering can", 1_890), ("lantern", 2_490)),
    "kitchen": (("bread board", 1_690), ("frying pan", 3_990), ("kettle", 4_490), ("salad bowl", 1_590), ("tray", 990)),
    "lighting": (("ceiling lamp", 7_900), ("desk lamp", 3_290), ("floor lamp", 9_900), ("night light", 1_090)),
    "office": (("bookend", 890), ("desk tidy", 1_390), ("monitor stand", 3_790), ("office chair", 14_900)),
    "storage": (("basket", 1_490), ("coat rack", 4_790), ("shelf", 6_900), ("shoe box", 690), ("trunk", 7_490)),
    "tools": (("hammer", 1_590), ("ladder", 6_490), ("screwdriver set", 2_290), ("tool box", 3_190)),
}
RANGE: tuple[tuple[Category, str, int], ...] = tuple(
    (category, f"{material} {thing}", price)
    for category, things in THINGS.items()
    for thing, price in things
    for material in MATERIALS
)
