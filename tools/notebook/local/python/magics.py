"""What `typed` makes of magics calls: shells, timing and the rest."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from . import typed

_PIECE = re.compile(r"\{\{|\}\}|\$\$|\{([^{}]+)\}|\$([A-Za-z_]\w*)")
_QUIET = ("-q", "-qq", "-qqq", "--quiet", "-y", "--yes", "--no-input", "--no-cache-dir", "--disable-pip-version-check")
_LINUX = sys.platform.startswith("linux")


class Lines(List[str]):
    """What a command printed, as a list of its lines; n, s and p as in IPython."""

    n = property(lambda self: "\n".join(self))
    s = property(lambda self: " ".join(self))


class Captured:
    """What a cell under %%capture printed."""

    def __init__(self, stdout: str, stderr: str) -> None:
        self.stdout, self.stderr = stdout, stderr

    def __str__(self) -> str:
        return self.stdout

    def show(self) -> None:
        """Prints it."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)


class Magics:
    """The magics of one process. Methods without an underscore are called from
    cells, in whose names they look."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._back = ""  # where %cd - goes

    def shell(self, command: str) -> None:
        """Runs a command, whose output is the cell's."""
        self._exited(self._run(_shell(_filled(command, sys._getframe(1))))[0])

    def lines(self, command: str) -> Lines:
        """Runs a command and gives what it printed."""
        code, said = self._run(_shell(_filled(command, sys._getframe(1))), keep=True)
        self._exited(code)
        return Lines(said.splitlines())

    def line(self, name: str, rest: str) -> Any:
        """Carries out a magic that is a line."""
        frame = sys._getframe(1)
        if name in ("cat", "cp", "ls", "mkdir", "mv", "rm"):
            return self._exited(self._run(_shell("%s %s" % (name, _filled(rest, frame))))[0])
        if name == "timeit":
            return _timeit(rest, "pass", "", frame)
        if name == "who":
            return self._who()
        do = getattr(self, "_" + name, None)
        if do is not None:
            return do(_filled(rest, frame))
        if name not in ("matplotlib", "config"):
            print("[%%%s does nothing here]" % name, file=sys.stderr)
        return None

    def cell(self, name: str, rest: str, body: str) -> None:
        """Carries out a magic that takes the whole cell."""
        frame = sys._getframe(1)
        if name == "timeit":
            _timeit(rest, body, body, frame)
        elif name == "writefile":
            _write(_words(_filled(rest, frame)), body)
        else:
            program = sys.executable if name == "python" else shutil.which(name)
            if program is None:
                raise FileNotFoundError("there is no %s on this machine" % name)
            code, _ = self._run([program, "-c", body] + ([name] + _words(rest) if name != "python" else _words(rest)))
            if code:
                raise subprocess.CalledProcessError(code, "%%" + name)

    def during(self, name: str, rest: str) -> None:
        """Begins what lasts as long as the cell."""
        if name == "time":
            begun = self.clock()
            self._session.ending.append(lambda: _took(begun))
            return
        import io

        streams, kept = (sys.stdout, sys.stderr), (io.StringIO(), io.StringIO())
        sys.stdout, sys.stderr = kept

        def end() -> None:
            sys.stdout, sys.stderr = streams
            if rest and not rest.startswith("-"):
                self._session.module.__dict__[rest.split()[0]] = Captured(*(k.getvalue() for k in kept))

        self._session.ending.append(end)

    def clock(self) -> Tuple[float, float]:
        """The time, for timed."""
        return time.perf_counter(), time.process_time()

    def timed(self, begun: Tuple[float, float], value: Any) -> Any:
        """Says how long it took to come to a value, and gives it."""
        _took(begun)
        return value

    def timing(self) -> Any:
        """Says how long what is inside takes."""
        return _Timing(self.clock())

    def help(self, name: str, source: bool) -> None:
        """Prints what is known of a name."""
        if name.startswith("%"):
            print("Magics of this notebook: !command, %s" % ", ".join(
                ["%" + m for m in typed.LINES] + ["%%" + m for m in typed.CELLS]))
            return
        frame = sys._getframe(1)
        try:
            value = eval(name, frame.f_globals, frame.f_locals)
        except Exception:
            print("Object `%s` not found." % name)
            return
        print(_described(name, value, source))

    def _cd(self, rest: str) -> None:
        to = re.sub(r"\s+#.*", "", rest).strip("'\" ") or self._session.workspace
        here = os.getcwd()
        os.chdir(self._back or here if to == "-" else os.path.expanduser(to))
        self._back, self._session.folder = here, os.getcwd()
        print(os.getcwd())

    def _pwd(self, rest: str) -> str:
        return os.getcwd()

    def _env(self, rest: str) -> Any:
        if not rest:
            return {n: "<hidden>" if n in self._session.secrets else v for n, v in os.environ.items()}
        name, given, value = rest.partition("=" if "=" in rest else " ")
        if not given:
            return os.environ[name]
        name, value = name.strip(), value.strip()
        os.environ[name] = value
        print("env: %s=%s" % (name, value))
        return None

    def _pip(self, rest: str) -> None:
        words = _words(rest)
        packages = [w for w in words[1:] if w not in _QUIET]
        if words[:1] == ["install"] and packages and not any(p.startswith("-") for p in packages):
            self._session.helpers["install"](*packages)
            print("installed %s" % " ".join(packages))
            return
        code, _ = self._run([sys.executable, "-m", "pip"] + words)
        if words[:1] in (["install"], ["uninstall"]):
            print("[not recorded with the notebook, which has it until its environment is made anew; "
                  "%pip install NAME without options is]", file=sys.stderr)
        self._exited(code)

    def _who(self) -> None:
        helpers = self._session.helpers.values()
        for name, value in sorted(self._session.module.__dict__.items()):
            if not name.startswith("_") and not any(value is h for h in helpers):
                print("%-20s %s" % (name, type(value).__name__))

    def _run(self, argv: List[str], keep: bool = False) -> Tuple[int, str]:
        """Runs a program, which ends with all that it started before this returns."""
        session = self._session
        session._flush()
        into = not keep and sys.stdout not in session.streams
        out, err = (subprocess.PIPE, subprocess.STDOUT) if keep or into else (1, 2)
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=_LINUX)
        try:
            said = (child.communicate()[0] or b"").decode("utf-8", "replace")
        finally:
            _end(child)
        if into:
            sys.stdout.write(said)
        return child.returncode, said

    @staticmethod
    def _exited(code: int) -> None:
        if code:
            print("[exit code %d]" % code, file=sys.stderr)


