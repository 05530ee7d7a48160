"""How a conversation's pieces of text are written: values that lead to where they are from; `{% load reading %}`."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from prove_web.trajectories.json_spans import Piece

register = template.Library()


@register.filter
def in_pieces(pieces: Iterable[Piece]) -> SafeString:
    """The text, escaped, without any space that is not in it: these stand where white space counts."""
    return format_html_join("", "{}", ((in_html(piece),) for piece in pieces))


def in_html(piece: Piece) -> SafeString:
    """A value as a link to its source, with the source in words; one that others came from as their target."""
    source = piece.source
    if piece.mark:
        return format_html('<mark class="origin" id="{}">{}</mark>', piece.mark, piece.text)
    if source is None:
        return format_html("{}", piece.text)
    if source.kind == "invented":
        word = '<strong class="invented-word">invented</strong>'
        shown = '<span class="value value-invented" tabindex="0" data-from="{}">{}</span> ' + word
        return format_html(shown, source.words, piece.text)
    said = format_html('<span class="value-from visually-hidden"> (from {})</span>', source.words)
    if not source.anchor:
        shown = '<span class="value value-{}" tabindex="0" data-from="from {}">{}</span>{}'
        return format_html(shown, source.kind, source.words, piece.text, said)
    shown = '<a class="value value-{}" href="#{}" data-from="from {}">{}</a>{}'
    return format_html(shown, source.kind, source.anchor, source.words, piece.text, said)
