"""What the kitchens of each cuisine cook: name, usual price in cents, allergens; and the ways to order a dish."""

from __future__ import annotations

from .state import Allergen, Cuisine

ALLERGENS: dict[str, Allergen] = {
    "d": "dairy", "e": "egg", "f": "fish", "g": "gluten", "n": "nuts", "s": "soy", "t": "sesame", "x": "shellfish",
}  # fmt: skip

# A dish is its name, its price and the first letters of its allergens (t: sesame, x: shellfish).
MENUS: dict[Cuisine, str] = {
    "american": (
        "cheeseburger 1190 dgt, bacon burger 1290 gt, veggie burger 1090 gst, pulled pork sandwich 1250 g, "
        "chicken wings 990 -, onion rings 520 g, mac and cheese 890 dg, caesar salad 950 dfg, fries 420 -, "
        "milkshake 560 d"
    ),
    "bakery": (
        "butter croissant 290 dg, almond croissant 360 dgn, cinnamon roll 380 dg, cheese pretzel 340 dg, "
        "rye loaf 520 g, walnut brownie 410 degn, apple strudel 450 dg, ham sandwich 620 dg, filter coffee 310 -, "
        "lemon tart 480 deg"
    ),
    "breakfast": (
        "pancakes 890 deg, eggs benedict 1150 deg, avocado toast 980 g, granola bowl 790 dn, shakshuka 1090 e, "
        "french toast 940 deg, smoked salmon bagel 1190 dfgt, fruit salad 640 -, porridge 590 d, orange juice 420 -"
    ),
    "chinese": (
        "spring rolls 560 gs, kung pao chicken 1290 ns, mapo tofu 1090 s, fried rice 890 es, wonton soup 790 gx, "
        "sweet and sour pork 1240 gs, chow mein 1050 gs, prawn dumplings 850 gx, sesame beef 1390 st, "
        "jasmine rice 320 -"
    ),
    "greek": (
        "chicken gyros 1090 dg, souvlaki plate 1350 d, moussaka 1290 deg, greek salad 890 d, spanakopita 720 dg, "
        "tzatziki 490 d, stuffed vine leaves 690 -, grilled octopus 1590 x, baklava 520 gn, lemon potatoes 480 -"
    ),
    "indian": (
        "butter chicken 1390 dn, chana masala 1050 -, palak paneer 1150 d, lamb biryani 1490 dn, samosas 540 g, "
        "garlic naan 390 dg, dal tadka 890 d, prawn vindaloo 1590 x, mango lassi 450 d, basmati rice 340 -"
    ),
    "italian": (
        "pizza margherita 990 dg, pizza diavola 1190 dg, spaghetti carbonara 1250 deg, lasagne 1290 deg, "
        "penne arrabbiata 990 g, gnocchi with pesto 1190 dgn, risotto with prawns 1490 dx, caprese salad 850 d, "
        "tiramisu 590 deg, focaccia 420 g"
    ),
    "japanese": (
        "salmon nigiri 1290 fs, tuna maki 890 fst, chicken ramen 1390 egs, vegetable tempura 1090 eg, gyoza 690 gs, "
        "miso soup 420 fs, prawn udon 1350 gsx, teriyaki bowl 1290 st, edamame 480 s, mochi 450 -"
    ),
    "mexican": (
        "beef tacos 1090 -, chicken burrito 1150 dg, fish tacos 1190 f, cheese quesadilla 890 dg, nachos 790 d, "
        "guacamole 560 -, chili con carne 1090 -, prawn fajitas 1490 gx, churros 520 eg, black bean soup 650 -"
    ),
    "thai": (
        "green curry 1290 fx, pad thai 1190 enfx, tom yum soup 890 fx, papaya salad 850 fn, massaman curry 1350 nf, "
        "satay skewers 790 ns, basil chicken 1190 fs, pineapple rice 990 es, mango sticky rice 620 -, "
        "prawn crackers 380 x"
    ),
    "vegan": (
        "lentil bowl 1050 -, tofu poke bowl 1190 st, falafel wrap 890 gt, jackfruit burger 1190 gs, "
        "beetroot hummus 560 t, cauliflower wings 790 s, pumpkin soup 690 -, oat banana bread 420 gn, "
        "raw cacao cake 590 n, ginger kombucha 440 -"
    ),
}
OPTIONS: tuple[tuple[str, int], ...] = (
    ("large", 300), ("small", 0), ("extra spicy", 0), ("mild", 0), ("extra sauce", 90), ("double portion", 650),
    ("with salad", 350), ("with fries", 390), ("no onions", 0), ("gluten free", 150), ("extra cheese", 140),
    ("without sugar", 0),
)  # fmt: skip


def menu(cuisine: Cuisine) -> list[tuple[str, int, tuple[Allergen, ...]]]:
    """The dishes of a cuisine."""
    found = []
    for text in MENUS[cuisine].split(", "):
        name, price, marks = text.rsplit(" ", 2)
        found.append((name, int(price), tuple(ALLERGENS[mark] for mark in sorted(marks) if mark != "-")))
    return found
