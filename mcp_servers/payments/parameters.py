"""What the parameters of the payment processor's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..kit import Day, Sensitive
from ..people import EmailAddress
from ..shared_records import InvoiceId
from .state import EventKind, InvoiceStatus, MerchantPaymentId, Reason, WebhookEventId, WebhookId

AMOUNTS = [1500, 2500, 4900, 7500, 9900, 12000, 15000, 19900, 24000, 30000, 36500, 45000, 52000, 68000, 75000, 98000]
REFUNDS = [100, 250, 500, 800, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 7500, 10000, 15000, 20000]
SUBJECTS = [
    "Annual report", "Audit", "Brand guide", "Bookkeeping", "Coaching", "Copywriting", "Data migration", "Event photos",
    "Font licence", "Installation", "Market study", "Newsletter", "Penetration test", "Prototype", "Security review",
    "Server move", "Subscription", "Usability test", "Video editing", "Voice over",
]  # fmt: skip
URLS = [
    "https://api.birch.example/webhooks", "https://billing.cedar.example/in", "https://books.maple.example/hook",
    "https://erp.willow.example/payments", "https://events.hazel.example/money", "https://hooks.aspen.example/a",
    "https://ledger.rowan.example/notify", "https://mail.linden.example/paid", "https://ops.alder.example/events",
    "https://shop.juniper.example/callback", "https://stats.poplar.example/collect", "https://tax.spruce.example/in",
]  # fmt: skip
ROWS = 5

InvoiceRef = Annotated[InvoiceId, Field(description="Id of an invoice")]
CustomerRef = Annotated[EmailAddress, Field(description="E-mail address of a customer you bill")]
PaymentRef = Annotated[MerchantPaymentId, Field(description="Id of a payment you received")]
EventRef = Annotated[WebhookEventId, Field(description="Id of a webhook event")]
WebhookRef = Annotated[WebhookId, Field(description="Id of a webhook")]

Subject = Annotated[str, Field(max_length=60, pattern=r"\S", description="What is billed", examples=SUBJECTS)]
Amount = Annotated[int, Field(ge=50, le=1_000_000, description="Amount in cents", examples=AMOUNTS)]
RefundAmount = Annotated[int, Field(ge=1, le=1_000_000, description="Amount to refund in cents", examples=REFUNDS)]
DueDay = Annotated[Day, Field(description="Day until which it is to be paid, such as 2026-03-05")]
Outcome = Annotated[Literal["void", "uncollectible"], Field(description="void: never owed; uncollectible: written off")]
CardNumber = Annotated[
    str, Field(pattern=r"^[0-9]{16}$", description="Number of a card of the customer's company, 16 digits"), Sensitive()
]
Code = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{6}$", description="One-time code of the customer, needed for large charges, 6 digits"),
    Sensitive(),
]
RefundReason = Annotated[Reason | None, Field(description="Why it is refunded")]
Url = Annotated[
    str,
    Field(max_length=120, pattern=r"^https://[a-z0-9.-]+(/[a-z0-9/_-]*)?$", description="Address", examples=URLS),
]
Kinds = Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=5, description="Kinds of events it is told of")]

AskedStatus = Annotated[InvoiceStatus | None, Field(description="Only invoices of this status")]
AskedCustomer = Annotated[EmailAddress | None, Field(description="Only invoices to this e-mail address")]
AskedInvoice = Annotated[InvoiceId | None, Field(description="Only events of this invoice id")]
AskedKind = Annotated[EventKind | None, Field(description="Only events of this kind")]
FailedOnly = Annotated[bool, Field(description="Only events that some webhook has not got")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]
