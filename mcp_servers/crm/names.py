"""What the seeded customer database talks about: industries, products, deals, activities."""

from __future__ import annotations

INDUSTRIES = (
    "banking", "construction", "education", "energy", "food", "healthcare", "insurance", "logistics", "manufacturing",
    "media", "public sector", "retail", "software", "telecom", "tourism",
)  # fmt: skip
FAMILIES = (
    "Access", "Alerts", "Analytics", "Archive", "Assets", "Audit", "Backup", "Billing", "Booking", "Budget", "Capture",
    "Chat", "Checkout", "Contracts", "Control", "Dispatch", "Forecast", "Forms", "Helpdesk", "Identity", "Insights",
    "Inventory", "Invoicing", "Knowledge", "Ledger", "Monitor", "Orders", "Payroll", "Planner", "Portal", "Pricing",
    "Quality", "Reports", "Roster", "Search", "Shipping", "Support", "Survey", "Translate", "Workflow",
)  # fmt: skip
TIERS = ("Starter", "Team", "Business", "Enterprise")
THEMES = (
    "archive", "branch", "call centre", "cloud", "data", "factory", "field service", "finance", "front desk",
    "helpdesk", "intranet", "laboratory", "marketing", "mobile", "office", "payroll", "procurement", "quality",
    "security", "warehouse",
)  # fmt: skip
FORMS = (
    "expansion", "integration", "migration", "onboarding", "pilot", "refresh", "renewal", "rollout", "subscription",
    "support plan", "training", "upgrade",
)  # fmt: skip
SPOKEN = (
    "asked about delivery times", "compared two offers", "described their current system", "explained the price list",
    "introduced the new buyer", "named the people who decide", "postponed the decision", "reported a tight budget",
    "showed interest in a pilot", "talked about security", "wanted a second demo", "went through the requirements",
)  # fmt: skip
TO_DO = (
    "answer the security questions", "arrange a site visit", "call back about the offer", "check the delivery date",
    "find a reference customer", "get the order number", "invite to the webinar", "prepare a demo",
    "send the contract draft", "send the data sheet", "write the minutes", "work out a discount",
)  # fmt: skip
SUFFIXES = ("Group", "Holding", "International", "Services", "Trading")
