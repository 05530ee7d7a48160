"""The words that the seeded posts, comments and profiles are made of."""

from __future__ import annotations

TAGS = {
    "art": ("a mural", "the new gallery", "an old print", "a charcoal sketch", "the glass pavilion"),
    "baking": ("a sourdough loaf", "cinnamon buns", "an apple tart", "a plum cake", "oat biscuits"),
    "books": ("a novel about whales", "the second volume", "a used atlas", "a slim memoir", "an old cookbook"),
    "coffee": ("a flat white", "the corner roastery", "a hand grinder", "a bitter espresso", "the new beans"),
    "cycling": ("the river route", "a steep climb", "a borrowed tandem", "the new bike lane", "a puncture"),
    "garden": ("the first radishes", "two rose bushes", "a compost heap", "climbing beans", "a shy hedgehog"),
    "hiking": ("the ridge trail", "a foggy summit", "the forest loop", "a mountain hut", "the long descent"),
    "music": ("a string quartet", "the late set", "an open rehearsal", "a vinyl record", "the brass band"),
    "photo": ("the empty station", "a red door", "morning fog", "the old harbour", "a lone heron"),
    "running": ("an easy ten", "the hill sprints", "a muddy half", "the lake loop", "a new pair of shoes"),
    "startup": ("our first demo", "a pitch deck", "the new office", "a long sprint", "the beta launch"),
    "travel": ("the night train", "a ferry crossing", "a tiny guesthouse", "the last bus", "a street market"),
}
OPENINGS = (
    "Could not stop thinking about", "Finally found time for", "Everyone should know", "Grateful for",
    "Nothing beats", "Spent the whole day with", "Still smiling about", "Surprised by", "Today was all about",
    "Weekend well spent on",
)  # fmt: skip
ENDINGS = (
    "", " again", " after all", " before breakfast", " with good friends", " in the rain", " for once",
    " and it was worth it",
)  # fmt: skip
REMARKS = (
    "Looks wonderful", "Take me with you next time", "I had the same thought", "Where exactly is that",
    "This is so you", "Well deserved", "Now I am jealous", "Tell me more on Monday", "You convinced me",
    "Same here since last week", "I would have stayed home", "Great choice", "That reminds me of school",
    "Saving this for later",
)  # fmt: skip
BIOS = (
    "Notes from a small kitchen", "Mostly here for the pictures", "Opinions are borrowed", "Learning in public",
    "Two wheels, one dog", "Early riser, slow runner", "Collector of unfinished books", "Talks too much about maps",
    "Weekend photographer", "Between meetings", "Plants, podcasts and patience", "Here to listen",
)  # fmt: skip
