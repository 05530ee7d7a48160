"""How money and miles move: each movement is a line of its ledger."""

from __future__ import annotations

from ..people import EmailAddress
from ..shared_records import BookingCode
from .state import HotelStayId, MilesEntry, MilesReason, PaymentReason, Travel, TravelPayment


def pay(
    travel: Travel,
    amount: int,
    reason: PaymentReason,
    booking: BookingCode | None = None,
    stay: HotelStayId | None = None,
) -> None:
    """Take these cents from the user, or give them back when negative; nothing is written for nothing."""
    if amount:
        id = travel.payments.new_id()
        travel.payments.put(
            TravelPayment(id=id, at=travel.now, amount=amount, reason=reason, booking=booking, stay=stay)
        )


def add_miles(
    travel: Travel, traveller: EmailAddress, miles: int, reason: MilesReason, booking: BookingCode | None
) -> None:
    """Credit a traveller with miles, or take them away when negative."""
    travel.travellers.change(traveller, miles=travel.travellers[traveller].miles + miles)
    travel.miles.put(
        MilesEntry(
            id=travel.miles.new_id(),
            traveller=traveller,
            at=travel.now,
            miles=miles,
            reason=reason,
            booking=booking,
        )
    )
