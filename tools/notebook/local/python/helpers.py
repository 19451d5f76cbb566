"""What a cell finds in its globals: install, get_llm, agentic_loop, web_search,
progress, display and sample."""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .wire import Bridge

_LINES = 10  # of a file, list or dict in a sample
_WIDTH = 200  # characters of one item in a sample


class Sample(str):
    """Text that a notebook shows as it is, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def make(bridge: Bridge, log: Callable[[str], None], draw: Callable[[Any], bool]) -> Dict[str, Any]:
    """The helpers of one process, by name."""

    def install(*packages: str) -> None:
        """Installs packages, named as for pip, and records them with the notebook.

        Waiting for the installer does not count as being idle. Raises RuntimeError
        with what the installer said.
        """
        import importlib

        bridge.call("install", packages=[str(p) for p in packages])
        importlib.invalidate_caches()

    def get_llm() -> Any:
        """The model that drives this notebook, as an object with complete,
        complete_async and generate_object."""
        from .llm import LLM

        return LLM(bridge)

    def agentic_loop(task: str, tools: Any, system: Optional[str] = None, max_turns: int = 10) -> str:
        """Lets the model work on a task with Python functions as its tools.

        Each function needs type hints and a docstring; what it returns or raises
        is shown to the model. Returns the model's closing answer. Raises
        RuntimeError if there is none after max_turns answers.
        """
        from .llm import agentic_loop as loop

        return loop(bridge, task, list(tools), system, max_turns)

    def web_search(query: str) -> str:
        """What the configured model's web search finds. Raises RuntimeError where
        it offers none."""
        return str(bridge.call("search", query=str(query)))

    def progress(message: Any = "") -> None:
        """Says that the cell is at work, which keeps it from ending as idle; its
        total time stays what it is."""
        log(str(message))

    def display(*values: Any, **_: Any) -> None:
        """Shows values in the middle of a cell: as pictures where they draw
        themselves, else as text."""
        for value in values:
            if not draw(value):
                print(value if isinstance(value, str) else repr(value))

    helpers = (install, get_llm, agentic_loop, web_search, progress, display, sample)
    return {h.__name__: h for h in helpers}


def sample(value: Any, n: int = _LINES) -> Sample:
    """A short look at a dict, list, data frame, array, text or file (a path or an
    open file): its type, its size and its first n items."""
    import os

    kind = type(value).__name__
    if isinstance(value, os.PathLike) or isinstance(value, str) and "\n" not in value and os.path.isfile(value):
        return Sample(_file(os.fspath(value), n))
    if hasattr(value, "read") and hasattr(value, "name") and isinstance(value.name, str):
        return Sample(_file(value.name, n))
    if hasattr(value, "dtypes") and hasattr(value, "head"):  # a data frame or a series
        columns = "" if not hasattr(value, "columns") else "\n%s" % value.dtypes
        return Sample("%s, shape %s%s\n%s" % (kind, value.shape, columns, value.head(n)))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        first = value.ravel()[:n] if hasattr(value, "ravel") else value
        return Sample("%s, shape %s, %s\n%s" % (kind, value.shape, value.dtype, first))
    if isinstance(value, dict):
        lines = ["%s: %s" % (_short(k), _short(v)) for k, v in _first(value.items(), n)]
        return Sample(_listed("%s, %d keys" % (kind, len(value)), lines, len(value)))
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return Sample(_listed("%s, %d items" % (kind, len(value)), [_short(v) for v in _first(value, n)], len(value)))
    if isinstance(value, (str, bytes, bytearray)):
        return Sample("%s, length %d\n%s" % (kind, len(value), _short(value, n * _WIDTH)))
    return Sample("%s\n%s" % (kind, _short(value, n * _WIDTH)))


def _first(items: Any, n: int) -> Any:
    import itertools

    return itertools.islice(items, n)


def _short(value: Any, width: int = _WIDTH) -> str:
    if isinstance(value, (str, bytes, bytearray)) and len(value) > width:
        value = value[:width]
        return repr(value) + "…"
    if isinstance(value, (list, tuple, dict, set)) and len(value) > 20:
        return "%s of %d" % (type(value).__name__, len(value))
    text = repr(value)
    return text if len(text) <= width else text[:width] + "…"


def _listed(head: str, lines: Any, total: int) -> str:
    rest = ["… %d more" % (total - len(lines))] if total > len(lines) else []
    return "\n".join([head] + ["  " + line for line in list(lines) + rest])


def _file(path: str, n: int) -> str:
    import os

    head = "%s, %d bytes" % (path, os.path.getsize(path))
    with open(path, "rb") as file:
        start = file.read(n * _WIDTH)
    if b"\0" in start:
        return "%s, binary\n  %s…" % (head, start[:32].hex(" "))
    return "\n".join([head] + ["  " + line for line in start.decode("utf-8", "replace").splitlines()[:n]])