def _end(child: Any) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL) if _LINUX else child.kill()
    except OSError:
        pass  # it has gone with all of its own
    child.wait()


def _shell(command: str) -> List[str]:
    return [shutil.which("bash") or "sh", "-c", command]


def _words(text: str) -> List[str]:
    return shlex.split(text, comments=True)


def _filled(text: str, frame: Any) -> str:
    """The text with {expression} and $name replaced by their values, where these
    are the cell's; what a shell has under such a name stays."""

    def fill(found: Any) -> str:
        whole, expression, name = found.group(0), found.group(1), found.group(2)
        if whole in ("{{", "}}", "$$"):
            return whole if whole == "$$" else whole[0]
        try:
            if name and name not in frame.f_locals and name not in frame.f_globals:
                return whole
            value = eval(expression or name, frame.f_globals, frame.f_locals)
        except Exception:
            return whole
        return whole if callable(value) or isinstance(value, tuple) else str(value)

    return _PIECE.sub(fill, text)


def _write(words: List[str], body: str) -> None:
    names = [w for w in words if w not in ("-a", "--append")]
    if len(names) != 1:
        raise ValueError("name one file: %%writefile [-a] FILE")
    mode = "w" if len(names) == len(words) else "a"
    with open(os.path.expanduser(names[0]), mode, encoding="utf-8") as file:
        file.write(body if body.endswith("\n") else body + "\n")
    print("Writing %s" % names[0] if mode == "w" else "Appending to %s" % names[0])


class _Timing:
    def __init__(self, begun: Tuple[float, float]) -> None:
        self._begun = begun

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _took(self._begun)


def _took(begun: Tuple[float, float]) -> None:
    wall, used = time.perf_counter() - begun[0], time.process_time() - begun[1]
    print("CPU time: %s, wall time: %s" % (_seconds(used), _seconds(wall)))


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return "%.3g %s" % (value / size, unit)
    return "%.3g ns" % (value * 1e9)


def _timeit(rest: str, setup: str, body: str, frame: Any) -> None:
    import timeit

    options: Dict[str, int] = {}
    found = re.match(r"-([nr])[ \t]*(\d+)[ \t]*", rest)
    while found:
        options[found.group(1)], rest = int(found.group(2)), rest[found.end():]
        found = re.match(r"-([nr])[ \t]*(\d+)[ \t]*", rest)
    code, before = (body, rest or "pass") if body else (rest, setup)
    timer = timeit.Timer(code or "pass", before, globals={**frame.f_globals, **frame.f_locals})
    number = options.get("n") or timer.autorange()[0]
    times = timer.repeat(options.get("r", 5), number)
    print("%s per loop, best of %d times %d" % (_seconds(min(times) / number), len(times), number))


def _described(name: str, value: Any, source: bool) -> str:
    import inspect

    parts = ["%s: %s" % (name, type(value).__name__)]
    try:
        parts = ["%s%s" % (name, inspect.signature(value))]
    except (TypeError, ValueError):
        pass
    text: Optional[str] = None
    if source:
        try:
            text = inspect.getsource(value)
        except (OSError, TypeError):
            pass
    return "\n".join(parts + [text or inspect.getdoc(value) or "(no documentation)"])
