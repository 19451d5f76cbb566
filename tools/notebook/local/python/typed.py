"""Turns what people type into notebooks, such as %time and !ls, into Python.

It is asked only about code that is no Python. A line is changed where a
statement begins with a magic, or where one follows the = of an assignment;
text, comments and operators stay what they are. Each line of the cell stays
the line of that number. What the new lines call is `magics.Magics`.
"""
from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Any, Dict, Optional, Tuple

NAME = "__rouse__"  # of the magics, among the builtins

LINES = ("cat", "cd", "cp", "env", "ls", "matplotlib", "mkdir", "mv", "pip", "pwd", "rm", "time", "timeit", "who")
CELLS = ("bash", "capture", "python", "sh", "time", "timeit", "writefile")
_SAME = {"set_env": "env", "whos": "who", "python3": "python", "file": "writefile"}
_IGNORED = ("autoreload", "automagic", "colors", "config", "load_ext", "reload_ext", "xmode")
_INSTEAD = {
    "conda": "use %pip install NAME", "mamba": "use %pip install NAME", "run": "use exec(open(FILE).read())",
    "load": "use print(open(FILE).read())", "reset": "use the action reset", "html": "there is no browser; print text or draw with matplotlib",
    "sql": "use sqlite3, duckdb or another library", "debug": "there is no terminal; the traceback names the line",
}
_MAGIC = re.compile(r"[ \t]*(?:!|\?|%{1,2}[A-Za-z_])")
_HELP = re.compile(r"[ \t]*(?:(\?\??)[ \t]*(%{0,2}[\w.]+)|(%{0,2}[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?)[ \t]*(\?\??))[ \t;]*$")
_PIP = re.compile(r"(?:(?:python3?|\{?sys\.executable\}?) -m )?pip3? +(install [^|&;<>$`]*)$")


def translate(code: str, name: str) -> Tuple[str, Dict[int, str]]:
    """The code as Python, and by number the lines that were changed, as they
    were. Raises SyntaxError for a magic that there is not."""
    cell = _Cell(code, name)
    row = cell.head()
    while row < len(cell.lines):
        row = cell.statement(row)
    return "\n".join(cell.lines), cell.changed


def place(tree: Any, changed: Dict[int, str]) -> None:
    """Lets what was changed stand for its whole line, which tracebacks show."""
    for node in ast.walk(tree):
        line = changed.get(getattr(node, "lineno", 0))
        if line is not None:
            node.col_offset = len(line.encode()) - len(line.lstrip().encode())
            node.end_lineno, node.end_col_offset = node.lineno, len(line.rstrip().encode())


