"""Saves the globals of a notebook and restores them, each one by itself.

The file is a line that names the format, then for each variable a line of JSON
with its name and size followed by its pickle, then a line of JSON that ends it.
What was imported is a line without a pickle, and is imported again. A variable
that cannot be saved or restored loses only itself. Never saved are whatever holds
an open file, our own helpers, and values that contain a credential of this process.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import signal
import time
import types
from typing import Any, Callable, Dict, Iterator, List, Tuple

from .imports import Imports, again

FORMAT = b"rouse variables 1\n"
Report = Dict[str, Any]


class Refused(Exception):
    """Why a value is not saved, in words for whoever reads the notebook."""


class _Bounded(io.RawIOBase):
    """A buffer that takes no more than its limit."""

    def __init__(self, left: int, total: int) -> None:
        self.data, self.left, self.total = bytearray(), left, total

    def writable(self) -> bool:
        return True

    def write(self, chunk: Any) -> int:
        size = memoryview(chunk).nbytes
        if len(self.data) + size > self.left:
            raise Refused("too large: all variables together may take %d MB" % (self.total // 1_000_000))
        self.data += chunk
        return size

class _Clock:
    """The time for all variables, of which one may take a quarter."""

    def __init__(self, seconds: float) -> None:
        self.end, self.most = time.monotonic() + seconds, seconds / 4

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        """Ends what runs inside when it takes too long."""
        left = min(self.end - time.monotonic(), self.most)
        if left <= 0:
            raise Refused("there was no time left")
        before = signal.signal(signal.SIGALRM, self._late)
        signal.setitimer(signal.ITIMER_REAL, left)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)

    @staticmethod
    def _late(*_: Any) -> None:
        raise Refused("it took too long")


def _pickler() -> Callable[[Any, Any], None]:
    """The best pickler that the environment has."""
    try:
        import cloudpickle

        base, by_value = cloudpickle.CloudPickler, True
    except ImportError:
        try:
            import dill

            base, by_value = dill.Pickler, True
        except ImportError:
            base, by_value = pickle.Pickler, False

    class Pickler(base):  # type: ignore[misc, valid-type]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, io.IOBase):
                raise Refused("it holds an open file")
            if not by_value and isinstance(obj, (type, types.FunctionType)) and obj.__module__ == "__main__":
                raise Refused("%s is defined in the notebook; install cloudpickle to keep it" % obj.__qualname__)
            inherited = getattr(super(), "reducer_override", None)
            return inherited(obj) if inherited else NotImplemented

    def dump(value: Any, out: Any) -> None:
        options = {"recurse": True} if base.__module__.startswith("dill") else {}
        Pickler(out, protocol=4, **options).dump(value)

    return dump


def save(session: Any, order: Dict[str, Any]) -> Report:
    """Writes the variables to order["path"], and says which and which not."""
    names, helpers, secrets = session.module.__dict__, session.helpers, session.secrets
    total, clock = order["bytes"], _Clock(order["seconds"])
    banned = [v.encode() for v in (os.environ.get(s, "") for s in secrets) if len(v) >= 8]
    dump, saved, dropped, left = _pickler(), [], [], total
    with open(order["path"], "wb") as out:
        out.write(FORMAT)
        wanted = {n: v for n, v in names.items() if not _ours(n, v, helpers)}
        for name, origin in _imported(wanted, session.imports):
            out.write(json.dumps({"name": name, "bytes": 0, "import": origin}).encode() + b"\n")
            del wanted[name]
        for name, value in wanted.items():
            try:
                data = _pickled(dump, value, (left, total), clock)
                if any(b in data for b in banned):
                    raise Refused("it holds a credential")
            except BaseException as error:
                dropped.append([name, _why(error)])
                continue
            out.write(json.dumps({"name": name, "bytes": len(data)}).encode() + b"\n")
            out.write(data)
            left -= len(data)
            saved.append(name)
        out.write(json.dumps({"end": len(saved), "dropped": dropped, "time": time.time()}).encode() + b"\n")
    return {"saved": saved, "dropped": dropped}


def _imported(names: Dict[str, Any], imports: Imports) -> List[Tuple[str, List[Any]]]:
    return [(n, o) for n, o in ((n, imports.origin(n, v)) for n, v in names.items()) if o]


def _ours(name: str, value: Any, helpers: Dict[str, Any]) -> bool:
    if name == "_" or name.startswith("__") and name.endswith("__"):
        return True
    return any(value is helper for helper in helpers.values())  # whatever it is called now


def _pickled(dump: Callable[[Any, Any], None], value: Any, limits: Tuple[int, int], clock: _Clock) -> bytearray:
    if isinstance(value, types.ModuleType):
        raise Refused("a module; import %s again" % value.__name__)
    out = _Bounded(*limits)
    with clock.share():
        dump(value, out)
    return out.data


def restore(session: Any, path: str, seconds: float) -> Report:
    """Puts the variables of a file back, one by one, and says which and which not."""
    names: Dict[str, Any] = session.module.__dict__
    restored: List[str] = []
    imported: List[str] = []
    report: Report = {"restored": restored, "imported": imported, "dropped": []}
    clock = _Clock(seconds)
    try:
        for header, data in _entries(path):
            if "end" in header:
                report["dropped"][:0] = header["dropped"]
                report["time"] = header["time"]
                break
            name = header["name"]
            try:
                with clock.share():
                    if "import" in header:
                        names[name] = again(*header["import"])
                        session.imports.keep(name, header["import"])
                    else:
                        names[name] = _at_home(pickle.loads(data), names)
                (imported if "import" in header else restored).append(name)
            except BaseException as error:
                report["dropped"].append([name, _why(error)])
    except (OSError, ValueError, KeyError) as error:
        report["unreadable"] = _why(error)
    return report


def _entries(path: str) -> Iterator[Tuple[Dict[str, Any], bytes]]:
    with open(path, "rb") as file:
        if file.readline(100) != FORMAT:
            raise ValueError("not a file of variables")
        while True:
            header = json.loads(file.readline(1 << 20))
            if "end" not in header and header["bytes"] > os.fstat(file.fileno()).st_size:
                raise ValueError("the file is cut off")
            yield header, file.read(header.get("bytes", 0))


def _at_home(value: Any, names: Dict[str, Any]) -> Any:
    """A function of the notebook works on the notebook's globals again, not on
    copies of those that were saved with it."""
    if not isinstance(value, types.FunctionType) or value.__module__ != "__main__" or value.__globals__ is names:
        return value
    for name, kept in value.__globals__.items():
        if not name.startswith("__"):
            names.setdefault(name, kept)
    home = types.FunctionType(value.__code__, names, value.__name__, value.__defaults__, value.__closure__)
    home.__kwdefaults__, home.__doc__, home.__qualname__ = value.__kwdefaults__, value.__doc__, value.__qualname__
    home.__annotations__, home.__module__ = value.__annotations__, value.__module__
    home.__dict__.update(value.__dict__)
    return home


def _why(error: BaseException) -> str:
    if isinstance(error, Refused):
        return str(error)
    try:
        text = str(error).splitlines()
    except BaseException:
        text = []
    return (type(error).__name__ + (": " + text[0] if text else ""))[:200]
