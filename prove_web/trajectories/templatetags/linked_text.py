"""Rendering of text in pieces, with values that link to their sources; `{% load linked_text %}`."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from prove_web.trajectories.json_spans import Piece

register = template.Library()


@register.filter
def in_pieces(pieces: Iterable[Piece]) -> SafeString:
    """Return the escaped text without any added space, because white space counts where it is shown."""
    return format_html_join("", "{}", ((in_html(piece),) for piece in pieces))


def in_html(piece: Piece) -> SafeString:
    """Return a value as a link to its source, described in words; a source of other values becomes a link target."""
    source = piece.source
    if piece.mark:
        return format_html('<mark class="origin" id="{}">{}</mark>', piece.mark, piece.text)
    if source is None:
        return format_html("{}", piece.text)
    if source.kind == "invented":
        word = '<strong class="invented-word">invented</strong>'
        template = '<span class="value value-invented" tabindex="0" data-from="{}">{}</span> ' + word
        return format_html(template, source.words, piece.text)
    said = format_html('<span class="value-from visually-hidden"> (from {})</span>', source.words)
    if not source.anchor:
        template = '<span class="value value-{}" tabindex="0" data-from="from {}">{}</span>{}'
        return format_html(template, source.kind, source.words, piece.text, said)
    template = '<a class="value value-{}" href="#{}" data-from="from {}">{}</a>{}'
    return format_html(template, source.kind, source.anchor, source.words, piece.text, said)
