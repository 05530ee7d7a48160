"""What the seeded tracker talks about: projects, parts of software, what is wrong with them or to be done."""

from __future__ import annotations

PROJECTS = {
    "APP": "Mobile app",
    "BIL": "Billing",
    "DAT": "Data platform",
    "DOC": "Documentation",
    "GAM": "Game client",
    "HLP": "Help centre",
    "IDN": "Identity service",
    "INF": "Infrastructure",
    "MAP": "Map viewer",
    "PAY": "Payment gateway",
    "POR": "Partner portal",
    "WEB": "Web shop",
}
PARTS = (
    "account page", "admin panel", "basket", "calendar view", "chat window", "checkout", "coupon form", "dashboard",
    "email template", "export", "file upload", "help page", "image viewer", "import", "invoice list", "login",
    "map", "menu", "newsletter", "order history", "password reset", "payment form", "photo gallery", "price list",
    "product page", "profile", "report", "search", "settings page", "sign-up", "start page", "user list",
)  # fmt: skip
FAULTS = (
    "crashes on save", "forgets the filter", "freezes on old phones", "is empty after reload", "is slow at noon",
    "loses the last line", "rejects long names", "shows the wrong date", "shows the wrong total",
    "sorts by the wrong column", "times out", "truncates umlauts", "works only once",
)  # fmt: skip
WISHES = (
    "add filters to the {}", "add keyboard shortcuts to the {}", "let users customise the {}", "make the {} printable",
    "offer the {} in four languages", "redesign the {}", "save drafts in the {}", "share the {} by link",
    "show hints in the {}", "support dark mode in the {}",
)  # fmt: skip
CHORES = (
    "clean up the code of the {}", "document the {}", "measure the speed of the {}", "move the {} to the new framework",
    "remove dead code from the {}", "review the security of the {}", "update the libraries of the {}",
    "write tests for the {}",
)  # fmt: skip
STEPS = (
    "agree on the design of the {}", "ask users about the {}", "change the interface of the {}",
    "prepare test data for the {}", "translate the texts of the {}", "write the migration for the {}",
)  # fmt: skip
GOALS = (
    "a faster {}", "a new {}", "a safer {}", "an accessible {}", "less support for the {}", "the {} on every device",
)  # fmt: skip
REMARKS = (
    "happens to me as well", "I have a fix for this", "is this still wanted", "logs are attached to the build",
    "only with the old driver", "please check the staging server", "ready for another look", "the customer is waiting",
    "the texts are missing", "we agreed on the second variant", "will look at it tomorrow", "works on my machine",
)  # fmt: skip
