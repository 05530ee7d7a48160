"""Server object of the marketplace and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import ObservedField, Server
from ..shared.people import EmailAddress
from .seed import seed
from .state import Category, Condition, Format, ListingId, MarketOfferId, MarketTradeId

server = Server(
    "marketplace", "Buy and sell second-hand things by listing, auction and offer, with ratings and payouts.", seed
)


Scope = Literal["selling", "bidding", "watching"]
OfferSide = Literal["made", "received"]
TradeSide = Literal["bought", "sold"]
Answer = Literal["accept", "decline", "counter"]
Haggling = Literal["firm", "open to offers"]
WatchAction = Literal["watch", "unwatch"]

AMOUNTS = [
    1200, 1500, 1850, 2100, 2500, 2900, 3300, 3800, 4200, 4500, 5000, 5600, 6200, 6900, 7500, 8200, 9000, 10500, 12000,
    14500,
]  # fmt: skip
OFFERS = [1800, 2000, 2200, 2500, 2750, 3000, 3300, 3600, 4000, 4400, 4900, 5400, 6000, 6600, 7200, 8000, 9500]
PAYOUTS = [1000, 1100, 1250, 1400, 1500, 1750, 1900, 2000, 2400, 2750, 3000, 3500, 4000, 5000, 7500]
TITLES = [
    "Albion wool coat", "Brass reading lamp", "Child bike seat", "Cordless drill", "Enamel bread bin",
    "Folding camp chair", "Glass fruit bowl", "Oak step stool", "Paper lantern set", "Picnic basket",
    "Road bike wheels", "Round wall mirror", "Sewing machine", "Solid walnut tray", "Table tennis bats",
    "Travel guitar", "Vintage typewriter",
]  # fmt: skip
WORDS = [
    "bike", "camera", "chair", "coat", "desk", "espresso", "garden", "guitar", "lamp", "lens", "piano", "scarf", "tent",
    "violin",
]  # fmt: skip
COMMENTS = [
    "All as described", "Arrived quickly", "Could have been packed better", "Friendly messages", "Good as new",
    "Lid was cracked", "Pleasant handover", "Quick and honest", "Slow to answer", "Smelled of smoke",
    "Thank you very much", "Would buy again",
]  # fmt: skip

ListingRef = Annotated[ListingId, Field(description="Id of a marketplace listing")]
OwnListingRef = Annotated[ListingId, Field(description="Id of one of your own listings")]
OfferRef = Annotated[MarketOfferId, Field(description="Id of an offer that waits for your answer")]
TradeRef = Annotated[MarketTradeId, Field(description="Id of one of your purchases or sales")]

BidAmount = Annotated[int, Field(ge=100, le=1_000_000, description="Your bid in cents", examples=AMOUNTS)]
OfferAmount = Annotated[int, Field(ge=100, le=1_000_000, description="Your offer in cents", examples=OFFERS)]
Price = Annotated[
    int,
    Field(ge=100, le=1_000_000, description="Asked price in cents, or where an auction starts", examples=AMOUNTS),
]
PayoutAmount = Annotated[int, Field(ge=1, le=1_000_000, description="Cents to pay out", examples=PAYOUTS)]
CounterAmount = Annotated[
    int | None,
    Field(ge=100, le=1_000_000, description="Your own price in cents, with a counter only", examples=OFFERS),
]
Title = Annotated[str, Field(min_length=3, max_length=60, description="What you sell, in a few words", examples=TITLES)]
OfCategory = Annotated[Category, Field(description="Category of the thing")]
OfCondition = Annotated[Condition, Field(description="Condition of the thing")]
SellFormat = Annotated[Format, Field(description="How to sell it")]
Days = Annotated[
    int,
    Field(ge=1, le=30, description="Days until it ends", examples=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 21, 28, 30]),
]
HagglingParam = Annotated[
    Haggling | None, Field(description="Whether a fixed price is firm, open to offers by default")
]
OfferAnswer = Annotated[Answer, Field(description="What you answer")]
Watching = Annotated[WatchAction, Field(description="Whether to put it on your watch list or take it off")]
Stars = Annotated[int, Field(ge=1, le=5, description="Stars, 1 the worst and 5 the best", examples=[1, 2, 3, 4, 5])]
Comment = Annotated[
    str | None,
    Field(
        min_length=2, max_length=200, description="What others should know, needed for 1 or 2 stars", examples=COMMENTS
    ),
]

WordsParam = Annotated[
    str | None,
    Field(min_length=2, max_length=60, description="Words of the title, all of which it has", examples=WORDS),
    ObservedField("title"),
]
CategoryParam = Annotated[Category | None, Field(description="Only this category")]
FormatParam = Annotated[Format | None, Field(description="Only auctions, or only fixed prices")]
MostParam = Annotated[
    int | None, Field(ge=100, le=1_000_000, description="Highest price now, in cents", examples=AMOUNTS)
]
SellerParam = Annotated[EmailAddress | None, Field(description="Only what this person sells, by e-mail address")]
ScopeParam = Annotated[Scope | None, Field(description="Only what you sell, bid on or watch, also when it is over")]
OfferSideParam = Annotated[OfferSide | None, Field(description="Only offers you made, or received for your things")]
ListingParam = Annotated[ListingId | None, Field(description="Only offers for this listing id")]
TradeSideParam = Annotated[TradeSide | None, Field(description="Only what you bought, or sold")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5
