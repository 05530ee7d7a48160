"""Markdown by users, as safe HTML.

The text is untrusted: markdown-it renders it without passing HTML through, and nh3 then keeps a short list of tags.
"""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

READER = MarkdownIt("commonmark", {"html": False}).enable("table")
TAGS = set(
    "p br em strong s code pre ul ol li blockquote a h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td span".split()
)


def render_markdown(text: str) -> SafeString:
    """Render the text without scripts, styles or pictures; its headings rank below those of the page's sections."""
    tokens = READER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    return safe(READER.renderer.render(tokens, READER.options, {}))


def safe(html: str) -> SafeString:
    """Sanitize HTML: only known tags, links and classes stay."""
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        allowed_classes={"span": {"mention"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow ugc",
    )
    return mark_safe(clean)
