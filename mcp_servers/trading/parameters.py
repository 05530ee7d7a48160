"""What the parameters of the broker's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..kit import Seen
from .hours import Exchange
from .state import Duration, OrderStatus, PortfolioId, Sector, Side, StockId, StockOrderId, WatchlistId

QUANTITIES = [10, 20, 25, 30, 40, 50, 50, 60, 75, 80, 90, 100, 100, 120, 140, 160, 200, 250, 300]
PRICES = [
    1650, 1750, 1850, 1950, 2000, 2050, 2150, 2200, 2250, 2300, 2350, 2400, 2450, 2500, 2550, 2600, 2650, 2700, 2750,
    2800, 2850, 2900, 2950, 3000, 3100, 3150, 3200, 3300, 3400, 3500, 3600,
]  # fmt: skip
ROWS = 5

PortfolioRef = Annotated[PortfolioId, Field(description="Id of one of your portfolios")]
StockRef = Annotated[StockId, Field(description="Id of a stock")]
OrderRef = Annotated[StockOrderId, Field(description="Id of one of your stock orders")]
WatchlistRef = Annotated[WatchlistId, Field(description="Id of one of your watchlists")]

OrderSide = Annotated[Side, Field(description="Whether to buy or to sell")]
Quantity = Annotated[
    int, Field(ge=1, le=100_000, description="Number of shares, a multiple of the lot size", examples=QUANTITIES)
]
Price = Annotated[
    int,
    Field(ge=1, le=1_000_000, description="Limit price of a share in cents, a multiple of the tick", examples=PRICES),
]
OrderDuration = Annotated[
    Duration,
    Field(description="day: until the close; until_cancelled: for 30 days; immediate: fill at once, cancel the rest"),
]
NewQuantity = Annotated[
    int | None,
    Field(ge=1, le=100_000, description="New total number of shares, with those filled", examples=QUANTITIES),
]
NewPrice = Annotated[
    int | None, Field(ge=1, le=1_000_000, description="New limit price of a share in cents", examples=PRICES)
]

AskedText = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Symbol, or words of the company's name"),
    Seen("symbol"),
]
AskedSector = Annotated[Sector | None, Field(description="Only stocks of this sector")]
AskedExchange = Annotated[Exchange | None, Field(description="Only stocks of this exchange")]
AskedPortfolio = Annotated[PortfolioId | None, Field(description="Only orders of this portfolio id")]
AskedStock = Annotated[StockId | None, Field(description="Only orders for this stock id")]
AskedStatus = Annotated[OrderStatus | None, Field(description="Only orders of this status")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]
