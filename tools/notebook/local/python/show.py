"""Turns what a cell gave back, or raised, into text and pictures."""
from __future__ import annotations

import base64
import io
import os
import sys
from typing import Any, Iterator, Tuple

MAX_TEXT = 1_000_000  # characters of a value or traceback
MAX_PICTURE = 8 << 20  # bytes of one picture
MAX_PICTURES = 16
MAX_TABLE = 256_000  # characters

_here = os.path.dirname(os.path.abspath(__file__))


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """The text, without what is past the limit, which it says."""
    if len(text) <= limit:
        return text
    return "%s\n[%d more characters; print the parts that you need]" % (text[:limit], len(text) - limit)


def value_text(value: Any) -> str:
    """The value as a notebook shows it; empty for None."""
    return "" if value is None else cut(repr(value))


def table(value: Any) -> str:
    """The value as HTML, if it shows itself so and is not large."""
    try:
        draw = getattr(type(value), "_repr_html_", None)
        html = draw(value) if draw else ""
        return html if isinstance(html, str) and len(html) <= MAX_TABLE else ""
    except Exception:  # its text says enough
        return ""


def pictures(value: Any, figures: bool = True) -> Iterator[Tuple[str, str]]:
    """Media type and base64 of what the value draws, and of all open figures."""
    count = 0
    for png in _drawn(value, figures):
        count += 1
        if count > MAX_PICTURES:
            print("[only %d pictures of a cell are shown]" % MAX_PICTURES, file=sys.stderr)
            return
        if len(png) > MAX_PICTURE:
            print("[picture of %d bytes left out: more than %d]" % (len(png), MAX_PICTURE), file=sys.stderr)
            continue
        yield "image/png", base64.b64encode(png).decode()


def _drawn(value: Any, opened: bool) -> Iterator[bytes]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    figures = [] if not opened else [pyplot.figure(n) for n in pyplot.get_fignums()] if pyplot else []
    draw = getattr(type(value), "_repr_png_", None)
    if draw is not None:
        drawn = draw(value)
        if isinstance(drawn, tuple):  # data and metadata
            drawn = drawn[0]
        if isinstance(drawn, str):
            drawn = base64.b64decode(drawn)
        if isinstance(drawn, (bytes, bytearray)):
            yield bytes(drawn)
    elif type(value).__module__ == "matplotlib.figure" and value not in figures:
        figures.append(value)
    for figure in figures:
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        yield out.getvalue()
    if pyplot and opened:
        pyplot.close("all")
    elif pyplot and figures:
        pyplot.close(value)


def error_text(error: BaseException) -> str:
    """The traceback, which names cells and lines, without frames of ours."""
    try:
        import traceback

        shown = traceback.TracebackException(type(error), error, error.__traceback__)
        _strip(shown, set())
        return cut("".join(shown.format()).rstrip("\n"))
    except Exception:  # out of memory, or an exception that cannot be shown
        return type(error).__name__


def _strip(shown: Any, seen: set) -> None:
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = [f for f in shown.stack if not f.filename.startswith(_here)]
    _strip(shown.__cause__, seen)
    _strip(shown.__context__, seen)
    for inner in getattr(shown, "exceptions", None) or ():
        _strip(inner, seen)
