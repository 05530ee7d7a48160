"""The server object of the customer database, and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core import Day, ObservedField, Sensitive, Server
from ..shared.people import EmailAddress
from .seed import seed
from .state import (
    ActivityKind,
    ClientCompanyId,
    LeadSource,
    LossReason,
    SalesActivityId,
    SalesDealId,
    SalesLeadId,
    SalesProductId,
    SalesQuoteId,
    SalesRepId,
    Stage,
)

server = Server("crm", "Manage leads, contacts, companies, deals, quotes and sales activities of a sales team.", seed)


TITLES = [
    "annual subscription", "branch rollout", "cloud migration", "data cleanup", "extra seats", "factory pilot",
    "hosting upgrade", "licence renewal", "mobile access", "onboarding package", "premium support",
    "regional expansion", "security audit", "staff training", "trial extension", "warehouse module",
]  # fmt: skip
TEXTS = [
    "agree on the next steps", "ask about the budget", "compare with the old contract", "confirm the start date",
    "discuss the payment terms", "explain the price list", "go through the open questions", "introduce the new team",
    "plan a product demo", "review the delivery dates", "send a case study", "show the reporting module",
    "talk about the pilot", "thank for the referral", "understand who decides", "wish a good start",
]  # fmt: skip

PRODUCT_WORDS = [
    "analytics", "analytics team", "archive", "backup", "billing", "business", "chat", "enterprise", "forms",
    "insights", "inventory", "payroll", "planner", "reports", "starter", "support", "team", "workflow",
]  # fmt: skip

PersonRef = Annotated[EmailAddress, Field(description="E-mail address of a prospect, lead or contact")]
ContactRef = Annotated[EmailAddress, Field(description="E-mail address of a contact")]
OwnerRef = Annotated[SalesRepId, Field(description="Id of the sales person who takes it")]
LeadRef = Annotated[SalesLeadId, Field(description="Id of a lead")]
DealRef = Annotated[SalesDealId, Field(description="Id of a deal")]
CompanyRef = Annotated[ClientCompanyId, Field(description="Id of the company to keep")]
DuplicateRef = Annotated[ClientCompanyId, Field(description="Id of the same company, entered twice, to give up")]
ProductRef = Annotated[SalesProductId, Field(description="Id of a product")]
QuoteRef = Annotated[SalesQuoteId, Field(description="Id of a quote")]
TaskRef = Annotated[SalesActivityId, Field(description="Id of an activity of the kind task")]

Source = Annotated[LeadSource, Field(description="Where the lead comes from")]
Title = Annotated[str, Field(max_length=80, pattern=r"\S", description="Title of the deal", examples=TITLES)]
NewTitle = Annotated[
    str | None,
    Field(max_length=80, pattern=r"\S", description="Title of a deal to open at once, if any", examples=TITLES),
]
CloseOn = Annotated[Day, Field(description="Day on which it should be won, such as 2026-03-05")]
NewStage = Annotated[Stage, Field(description="Stage to move to")]
Loss = Annotated[LossReason | None, Field(description="Why the deal is lost; needed for the stage lost")]
Quantity = Annotated[
    int,
    Field(
        ge=0,
        le=1000,
        description="Units on the quote; 0 takes the product off",
        examples=[1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100],
    ),
]
Discount = Annotated[
    int, Field(ge=0, le=60, description="Discount in percent", examples=[3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 25, 30])
]
ApprovalCode = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{6}$", description="Manager's code, 6 digits, needed for high discounts"),
    Sensitive(),
]
Kind = Annotated[ActivityKind, Field(description="What it is; a task is still to be done")]
Text = Annotated[
    str, Field(max_length=200, pattern=r"\S", description="What it is about, in some words", examples=TEXTS)
]
OnDeal = Annotated[SalesDealId | None, Field(description="Id of the deal with this person that it is about")]
Due = Annotated[Day | None, Field(description="Day by which a task is to be done; only for tasks")]

Query = Annotated[
    str | None,
    Field(max_length=80, pattern=r"\w", description="Words of a person's or company's name"),
    ObservedField("name"),
]
ProductQuery = Annotated[
    str | None,
    Field(max_length=80, pattern=r"\w", description="Words of the product's name", examples=PRODUCT_WORDS),
]
KindParam = Annotated[
    Literal["prospect", "lead", "contact", "sales person", "company"] | None, Field(description="Only these")
]
OwnerParam = Annotated[SalesRepId | None, Field(description="Only deals of this sales person id")]
StageParam = Annotated[Stage | None, Field(description="Only deals in this stage; all open ones by default")]
Until = Annotated[Day | None, Field(description="Only deals to be won until this day, such as 2026-03-05")]
PersonParam = Annotated[EmailAddress | None, Field(description="Only activities with this person's e-mail address")]
DealParam = Annotated[SalesDealId | None, Field(description="Only activities on this deal")]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]

ROWS = 5
