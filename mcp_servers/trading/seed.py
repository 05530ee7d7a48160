"""Seeded world of the broker: listed stocks, portfolios with past orders, open orders and watchlists."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar, get_args

from ..core import Draw, derive_row_id
from ..shared.fake_text import FakeText
from ..shared.people import get_start_time
from .engine import generate_resting_levels, reserve
from .hours import ONE_DAY, Exchange, next_closing, quoted_round, sessions
from .state import (
    Broker,
    Duration,
    Execution,
    OrderStatus,
    Portfolio,
    Sector,
    Side,
    Stock,
    StockOrder,
    Watchlist,
)

Id = TypeVar("Id", bound=str)

PORTFOLIO_NAMES = (
    "retirement", "growth", "income", "dividend", "education", "holiday home", "small cap", "global", "trial", "family",
)  # fmt: skip
WATCHLIST_NAMES = (
    "bargains",
    "turnarounds",
    "earnings week",
    "long term",
    "ideas",
    "neighbours",
    "suppliers",
    "rivals",
)
SECTORS: tuple[Sector, ...] = get_args(Sector)
EXCHANGES: tuple[Exchange, ...] = ("North", "Central", "Atlantic")


class Size(NamedTuple):
    """How many rows a world has; `held`, `past` and `waiting` are orders of each portfolio."""

    stocks: int
    portfolios: int
    held: int
    past: int
    waiting: int
    watchlists: int


SIZES = {
    "small": Size(stocks=8, portfolios=2, held=2, past=1, waiting=5, watchlists=3),
    "default": Size(stocks=220, portfolios=4, held=8, past=6, waiting=4, watchlists=7),
    "large": Size(stocks=900, portfolios=8, held=30, past=150, waiting=14, watchlists=14),
}


def seed(seed: int, size: str) -> Broker:
    """Return the broker of this seed; `size` is small, default or large."""
    broker, draw, scale = Broker(seed, get_start_time(seed)), Draw("trading", seed, size), SIZES[size]
    if size == "large":
        broker.orders.width = 6
    put_stocks(broker, draw, scale.stocks)
    put_portfolios(broker, draw, scale)
    put_watchlists(broker, draw, scale.watchlists)
    return broker


def put_stocks(broker: Broker, draw: Draw, count: int) -> None:
    """Add listed companies, most on the exchange that opens first; the first two are on it and not halted."""
    names = FakeText(draw).different("company", count)
    symbols: dict[str, None] = {}
    for place, name in enumerate(names):
        base = draw.integer(1_700, 3_700)
        broker.stocks.put(
            Stock(
                id=derive_row_id(broker.stocks, str(place)),
                symbol=draw_symbol(draw, symbols),
                name=name,
                sector=draw.choice(SECTORS),
                exchange="North" if place < 2 else draw.choose_weighted(EXCHANGES, (0.65, 0.2, 0.15)),
                base=base,
                tick=1 if base < 2_000 else 5 if base < 3_000 else 10,
                lot=draw.choice((1, 1, 1, 5, 10, 10, 20)),
                halted=place >= 2 and draw.chance(0.06),
            )
        )


def draw_symbol(draw: Draw, taken: dict[str, None]) -> str:
    """Return a pronounceable symbol of four letters that no other stock has."""
    while True:
        symbol = "".join(draw.choice(letters) for letters in ("BCDFGKLMNPRSTVZ", "AEIOU", "LMNRSTX", "AEIOX"))
        if symbol not in taken:
            taken[symbol] = None
            return symbol


def put_portfolios(broker: Broker, draw: Draw, scale: Size) -> None:
    """Add portfolios. The client may trade the first one; past orders bought all that they hold."""
    stocks = list(broker.stocks)
    for place, name in enumerate(draw.sample(PORTFOLIO_NAMES, scale.portfolios)):
        managed = place > 0 and draw.chance(0.2)
        excluded = draw.choice(SECTORS) if draw.chance(0.4) else None
        cash = draw.integer(200_000, 3_000_000)
        owner = broker.portfolios.put(
            Portfolio(
                id=derive_row_id(broker.portfolios, name),
                name=name,
                cash=cash,
                reserved=0,
                deposited=cash,
                managed=managed,
                excluded=excluded,
            )
        )
        for stock in draw.sample([stock for stock in stocks if stock.sector != excluded], scale.held):
            put_past(broker, draw, owner, stock, "buy", "filled")
        for _ in range(scale.past):
            put_past(broker, draw, owner, draw.choice(stocks), draw.choice(("buy", "sell")), "cancelled")
        if not managed:
            for _ in range(scale.waiting):
                put_waiting(broker, draw, broker.portfolios[owner.id])


def draw_moment(draw: Draw, broker: Broker, stock: Stock, oldest: int) -> datetime:
    """Return a moment in the session of a day at most `oldest` days ago, or of the weekday before it."""
    day = broker.now - draw.integer(1, oldest) * ONE_DAY
    opening, _ = next(sessions(stock.exchange, day, -1))
    return opening + timedelta(minutes=draw.integer(0, 380))


def draw_quantity(draw: Draw, stock: Stock, most: int) -> int:
    return stock.lot * draw.integer(1, max(1, most // stock.lot))


def put_past(broker: Broker, draw: Draw, owner: Portfolio, stock: Stock, side: Side, status: OrderStatus) -> None:
    """Add a closed order: filled and paid for by the deposits, or cancelled or expired without a trade."""
    placed = draw_moment(draw, broker, stock, 90)
    limit = stock.base * draw.integer(90, 110) // (100 * stock.tick) * stock.tick
    quantity = draw_quantity(draw, stock, 300)
    duration: Duration = draw.choice(("day", "until_cancelled"))
    if status == "cancelled" and duration == "day" and draw.chance(0.5):
        status = "expired"
    closing = next_closing(stock.exchange, placed)
    order = StockOrder(
        id=derive_row_id(broker.orders, f"{owner.id}/{len(broker.orders)}"),
        portfolio=owner.id,
        stock=stock.id,
        symbol=stock.symbol,
        side=side,
        quantity=quantity,
        limit=limit,
        duration=duration,
        status=status,
        placed=placed,
        live=placed,
        expires=closing if duration == "day" else placed + 30 * ONE_DAY,
    )
    if status == "filled":
        order = replace(order, executions=draw_executions(draw, stock, order))
        value = sum(trade.quantity * trade.price for trade in order.executions)
        owner = broker.portfolios[owner.id]
        held = replace(owner.holding(stock.id), quantity=quantity)
        broker.portfolios.change(owner.id, deposited=owner.deposited + value, holdings=(*owner.holdings, held))
    broker.orders.put(order)


def draw_executions(draw: Draw, stock: Stock, order: StockOrder) -> tuple[Execution, ...]:
    """Return one or two trades at the limit of an order or better."""
    lots, limit = order.quantity // stock.lot, order.limit or 0
    parts = [order.quantity]
    if lots > 1 and draw.chance(0.4):
        first = stock.lot * draw.integer(1, lots - 1)
        parts = [first, order.quantity - first]
    prices = [limit - stock.tick * step for step in (draw.integer(1, 4), 0)][-len(parts) :]
    return tuple(
        Execution(at=order.placed + timedelta(minutes=2 * place), quantity=part, price=price)
        for place, (part, price) in enumerate(zip(parts, prices, strict=True))
    )


def put_waiting(broker: Broker, draw: Draw, owner: Portfolio) -> None:
    """Add an open order that rests in the book, a little behind the best price of its side."""
    owner = broker.portfolios[owner.id]
    free = [row for row in owner.holdings if row.quantity > row.reserved]
    side: Side = "sell" if free and draw.chance(0.5) else "buy"
    stock = broker.stocks[draw.choice(free).stock] if side == "sell" else draw.choice(list(broker.stocks))
    best = generate_resting_levels(broker.seed, stock, quoted_round(stock.exchange, broker.now), side)[0].price
    away = stock.tick * draw.integer(1, 8)
    limit = best - away if side == "buy" else best + away
    holding = owner.holding(stock.id)
    most = holding.quantity - holding.reserved if side == "sell" else min(200, owner.available // (2 * limit))
    quantity = draw_quantity(draw, stock, most)
    if broker.open_orders(stock.id) or (side == "buy" and (stock.sector == owner.excluded or most < stock.lot)):
        return
    placed = draw_moment(draw, broker, stock, 5)
    order = broker.orders.put(
        StockOrder(
            id=derive_row_id(broker.orders, f"waiting/{owner.id}/{len(broker.orders)}"),
            portfolio=owner.id,
            stock=stock.id,
            symbol=stock.symbol,
            side=side,
            quantity=quantity,
            limit=limit,
            duration="until_cancelled",
            status="open",
            placed=placed,
            live=broker.now,
            expires=placed + 30 * ONE_DAY,
        )
    )
    reserve(broker, order, quantity)


def put_watchlists(broker: Broker, draw: Draw, count: int) -> None:
    """Add watchlists, by turns of any stocks and of one sector; some are full if there are enough stocks."""
    sectors, names = draw.shuffle_items(SECTORS), draw.sample(WATCHLIST_NAMES, (count + 1) // 2)
    for place in range(count):
        sector = sectors[place // 2] if place % 2 else None
        name = f"{sector} sector" if sector else names[place // 2]
        stocks = broker.stocks.where(sector=sector) if sector else list(broker.stocks)
        few = draw.sample(stocks, min(len(stocks) // 2, draw.choice((2, 4, 6, 12))))
        broker.watchlists.put(
            Watchlist(
                id=derive_row_id(broker.watchlists, name), name=name, sector=sector, stocks=tuple(row.id for row in few)
            )
        )
