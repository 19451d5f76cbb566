"""The model, for cells. Each call is made by the driving program, which has the
key and counts the tokens; nothing here could."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Union

from . import schema
from .wire import Bridge

Messages = Union[str, List[Dict[str, Any]]]


class Completion(str):
    """An answer: its text, with the tokens that it took and the calls in it."""

    calls: List[Dict[str, Any]] = []
    input_tokens = 0
    output_tokens = 0

    @property
    def text(self) -> str:
        """The answer as a plain str."""
        return str.__str__(self)


class LLM:
    """The model that drives this notebook."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def complete(self, system: Optional[str] = None, messages: Messages = (), max_tokens: int = 0) -> Completion:  # type: ignore[assignment]
        """Asks the model. messages is a text, or a list of {"role", "content"}.
        Raises RuntimeError if there is no answer."""
        return self._ask(system, messages, max_tokens=max_tokens)

    async def complete_async(self, system: Optional[str] = None, messages: Messages = (), max_tokens: int = 0) -> Completion:  # type: ignore[assignment]
        """Asks the model while other coroutines go on; see complete."""
        import asyncio
        import functools

        call = functools.partial(self.complete, system, messages, max_tokens)
        return await asyncio.get_running_loop().run_in_executor(None, call)

    def generate_object(self, model: Any, system: Optional[str] = None, messages: Messages = (), max_tokens: int = 0) -> Any:  # type: ignore[assignment]
        """Asks for a value of a dataclass, a pydantic model or a JSON Schema (a
        dict), checks it, and tells the model once what was wrong with it. Raises
        ValueError if the second answer is wrong as well."""
        wanted = schema.of(model)
        name = getattr(model, "__name__", "") or "answer"
        inner = wanted if wanted.get("type") == "object" else schema._object({"value": wanted}, ["value"])
        tool = {"name": name, "description": "Gives the answer.", "parameters": inner}
        conversation = _messages(messages)
        for last in (False, True):
            answer = self._ask(system, conversation, tools=[tool], force=name, max_tokens=max_tokens)
            try:
                value = _argument(answer, name)
                schema.check(value, inner)
                return schema.build(model, value if inner is wanted else value["value"])
            except (ValueError, TypeError, KeyError) as error:
                if last:
                    raise ValueError("the model gave no valid %s: %s" % (name, error)) from None
                conversation = conversation + _rejected(answer, error)

    def _ask(self, system: Optional[str], messages: Messages, **options: Any) -> Completion:
        value = self._bridge.call("llm", system=system or "", messages=_messages(messages), **options)
        answer = Completion(value.get("text", ""))
        answer.calls = value.get("calls") or []
        answer.input_tokens, answer.output_tokens = value.get("input_tokens", 0), value.get("output_tokens", 0)
        return answer


def _messages(messages: Messages) -> List[Dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": str(messages)}]
    listed = [dict(m) for m in messages]
    if not listed:
        raise ValueError("messages is empty: pass a text or a list of messages")
    return listed


def _argument(answer: Completion, name: str) -> Any:
    for call in answer.calls:
        if call["name"] == name:
            value = call["args"]
            return json.loads(value) if isinstance(value, str) else value
    return json.loads(answer.text)


def _rejected(answer: Completion, error: Exception) -> List[Dict[str, Any]]:
    reason = "This does not fit: %s. Answer again." % error
    said = {"role": "assistant", "content": answer.text, "calls": answer.calls}
    if not answer.calls:
        return [said, {"role": "user", "content": reason}]
    return [said] + [{"role": "tool", "content": reason, "call": c["id"]} for c in answer.calls]


def agentic_loop(bridge: Bridge, task: str, tools: List[Callable[..., Any]], system: Optional[str], turns: int) -> str:
    """See helpers.agentic_loop."""
    functions = {f.__name__: f for f in tools}
    offered = [{"name": n, "description": (f.__doc__ or n).strip(), "parameters": schema.of_function(f)}
               for n, f in functions.items()]
    model, conversation = LLM(bridge), _messages(task)
    for _ in range(turns):
        answer = model._ask(system, conversation, tools=offered)
        if not answer.calls:
            return answer.text
        conversation.append({"role": "assistant", "content": answer.text, "calls": answer.calls})
        for call in answer.calls:
            conversation.append({"role": "tool", "content": _called(functions, call), "call": call["id"]})
    raise RuntimeError("no answer after %d turns" % turns)


def _called(functions: Dict[str, Callable[..., Any]], call: Dict[str, Any]) -> str:
    try:
        function = functions.get(call["name"])
        if function is None:
            raise ValueError("there is no function %r" % call["name"])
        given = call["args"] if isinstance(call["args"], dict) else json.loads(call["args"])
        schema.check(given, schema.of_function(function), "arguments")
        value = function(**given)
        return value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    except Exception as error:
        return "error: %s: %s" % (type(error).__name__, error)
