"""Tools on portfolios: cash, what is reserved, what is held."""

from __future__ import annotations

from .matching import settled
from .parameters import ROWS, Limit, PortfolioRef
from .server import server
from .state import Broker
from .views import PortfolioDetails, PortfolioView, portfolio_details


@server.read()
def list_portfolios(broker: Broker, limit: Limit = None) -> tuple[PortfolioView, ...]:
    """List your portfolios with the cash in cents that is free for new orders."""
    rows = list(settled(broker).portfolios)[: limit or ROWS]
    return tuple(PortfolioView(id=row.id, name=row.name, available=row.available, managed=row.managed) for row in rows)


@server.read()
def get_portfolio(broker: Broker, portfolio: PortfolioRef) -> PortfolioDetails:
    """Get a portfolio's cash, reservations and holdings, valued at last prices."""
    now = settled(broker, portfolio=portfolio)
    return portfolio_details(now, now.portfolios[portfolio])
