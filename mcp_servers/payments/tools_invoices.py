"""Tools on invoices: draft, issue, close, look up."""

from __future__ import annotations

from datetime import timedelta
from heapq import nsmallest
from operator import attrgetter

from ..kit import ToolError
from .events import emit
from .parameters import (
    ROWS,
    Amount,
    AskedCustomer,
    AskedStatus,
    CustomerRef,
    DueDay,
    InvoiceRef,
    Limit,
    Outcome,
    Subject,
)
from .server import server
from .state import Invoice, Till, code_for
from .views import InvoiceDetails, InvoiceView, invoice_details, invoice_view

LONGEST_TERM = timedelta(days=90)


@server.read()
def list_customer_invoices(
    till: Till, status: AskedStatus = None, customer: AskedCustomer = None, limit: Limit = None
) -> tuple[InvoiceView, ...]:
    """List invoices to customers, those due first on top; amounts in cents."""
    if customer is not None:
        till.customers[customer]
    asked = {"customer": customer, "status": status}
    wanted = {name: value for name, value in asked.items() if value is not None}
    rows = till.invoices.where(**wanted) if wanted else till.invoices
    first = nsmallest(limit or ROWS, rows, key=attrgetter("due", "id"))
    return tuple(invoice_view(row) for row in first)


@server.read()
def get_customer_invoice(till: Till, invoice: InvoiceRef) -> InvoiceDetails:
    """Get an invoice with its payment and refunds, amounts in cents."""
    return invoice_details(till, till.invoices[invoice])


@server.write(idempotent=True)
def draft_invoice(till: Till, customer: CustomerRef, subject: Subject, amount: Amount, due: DueDay) -> InvoiceDetails:
    """Draft an invoice to a customer. It can be charged once finalized."""
    billed, today = till.customers[customer], till.now.date()
    lost = till.invoices.where(status="uncollectible", customer=customer)
    if lost:
        raise ToolError(
            "customer_in_default", f"{lost[0].id} to {billed.name} was written off; charge or void that one first."
        )
    if due <= today:
        raise ToolError("due_not_in_future", f"{due} is not after today, {today}; name a later day.")
    if due > today + LONGEST_TERM:
        raise ToolError("due_too_late", f"Customers get at most 90 days; name a day until {today + LONGEST_TERM}.")
    same = till.invoices.where(customer=customer, status="draft", subject=subject, amount=amount, due=due)
    if same:
        raise ToolError("duplicate_draft", f"{same[0].id} is that very draft; finalize it or change something.")
    id = till.invoices.new_id()
    row = Invoice(
        id=id,
        customer=customer,
        name=billed.name,
        subject=subject,
        amount=amount,
        status="draft",
        due=due,
        code=code_for(till.seed, id),
    )
    return invoice_details(till, till.invoices.put(row))


@server.write(idempotent=True)
def finalize_invoice(till: Till, invoice: InvoiceRef) -> InvoiceDetails:
    """Issue a draft, so that it is open and can be charged."""
    row, today = till.invoices[invoice], till.now.date()
    if row.status != "draft":
        raise ToolError("not_a_draft", f"{invoice} is {row.status}; only drafts can be finalized.")
    if row.due < today:
        raise ToolError("due_date_passed", f"{invoice} was due on {row.due}; void it and draft a new one.")
    row = till.invoices.change(invoice, status="open", issued=today)
    emit(till, "invoice.opened", row)
    return invoice_details(till, row)


@server.write(destructive=True, idempotent=True)
def close_invoice(till: Till, invoice: InvoiceRef, outcome: Outcome) -> InvoiceDetails:
    """Close an unpaid invoice: void it, or write an overdue one off."""
    row = till.invoices[invoice]
    require_unpaid(row)
    if outcome == row.status:
        raise ToolError("already_closed", f"{invoice} is {outcome} already; nothing is left to do.")
    if outcome == "uncollectible":
        if row.status == "draft":
            raise ToolError("invoice_draft", f"{invoice} is a draft that nobody owes; void it instead.")
        if row.due >= till.now.date():
            raise ToolError("not_overdue", f"{invoice} can be paid until {row.due}; only overdue ones are written off.")
    row = till.invoices.change(invoice, status=outcome)
    emit(till, "invoice.voided" if outcome == "void" else "invoice.uncollectible", row)
    return invoice_details(till, row)


def require_unpaid(row: Invoice) -> None:
    """Raises ToolError for an invoice that nothing is owed for any more."""
    if row.status == "paid":
        raise ToolError("invoice_paid", f"{row.id} is paid already; use refund_payment to give money back.")
    if row.status == "void":
        raise ToolError("invoice_void", f"{row.id} is void for good; draft a new invoice.")
