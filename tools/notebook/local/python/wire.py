"""The private channel to the program that drives this notebook.

A message is one line of JSON. Each is sent with a line break before and after
it, so that bytes which a cell wrote to every descriptor that it could find
spoil a line of their own, and it carries the nonce of the cell that runs, so
that no such line is taken for a message.

What this does not do: a cell that looks through the objects of this process
finds the nonce and the descriptor. Only a process of its own would hide them.
"""
from __future__ import annotations

import fcntl
import itertools
import json
import os
import threading
from typing import Any, Dict, Optional

_encode = json.JSONEncoder(ensure_ascii=True).encode
_decode = json.JSONDecoder().decode
_write, _read, _close, _getpid = os.write, os.read, os.close, os.getpid


def private(fd: int) -> int:
    """Moves a descriptor to a number that is hard to guess, closed to children."""
    base = 40 + int.from_bytes(os.urandom(1), "big") % 150
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, base)
    _close(fd)
    return moved


class Wire:
    """Two descriptors: messages come by one and go by the other."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in, self._out = incoming, outgoing
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self._pid = _getpid()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A child of the cell's own must not speak for it."""
        for fd in (self._in, self._out):
            try:
                _close(fd)
            except OSError:
                pass
        self._in = self._out = -1
        self._lock = threading.Lock()

    def send(self, message: Dict[str, Any]) -> None:
        """Sends a message; several threads may."""
        data = memoryview(b"\n" + _encode(message).encode() + b"\n")
        with self._lock:
            while data:
                data = data[_write(self._out, data):]

    def receive(self) -> Optional[Dict[str, Any]]:
        """Waits for a message; None is the end of the channel."""
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                if line:
                    return _decode(line.decode())
                continue
            chunk = _read(self._in, 1 << 16)
            if not chunk:
                return None
            self._buffer += chunk


class Bridge:
    """Asks the driving program to do what this process must not: it has the keys."""

    def __init__(self, wire: Wire) -> None:
        self.nonce = ""
        self._wire = wire
        self._numbers = itertools.count(1)
        self._waiting: Dict[int, _Answer] = {}
        self._lock = threading.Lock()
        self._reader: Optional[threading.Thread] = None

    def call(self, what: str, **arguments: Any) -> Any:
        """Waits for an answer. Raises RuntimeError with the reason if there is none."""
        number, answer = next(self._numbers), _Answer()
        with self._lock:
            self._waiting[number] = answer
            if self._reader is None:
                self._reader = threading.Thread(target=self._read, name="rouse-bridge", daemon=True)
                self._reader.start()
        try:
            self._wire.send({"nonce": self.nonce, "id": number, "do": what, "args": arguments})
            answer.ready.wait()
        finally:
            self._waiting.pop(number, None)
        if answer.error:
            raise RuntimeError(answer.error)
        return answer.value

    def _read(self) -> None:
        while True:
            try:
                message = self._wire.receive()
            except (OSError, ValueError):
                message = None
            if message is None:
                break
            answer = self._waiting.get(message.get("id", 0))
            if answer is not None:
                answer.error, answer.value = message.get("error", ""), message.get("value")
                answer.ready.set()
        for answer in list(self._waiting.values()):
            answer.error = "the notebook's connection is closed"
            answer.ready.set()


class _Answer:
    def __init__(self) -> None:
        self.ready = threading.Event()
        self.error = ""
        self.value: Any = None
