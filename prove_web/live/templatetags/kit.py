"""Tags and filters of the page kit, available in templates without `{% load %}`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, Select
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

register = template.Library()

SPRITE = "vendor/tabler-icons.svg"
SHORT = 300  # characters that need no collapsing
SHORT_LINES = 6
MINUS = "\N{MINUS SIGN}"  # as wide as a plus


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """Return an icon of the sprite; it is decorative, so nearby text must carry the meaning."""
    return format_html(
        '<svg class="icon {}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
        ' stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><use href="{}#{}"/></svg>',
        classes,
        static(SPRITE),
        name,
    )


@register.simple_tag(takes_context=True)
def project_url(context: dict[str, Any], name: str, *args: Any) -> str:
    """Return the URL of a page of the request's project: `{% url %}` with the slugs of team and project in front."""
    request = context["request"]
    return reverse(name, args=[request.organisation.slug, request.project.slug, *args])


@register.filter
def utc(moment: datetime | None) -> str:
    """Format a moment as `5 May 2026, 14:00 UTC`; empty for None."""
    return f"{date_format(localtime(moment, UTC), 'j M Y, H:i')} UTC" if moment else ""


@register.simple_tag
def timestamp(moment: datetime | None) -> SafeString:
    """Return a `<time>` element with day, time and zone; nothing for None."""
    if not moment:
        return SafeString()
    return format_html('<time datetime="{}">{}</time>', localtime(moment, UTC).isoformat(), utc(moment))


@register.simple_tag
def time_ago(moment: datetime | None) -> SafeString:
    """Return a `<time>` element such as `3 minutes ago`, with the moment itself as its title; nothing for None."""
    if not moment:
        return SafeString()
    iso = localtime(moment, UTC).isoformat()
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, utc(moment), naturaltime(moment))


@register.simple_block_tag(end_name="endempty_state")
def empty_state(content: str, icon: str, title: str, action_url: str = "", action: str = "") -> SafeString:
    """Return what a list shows while it is empty: what would be here, and the next action."""
    context = {"icon": icon, "title": title, "text": content, "action_url": action_url, "action": action}
    return render_to_string("kit/empty.html", context)


class TrimmedNode(template.Node):
    """Render the nodes, or store what they render under a name."""

    child_nodelists = ("nodelist",)

    def __init__(self, nodelist: template.NodeList, name: str) -> None:
        self.nodelist, self.name = nodelist, name

    def render(self, context: template.Context) -> SafeString:
        text = self.nodelist.render(context)
        if not self.name:
            return text
        context[self.name] = text
        return SafeString()


@register.tag
def trimmed(parser: template.base.Parser, token: template.base.Token) -> TrimmedNode:
    """Remove line breaks of the template with the whitespace around them: `{% trimmed %}…{% endtrimmed %}`.

    What variables hold stays as it is. `{% trimmed as label %}` stores the text, for an attribute with conditions.
    """
    words = token.split_contents()
    if len(words) not in (1, 3) or words[1:2] not in ([], ["as"]):
        raise template.TemplateSyntaxError("Write {% trimmed %} or {% trimmed as name %}.")
    nodelist = parser.parse(("endtrimmed",))
    parser.delete_first_token()
    for node in nodelist.get_nodes_by_type(template.base.TextNode):
        first, *rest = node.s.split("\n")
        if rest:
            node.s = "".join([first.rstrip(), *(line.strip() for line in rest[:-1]), rest[-1].lstrip()])
    return TrimmedNode(nodelist, words[2] if len(words) == 3 else "")


@register.filter
def json_pretty(value: Any) -> str:
    """Return indented JSON; text is parsed as JSON if possible, otherwise returned unchanged."""
    if not isinstance(value, str):
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    try:
        made = json.dumps(json.loads(value), indent=2, ensure_ascii=False)
        made.encode()  # a lone surrogate must stay escaped
    except UnicodeEncodeError:
        return json.dumps(json.loads(value), indent=2)
    except (ValueError, RecursionError):
        return value
    return made


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """Format a duration as `42 s`, `3 min 20 s`, `1 h 05 min`, `2 d 3 h`; empty for None."""
    if seconds is None or seconds == "":
        return ""
    total = round(seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds))
    minutes, rest = divmod(max(0, total), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{rest} s"


@register.filter
def compact(number: float | str | None) -> str:
    """Format a number compactly: `950`, `12.3k`, `4.5M`; empty for None."""
    if number in (None, ""):
        return ""
    size = float(number)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(size) >= limit:
            return f"{size / limit:.1f}".removesuffix(".0") + unit
    return f"{size:.1f}".removesuffix(".0")


@register.filter
def percent(share: float | None) -> str:
    """Return a share of 0 to 1 as an integer percentage for a style or attribute."""
    return str(round(100 * min(1.0, max(0.0, float(share or 0)))))


@register.filter
def share_of(value: float, total: float) -> float:
    return float(value) / float(total)


@register.filter
def before_at(name: str) -> str:
    """Return the part of a worker's name before its host."""
    return name.partition("@")[0]


@register.filter
def is_long(text: Any) -> bool:
    """Return whether a text is collapsed by default."""
    words = str(text or "")
    return len(words) > SHORT or words.count("\n") >= SHORT_LINES


@register.filter
def styled(field: BoundField) -> SafeString:
    """Return the field's widget with the kit's CSS classes."""
    widget = field.field.widget
    if isinstance(widget, CheckboxInput):
        kind = "form-check-input"
    else:
        kind = "form-select" if isinstance(widget, Select) else "form-control"
    wanted = [widget.attrs.get("class", ""), kind, "is-invalid" if field.errors else ""]
    return field.as_widget(attrs={"class": " ".join(filter(None, wanted))})


@register.filter
def is_choices(field: BoundField) -> bool:
    """Return whether the field is a list of checkboxes."""
    return isinstance(field.field.widget, CheckboxSelectMultiple)


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return isinstance(field.field.widget, CheckboxInput)