class _Cell:
    """A cell whose lines become Python."""

    def __init__(self, code: str, name: str) -> None:
        self.name = name
        self.lines = io.StringIO(code, newline=None).read().split("\n")
        self.changed: Dict[int, str] = {}

    def put(self, row: int, end: int, text: str) -> int:
        """Puts one line in the place of those from row to end."""
        for at in range(row, end):
            self.changed[at + 1] = self.lines[at]
            self.lines[at] = ""
        self.lines[row] = text
        return end

    def head(self) -> int:
        """Takes a magic that is for the whole cell, and gives the row after it."""
        for row, line in enumerate(self.lines):
            if line.startswith("%%"):
                found = re.match(r"%%(\w+)[ \t]*(.*)", line)
                return self.whole(row, *found.groups()) if found and not _HELP.match(line) else 0
            if line.strip() and not line.lstrip().startswith("#"):
                break
        return 0

    def whole(self, row: int, magic: str, rest: str) -> int:
        magic = _SAME.get(magic, magic)
        if magic not in CELLS:
            raise self.unknown(row, "%%" + magic)
        if magic in ("time", "capture"):
            return self.put(row, row + 1, "%s.during(%r, %r)" % (NAME, magic, rest))
        body = "\n".join(self.lines[row + 1:])
        return self.put(row, len(self.lines), "%s.cell(%r, %r, %r)" % (NAME, magic, rest, body))

    def statement(self, row: int) -> int:
        """Translates the statement that begins there, and gives the row after it."""
        line = self.lines[row]
        if not line.strip() or line.lstrip().startswith("#"):
            return row + 1
        indent = line[:len(line) - len(line.lstrip())]
        asked = _HELP.match(line)
        if asked:
            marks, name = (asked.group(1), asked.group(2)) if asked.group(1) else (asked.group(4), asked.group(3))
            return self.put(row, row + 1, "%s%s.help(%r, %r)" % (indent, NAME, name, len(marks) > 1))
        if _MAGIC.match(line):
            end, text = self.joined(row, len(indent))
            return self.put(row, end, indent + self.line(row, text))
        end, found = self.extent(row)
        if found is None:
            return end
        row, column = found
        before = self.lines[row][:column]
        end, text = self.joined(row, column)
        return self.put(row, end, before + self.line(row, text, assigned=True))

    def joined(self, row: int, column: int) -> Tuple[int, str]:
        """The text from there to the end of the line, and of those that continue it."""
        text = self.lines[row][column:]
        row += 1
        while text.endswith("\\") and row < len(self.lines):
            text, row = text[:-1] + self.lines[row], row + 1
        return row, text.strip()

    def extent(self, row: int) -> Tuple[int, Optional[Tuple[int, int]]]:
        """The row after a statement of Python, and where a magic is assigned in it."""
        source = (line + "\n" for line in self.lines[row:])
        depth, before = 0, ""
        try:
            for token in tokenize.generate_tokens(lambda: next(source, "")):
                at = row + token.start[0] - 1
                if token.type == tokenize.NEWLINE:
                    return at + 1, None
                if depth == 0 and before == "=" and token.string in ("!", "%"):
                    return at, (at, token.start[1])
                if token.type in (tokenize.OP, tokenize.ERRORTOKEN):
                    depth += (token.string in "([{") - (token.string in ")]}")
                if token.string.strip():
                    before = token.string
        except (tokenize.TokenError, SyntaxError):
            pass  # which Python reports
        return len(self.lines), None

    def line(self, row: int, text: str, assigned: bool = False) -> str:
        """The Python of one magic."""
        if text.startswith("!"):
            command = text.lstrip("!").strip()
            packages = _PIP.match(command)
            if packages and not assigned:
                return "%s.line('pip', %r)" % (NAME, packages.group(1))
            return "%s.%s(%r)" % (NAME, "lines" if assigned or text.startswith("!!") else "shell", command)
        found = re.match(r"%(\w+)[ \t]*(.*)", text)
        if found is None:
            if text.startswith("%%"):
                raise self.error(row, "%s must be the first line of its cell" % text.split()[0])
            raise self.error(row, "invalid syntax")
        magic, rest = _SAME.get(found.group(1), found.group(1)), found.group(2)
        if magic == "time":
            return self.timed(rest, assigned)
        if magic not in LINES and magic not in _IGNORED:
            raise self.unknown(row, "%" + magic)
        return "%s.line(%r, %r)" % (NAME, magic, rest)

    def timed(self, code: str, assigned: bool) -> str:
        try:
            ast.parse("(%s\n)" % code, mode="eval")
        except SyntaxError:
            if not assigned:
                return "with %s.timing(): %s" % (NAME, code or "pass")
        return "%s.timed(%s.clock(), (%s))" % (NAME, NAME, re.sub(r";\s*$", "", code) or None)

    def unknown(self, row: int, magic: str) -> SyntaxError:
        instead = _INSTEAD.get(magic.lstrip("%"), "write Python instead")
        has = ", ".join(["%" + m for m in LINES] + ["%%" + m for m in CELLS])
        return self.error(row, "%s is no magic of this notebook: %s; there are !command, %s" % (magic, instead, has))

    def error(self, row: int, text: str) -> SyntaxError:
        return SyntaxError(text, (self.name, row + 1, 1, self.lines[row]))
