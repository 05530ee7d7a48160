"""State of the travel agency: travellers, flights, bookings, hotels, stays, and the ledgers of money and miles."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, cast
from ..shared.places import PlaceId
from ..shared.records import BookingCode

FlightId = NewType("FlightId", str)
HotelId = NewType("HotelId", str)
HotelRoomId = NewType("HotelRoomId", str)
HotelStayId = NewType("HotelStayId", str)
TravelPaymentId = NewType("TravelPaymentId", str)
MilesEntryId = NewType("MilesEntryId", str)

Fare = Literal["light", "standard", "flex", "business"]
Cabin = Literal["economy", "business"]
BookingStatus = Literal["confirmed", "checked_in", "cancelled"]
StayStatus = Literal["booked", "cancelled"]
PaymentReason = Literal["flight", "change", "bags", "hotel", "refund"]
MilesReason = Literal["earlier flights", "check-in", "upgrade", "upgrade returned"]

CABINS: tuple[Cabin, ...] = ("economy", "business")
ONE_DAY = timedelta(days=1)


class Traveller(Entity):
    """Someone the user may book for; `miles` is the sum of the traveller's entries in the miles ledger."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    passport: str | None
    passport_expires: Day | None
    miles: int


class Flight(Entity):
    """A flight in the user's local time. `price` is the light fare in cents, `distance` in kilometres, `rows` how many
    rows of seats there are, `sold` the seats that strangers have.
    """

    __label__ = "flight {number}"
    id: FlightId
    number: str
    airline: str
    origin: str
    destination: str
    departs: Minute
    arrives: Minute
    price: int
    distance: int
    rows: int
    sold: tuple[str, ...]

    @property
    def day(self) -> date:
        return self.departs.date()

    @property
    def route(self) -> str:
        """Its origin and destination as one text, to find flights by route."""
        return f"{self.origin} - {self.destination}"

    @property
    def miles(self) -> int:
        """The distance in miles."""
        return self.distance * 621 // 1000


class FlightBooking(Entity):
    """A traveller's place on a flight, with or without a seat; amounts in cents, `bags` with those in the fare."""

    __label__ = "the {fare} booking of {traveller}"
    id: BookingCode
    flight: FlightId
    traveller: EmailAddress
    fare: Fare
    cabin: Cabin
    status: BookingStatus
    seat: str | None = None
    bags: int
    fare_price: int
    bag_fees: int = 0
    change_fees: int = 0
    refunded: int = 0

    @property
    def total(self) -> int:
        """Its whole cost in cents, before any refund."""
        return self.fare_price + self.bag_fees + self.change_fees

    @property
    def active(self) -> bool:
        return self.status != "cancelled"


class Hotel(Entity):
    """A hotel; a stay can be changed or cancelled free of charge until `free_days` days before it begins."""

    __label__ = "the hotel {name}"
    id: HotelId
    name: str
    city: str
    stars: int
    free_days: int
    place: PlaceId | None = None


class HotelRoom(Entity):
    """A kind of room of one hotel: `count` of them, each for up to `sleeps` guests; price per night in cents."""

    __label__ = "the {kind} room"
    id: HotelRoomId
    hotel: HotelId
    kind: str
    sleeps: int
    price: int
    count: int


class HotelStay(Entity):
    """Some nights in a room; amounts in cents."""

    __label__ = "the stay of {traveller} from {arrival}"
    id: HotelStayId
    room: HotelRoomId
    traveller: EmailAddress
    arrival: Day
    nights: int
    guests: int
    status: StayStatus
    price: int
    refunded: int = 0

    @property
    def last(self) -> date:
        """The day on which the last night begins."""
        return self.arrival + (self.nights - 1) * ONE_DAY

    @property
    def days(self) -> list[date]:
        """Its nights, each given as the day on which it begins."""
        return nights_from(self.arrival, self.nights)

    @property
    def active(self) -> bool:
        return self.status != "cancelled"


class TravelPayment(Entity):
    """A line of the money ledger: positive cents were paid by the user, negative ones came back."""

    id: TravelPaymentId
    at: Minute
    amount: int
    reason: PaymentReason
    booking: BookingCode | None = None
    stay: HotelStayId | None = None


class MilesEntry(Entity):
    """A line of the miles ledger of one traveller."""

    id: MilesEntryId
    traveller: EmailAddress
    at: Minute
    miles: int
    reason: MilesReason
    booking: BookingCode | None = None


class Travel(State):
    """Everything one user has at the travel agency."""

    travellers: Table[EmailAddress, Traveller] = table("TRV", "traveller", index=("passport",))
    flights: Table[FlightId, Flight] = table("FLT", "flight", index=("origin", "destination", "route", "day"))
    bookings: Table[BookingCode, FlightBooking] = table("BKG", "flight booking", index=("flight", "traveller"))
    hotels: Table[HotelId, Hotel] = table("HTL", "hotel", index=("city",))
    rooms: Table[HotelRoomId, HotelRoom] = table("HRM", "hotel room", index=("hotel",))
    stays: Table[HotelStayId, HotelStay] = table("STY", "hotel stay", index=("room", "traveller"))
    payments: Table[TravelPaymentId, TravelPayment] = table("TPY", "payment", index=("booking", "stay"))
    miles: Table[MilesEntryId, MilesEntry] = table("MLS", "miles entry", index=("traveller", "booking"))

    @property
    def me(self) -> EmailAddress:
        """The user's id."""
        return cast(self.seed, 1)[0].id

    def flight_of(self, booking: FlightBooking) -> Flight:
        return self.flights[booking.flight]

    def hotel_of(self, stay: HotelStay) -> Hotel:
        return self.hotels[self.rooms[stay.room].hotel]


def nights_from(arrival: date, nights: int) -> list[date]:
    """Return the days on which these nights begin."""
    return [arrival + place * ONE_DAY for place in range(nights)]
