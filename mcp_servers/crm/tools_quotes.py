"""Tools on products and quotes: what is for sale, what a deal is offered, and sending the offer."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from ..kit import ToolError
from .parameters import ROWS, ApprovalCode, DealRef, Discount, Limit, ProductQuery, ProductRef, Quantity, QuoteRef
from .pipeline import quote_of
from .rules import is_expired, own_deal
from .server import server
from .state import Crm, Deal, Product, Quote, QuoteLine, filter_by_name

FREE_DISCOUNT = 15
MOST_LINES = 8
VALIDITY = timedelta(days=14)


@server.read()
def find_sales_products(crm: Crm, query: ProductQuery = None, limit: Limit = ROWS) -> tuple[Product, ...]:
    """Find your products with price in cents, highest discount and fewest units."""
    return tuple(islice(filter_by_name(crm.products, query), limit))


@server.write(idempotent=True)
def quote_product(crm: Crm, deal: DealRef, product: ProductRef, quantity: Quantity, discount: Discount = 0) -> Quote:
    """Set a product's line on your deal's quote. A sent quote is replaced by a draft."""
    row, offered = own_deal(crm, deal), crm.products[product]
    if quantity:
        require_on_offer(offered, quantity, discount)
    draft = draft_for(crm, row)
    lines = with_line(draft.lines, offered, quantity, discount)
    quote = crm.quotes.change(draft.id, lines=lines, total=sum(line.total for line in lines))
    crm.deals.change(deal, quote=quote.id, amount=quote.total)
    return quote


def require_on_offer(product: Product, quantity: int, discount: int) -> None:
    """Raises ToolError when the product is not sold, not in so few units or not so cheaply."""
    if product.discontinued:
        raise ToolError("product_discontinued", f"{product.item} is no longer sold; quote another product.")
    if quantity < product.minimum:
        raise ToolError("below_minimum", f"{product.item} is sold from {product.minimum} units on; quote more.")
    if discount > product.max_discount:
        raise ToolError(
            "discount_too_high", f"{product.item} has at most {product.max_discount} percent discount; lower it."
        )


def draft_for(crm: Crm, deal: Deal) -> Quote:
    """The deal's draft; a new one, with the lines of the quote it replaces, when there is none."""
    quote = quote_of(crm, deal)
    if quote and quote.status == "draft":
        return quote
    if quote:
        crm.quotes.change(quote.id, status="replaced")
    return crm.quotes.put(
        Quote(
            id=crm.quotes.new_id(),
            deal=deal.id,
            title=deal.title,
            status="draft",
            lines=quote.lines if quote else (),
            total=deal.amount,
        )
    )


def with_line(lines: tuple[QuoteLine, ...], product: Product, quantity: int, discount: int) -> tuple[QuoteLine, ...]:
    """The lines with this product's one added, replaced, or taken off for 0 units."""
    places = {line.product: place for place, line in enumerate(lines)}
    place = places.get(product.id, len(lines))
    if not quantity and product.id not in places:
        raise ToolError("not_on_quote", f"{product.item} is not on the quote; name a product that is.")
    if place == MOST_LINES:
        raise ToolError("quote_full", f"A quote has at most {MOST_LINES} lines; take a product off first.")
    line = (line_of(product, quantity, discount),) if quantity else ()
    return (*lines[:place], *line, *lines[place + 1 :])


def line_of(product: Product, quantity: int, discount: int) -> QuoteLine:
    total = quantity * product.price * (100 - discount) // 100
    return QuoteLine(
        product=product.id, item=product.item, quantity=quantity, price=product.price, discount=discount, total=total
    )


@server.write(idempotent=True)
def send_quote(crm: Crm, quote: QuoteRef, approval_code: ApprovalCode = None) -> Quote:
    """Send a draft to your deal's contact, valid for 14 days."""
    row = crm.quotes[quote]
    own_deal(crm, row.deal)
    if row.status == "replaced":
        raise ToolError("quote_replaced", f"{quote} was replaced; send the newest quote of {row.deal}.")
    if is_expired(row, crm.now.date()):
        raise ToolError("quote_expired", f"{quote} was valid until {row.valid_until}; quote its products anew.")
    if row.status == "sent":
        raise ToolError("quote_already_sent", f"{quote} was sent and is valid until {row.valid_until}; wait.")
    if not row.lines:
        raise ToolError("quote_empty", f"{quote} has no lines; put a product on it first.")
    approved = require_approval(crm, row, approval_code)
    return crm.quotes.change(quote, status="sent", approved=approved, valid_until=crm.now.date() + VALIDITY)


def require_approval(crm: Crm, quote: Quote, code: str | None) -> bool:
    """Whether a manager approved the quote. Raises ToolError when one has to and did not."""
    if code is None and any(line.discount > FREE_DISCOUNT for line in quote.lines):
        raise ToolError(
            "needs_approval", f"A discount above {FREE_DISCOUNT} percent needs a manager's code; ask for it."
        )
    if code is not None and all(member.approval_code != code for member in crm.team):
        raise ToolError("wrong_approval_code", "This is not the code of any manager; ask for the right one.")
    return code is not None


@server.known_by_heart
def approval_codes(crm: Crm) -> dict[tuple[str, str], str]:
    """The user was told the first manager's code, for every quote."""
    code = next((member.approval_code for member in crm.team if member.approval_code), "")
    return {(quote.id, "approval_code"): code for quote in crm.quotes if quote.status == "draft"}
