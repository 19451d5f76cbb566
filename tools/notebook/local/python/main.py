"""The loop that runs cells: one message asks for one, one says how it ended."""
from __future__ import annotations

import ast
import builtins
import io
import linecache
import os
import signal
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import helpers, show
from .imports import Imports
from .wire import Bridge, Wire, private

# The descriptors that the driving program hands over.
CONTROL_IN, CONTROL_OUT, STDOUT, STDERR, BRIDGE_IN, BRIDGE_OUT = range(3, 9)

# A cell may rebind these names where it finds them; we keep our own.
_compile, _eval, _exit, _getpid = compile, eval, os._exit, os.getpid
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_TREE = ast.PyCF_ONLY_AST | _AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_sources = linecache.cache


class Session:
    """The process of a notebook: its globals, its outputs, its channel."""

    def __init__(self) -> None:
        self.wire = Wire(private(CONTROL_IN), private(CONTROL_OUT))
        self.bridge = Bridge(Wire(private(BRIDGE_IN), private(BRIDGE_OUT)))
        self.outputs = (private(STDOUT), private(STDERR))
        self.streams: Tuple[Any, ...] = ()
        self.pid = _getpid()
        self.running = False
        self.workspace = self.folder = ""  # folder is where %cd went
        self.ending: List[Callable[[], None]] = []  # what the end of the cell does
        self.secrets: Tuple[str, ...] = ()
        self.imports = Imports()
        self.module = types.ModuleType("__main__")
        self.module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        self.helpers = helpers.make(self.bridge, self.log, self.draw)
        self.module.__dict__.update(self.helpers)
        builtins.__dict__["__rouse__"] = _Magics(self)

    def log(self, text: str) -> None:
        """Reports a line while a cell runs."""
        self.wire.send({"nonce": self.bridge.nonce, "is": "log", "text": show.cut(text, 4000)})

    def draw(self, value: Any, figures: bool = False) -> bool:
        """Reports the pictures of a value, and of all open figures."""
        count = 0
        for count, (kind, data) in enumerate(show.pictures(value, figures), 1):
            self.wire.send({"nonce": self.bridge.nonce, "is": "picture", "type": kind, "data": data})
        return count > 0

    def prepare(self) -> None:
        """Puts in order what the last cell may have left in disorder."""
        signal.signal(signal.SIGINT, self._interrupted)
        for fd, kept in enumerate(self.outputs, 1):
            os.dup2(kept, fd)
        if not self.streams or (sys.stdout, sys.stderr) != self.streams or any(s.closed for s in self.streams):
            self.streams = (_text(1), _text(2))
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self.streams
        try:
            os.chdir(self.folder or self.workspace)
        except OSError:
            self.folder = ""
            os.makedirs(self.workspace, exist_ok=True)
            os.chdir(self.workspace)

    def _interrupted(self, *_: Any) -> None:
        if self.running:
            self.running = False
            raise KeyboardInterrupt

    def cell(self, code: str, number: int) -> Dict[str, Any]:
        """Runs a cell and says how it ended."""
        self.prepare()
        try:
            self.running = True
            value = self.run(code, "<cell %d>" % number)
            if self._forked():
                _exit(0)
            result = {"is": "done", "value": show.value_text(value), "html": show.table(value)}
            if value is not None:
                self.module.__dict__["_"] = value
            self.draw(value, True)
        except SystemExit as error:
            result = {"is": "done", "error": self._exited(error)}
        except BaseException as error:
            if self._forked():
                _exit(1)
            result = {"is": "done", "error": show.error_text(error)}
        finally:
            self.running = False
        self._flush()
        return result

    def run(self, code: str, name: str) -> Any:
        """Runs code and gives the value of a last expression."""
        linecache.cache = _sources
        _sources[name] = (len(code), None, code.splitlines(True), name)
        tree = self._parsed(code, name)
        self.ending.clear()
        kept = ast.Module(list(tree.body), [])
        try:
            return self._run(tree, name, code.rstrip().endswith(";"))
        finally:
            self.imports.note(kept)
            for end in reversed(self.ending):
                end()

    def _parsed(self, code: str, name: str) -> Any:
        """The syntax of a cell, of which magics are Python now."""
        try:
            return _compile(code, name, "exec", _TREE, True)
        except SyntaxError as caught:
            error = caught
        from . import typed

        text, changed = typed.translate(code, name)
        if not changed:
            raise error
        try:
            tree = _compile(text, name, "exec", _TREE, True)
        except SyntaxError as caught:
            caught.text = changed.get(caught.lineno or 0, caught.text)
            raise
        typed.place(tree, changed)
        return tree

    def _run(self, tree: Any, name: str, silent: bool) -> Any:
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            self._evaluate(_compile(tree, name, "exec", _AWAIT, True))
        if last is None:
            return None
        value = self._evaluate(_compile(last, name, "eval", _AWAIT, True))
        return None if silent else value

    def _evaluate(self, code: types.CodeType) -> Any:
        value = _eval(code, self.module.__dict__)
        if code.co_flags & _COROUTINE:
            import asyncio

            return asyncio.run(value)
        return value

    def _forked(self) -> bool:
        """Whether this is a child that the cell forked; it ends with the cell."""
        if _getpid() == self.pid:
            return False
        self._flush()
        return True

    def _exited(self, error: SystemExit) -> str:
        code = error.code
        if self._forked():
            _exit(code if isinstance(code, int) else int(code is not None))
        return "" if code in (None, 0) else "SystemExit: %s" % (code,)

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr) + self.streams:
            try:
                stream.flush()
            except Exception:  # the cell put something else there, or closed it
                pass

    def start(self, config: Dict[str, Any]) -> None:
        """Takes the configuration, restores variables and says that all is ready."""
        self.workspace, self.secrets = config["workspace"], tuple(config.get("secrets") or ())
        ready: Dict[str, Any] = {"is": "ready", "nonce": config["nonce"], "python": "%d.%d.%d" % sys.version_info[:3],
                                 "prefix": sys.prefix}
        try:
            limit_memory(config.get("memory", 0))
        except (OSError, ValueError, ImportError) as error:
            ready["error"] = "memory limit: %s" % error
        self.prepare()
        if self.workspace not in sys.path:
            sys.path.append(self.workspace)  # last: a file of the cell's replaces no library
        if config.get("variables"):
            from . import variables

            ready.update(variables.restore(self, config["variables"], config["seconds"]))
            self._flush()
        self.wire.send(ready)

    def serve(self) -> None:
        """Runs cells until there is nobody to ask for one."""
        while True:
            message = self.wire.receive()
            if message is None:
                return
            self.bridge.nonce = nonce = message["nonce"]
            if message["do"] == "cell":
                result = self.cell(message["code"], message["number"])
            else:
                result = self.save(message)
            result["nonce"], self.bridge.nonce = nonce, ""
            self.wire.send(result)

    def save(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Saves the variables into a file."""
        from . import variables

        self.prepare()
        report = variables.save(self, message)
        self._flush()
        return dict(report, **{"is": "saved"})


class _Magics:
    """Stands among the builtins for `magics.Magics`, which most processes never need."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        from . import magics

        self.__dict__.update({n: getattr(m, n) for m in (magics.Magics(self._session),) for n in dir(m) if n[0] != "_"})
        return self.__dict__[name]


def _text(fd: int) -> io.TextIOWrapper:
    raw = io.FileIO(fd, "wb", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw, 1 << 16), encoding="utf-8", errors="backslashreplace",
                            line_buffering=True)


def limit_memory(size: int) -> None:
    """Lets this process and its children have no more address space than that."""
    if size:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def main() -> None:
    """Serves until the channel ends, and then ends whatever threads there are."""
    code = 1
    try:
        session = Session()
        config: Optional[Dict[str, Any]] = session.wire.receive()
        if config is not None:
            session.start(config)
            session.serve()
        code = 0
    except OSError as error:
        os.write(2, b"the notebook's own descriptors are gone: %s\n" % str(error).encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        _exit(code)
