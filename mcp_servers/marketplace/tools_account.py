"""Tools on what came of it: trades, ratings, money earned and paid out."""

from __future__ import annotations

from operator import attrgetter

from ..kit import ToolError
from .constants import LEAST_PAYOUT, LOW_STARS, MOST_PAYOUTS, PAYOUT_TAKES, RATING_LASTS, available, held
from .parameters import ROWS, AskedTradeSide, Comment, Limit, PayoutAmount, Stars, TradeRef
from .server import server
from .settlement import settle, settled
from .state import Market, MarketPayout, MarketRating
from .views import MarketAccount, stars, trade_view


@server.read()
def get_market_account(market: Market, side: AskedTradeSide = None, limit: Limit = None) -> MarketAccount:
    """Get your earnings in cents with your latest trades and payouts."""
    now, rows = settled(market), limit or ROWS
    trades = now.trades.where(buyer=now.me) if side != "sold" else []
    trades += now.trades.where(seller=now.me) if side != "bought" else []
    trades.sort(key=attrgetter("at", "id"), reverse=True)
    return MarketAccount(
        available=available(now),
        held=held(now),
        stars=stars(now.ratings.where(rated=now.me)),
        trades=tuple(trade_view(now, trade) for trade in trades[:rows]),
        payouts=tuple(list(now.payouts)[::-1][:rows]),
    )


@server.write(idempotent=True)
def rate_market_trade(market: Market, trade: TradeRef, stars: Stars, comment: Comment = None) -> MarketRating:
    """Rate the other side of one of your trades."""
    settle(market)
    row = market.trades[trade]
    if market.me not in (row.buyer, row.seller):
        raise ToolError("not_your_trade", f"{trade} is between others; rate what you bought or sold yourself.")
    if market.ratings.where(trade=trade, rater=market.me):
        raise ToolError("already_rated", f"You have rated {trade}; a rating stays as it is.")
    if market.now > row.at + RATING_LASTS:
        raise ToolError("rating_closed", f"{trade} is over {RATING_LASTS.days} days old; rate a later one.")
    if stars <= LOW_STARS and comment is None:
        raise ToolError("comment_required", f"A rating of {stars} stars needs a comment; say what was wrong.")
    return market.ratings.put(
        MarketRating(
            id=market.ratings.new_id(),
            trade=trade,
            title=row.title,
            rater=market.me,
            rated=row.seller if row.buyer == market.me else row.buyer,
            stars=stars,
            at=market.now,
            comment=comment,
        )
    )


@server.write()
def request_market_payout(market: Market, amount: PayoutAmount) -> MarketPayout:
    """Have earnings paid out to your bank, which takes two days."""
    settle(market)
    if amount < LEAST_PAYOUT:
        raise ToolError("payout_too_small", f"Payouts start at {LEAST_PAYOUT} cents; ask for more.")
    free = available(market)
    if amount > free:
        raise ToolError("balance_too_low", f"You have {free} cents free for a payout; ask for that at most.")
    coming = [payout for payout in market.payouts if payout.arrives > market.now]
    if len(coming) >= MOST_PAYOUTS:
        raise ToolError(
            "payouts_pending", f"{MOST_PAYOUTS} payouts are on their way, the most at a time; wait until one arrives."
        )
    return market.payouts.put(
        MarketPayout(id=market.payouts.new_id(), amount=amount, at=market.now, arrives=market.now + PAYOUT_TAKES)
    )
