"""What cells have imported, so that another process can import it again."""
from __future__ import annotations

import ast
import importlib
import sys
import types
from typing import Any, Dict, List, Tuple

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Imports:
    """The import statements of the cells that were run."""

    def __init__(self) -> None:
        self._below: Dict[str, Dict[str, None]] = {}  # by name, the modules below it
        self._parts: Dict[str, Tuple[str, str]] = {}  # by name, the module and the name in it

    def note(self, tree: ast.AST) -> None:
        """Remembers the imports of a cell, but for those of functions and classes."""
        if isinstance(tree, ast.Import):
            for name in (n.name for n in tree.names if n.asname is None and "." in n.name):
                self._below.setdefault(name.partition(".")[0], {})[name] = None
        elif isinstance(tree, ast.ImportFrom) and not tree.level and tree.module:
            for n in tree.names:
                for name in _public(tree.module) if n.name == "*" else (n.asname or n.name,):
                    self._parts[name] = (tree.module, name if n.name == "*" else n.name)
        for inner in ast.iter_child_nodes(tree):
            if isinstance(inner, (ast.stmt, ast.ExceptHandler)) and not isinstance(inner, _SCOPES):
                self.note(inner)

    def keep(self, name: str, origin: List[Any]) -> None:
        """Remembers what was imported again."""
        module, part, below = origin
        if part:
            self._parts[name] = (module, part)
        self._below.setdefault(name, {}).update(dict.fromkeys(below))

    def origin(self, name: str, value: Any) -> List[Any]:
        """How to import what the name stands for: the module, the name in it, and
        modules below it. Empty if that would not give this very value."""
        if isinstance(value, types.ModuleType):
            below = [m for m in self._below.get(name, ()) if m in sys.modules]
            return [value.__name__, "", below] if sys.modules.get(value.__name__) is value else []
        module, part = self._parts.get(name, ("", ""))
        same = module in sys.modules and vars(sys.modules[module]).get(part, self) is value
        return [module, part, []] if same else []


def again(module: str, part: str, below: List[str]) -> Any:
    """Imports what origin gave."""
    value = importlib.import_module(module)
    for name in below:
        importlib.import_module(name)
    return getattr(value, part) if part else value


def _public(module: str) -> List[str]:
    there = vars(sys.modules[module]) if module in sys.modules else {}
    return list(there.get("__all__", [n for n in there if not n.startswith("_")]))
