"""Tools on the wish list, and on the alerts that tell when a wish is back in stock."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, ItemRef, Limit, WishRef
from .serializers import wish_line
from .server import server
from .state import Shop, Wish
from .views import WishLine

MOST_WISHES = 50


@server.read()
def show_shop_wish_list(shop: Shop, limit: Limit = ROWS) -> tuple[WishLine, ...]:
    """Show the wish list with prices, stock and alerts, the latest wishes first."""
    return tuple(wish_line(shop, row) for row in list(shop.wishes)[::-1][:limit])


@server.write(idempotent=True)
def add_to_shop_wish_list(shop: Shop, item: ItemRef) -> Wish:
    """Add an item to the wish list."""
    row = shop.items[item]
    known = shop.wishes.where(item=item)
    if known:
        raise ToolError("already_wished", f"{known[0].id} is a wish for {item} already; choose another item.")
    if len(shop.wishes) >= MOST_WISHES:
        raise ToolError("wish_list_full", f"The wish list holds {MOST_WISHES} items; remove one first.")
    return shop.wishes.put(Wish(id=shop.wishes.new_id(), item=item, title=row.title, option=row.option))


@server.write(idempotent=True)
def remove_from_shop_wish_list(shop: Shop, wish: WishRef) -> Wish:
    """Remove a wish, and its alert, from the wish list."""
    return shop.wishes.remove(wish)


@server.write(idempotent=True)
def set_shop_restock_alert(shop: Shop, wish: WishRef) -> Wish:
    """Set an alert for a wish that is out of stock."""
    row = shop.wishes[wish]
    left = shop.available(shop.items[row.item])
    if left:
        raise ToolError("in_stock", f"The {row.title} is in stock, {left} pieces; add it to the cart right away.")
    if row.alert:
        raise ToolError("alert_exists", f"{wish} has an alert already; nothing is left to do.")
    return shop.wishes.change(wish, alert=True)
