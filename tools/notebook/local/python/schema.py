"""JSON Schemas of Python types, and values checked against them.

Known are dataclasses, pydantic models, and the types that their fields mostly
have: str, int, float, bool, None, Any, list, tuple, dict, Optional, Union,
Literal and Enum.
"""
from __future__ import annotations

import dataclasses
import enum
import inspect
import typing
from typing import Any, Callable, Dict, List, Tuple

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_CHECKS = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def of(kind: Any) -> Dict[str, Any]:
    """The schema of a type. Raises TypeError for a type that has none."""
    if isinstance(kind, dict):
        return kind
    if kind is Any or kind is inspect.Parameter.empty:
        return {}
    if kind is None or kind in _PLAIN:
        return {"type": _PLAIN[type(None) if kind is None else kind]}
    for method in ("model_json_schema", "schema"):  # pydantic 2, pydantic 1
        if isinstance(kind, type) and hasattr(kind, method):
            return getattr(kind, method)()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [e.value for e in kind]}
    return _generic(kind)


def _record(kind: Any) -> Dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = [f for f in dataclasses.fields(kind) if f.init]
    needed = [f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING]
    return _object({f.name: of(hints[f.name]) for f in fields}, needed, kind.__doc__)


def _object(properties: Dict[str, Any], needed: List[str], doc: Any = None) -> Dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
    if doc:
        schema["description"] = inspect.cleandoc(doc)
    return schema


def _generic(kind: Any) -> Dict[str, Any]:
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return {"anyOf": [of(a) for a in args]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (list, set, frozenset, tuple):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", "items": of(items[0])} if len(items) == 1 else {"type": "array"}
    if origin is dict:
        return {"type": "object", "additionalProperties": of(args[1])} if args else {"type": "object"}
    raise TypeError("no JSON Schema for %r; use a dataclass, a schema or a pydantic model" % (kind,))


def of_function(function: Callable[..., Any]) -> Dict[str, Any]:
    """The schema of a function's parameters."""
    hints = typing.get_type_hints(function)
    properties, needed = {}, []
    for name, p in inspect.signature(function).parameters.items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        properties[name] = of(hints.get(name, Any))
        if p.default is p.empty:
            needed.append(name)
    return _object(properties, needed)


def check(value: Any, schema: Any, where: str = "value", root: Any = None) -> None:
    """Raises ValueError that names what does not fit the schema. Keywords that
    are not known are not checked."""
    if schema is True or not schema:
        return
    root = schema if root is None else root
    if "$ref" in schema:
        return check(value, _referred(schema["$ref"], root), where, root)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_CHECKS.get(k, lambda v: True)(value) for k in kinds):
        raise ValueError("%s must be %s, not %s" % (where, " or ".join(kinds), type(value).__name__))
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        raise ValueError("%s must be one of %s" % (where, schema.get("enum", [schema.get("const")])))
    for part in schema.get("allOf", ()):
        check(value, part, where, root)
    if "anyOf" in schema or "oneOf" in schema:
        _any(value, schema.get("anyOf") or schema["oneOf"], where, root)
    _bounds(value, schema, where)
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), "%s[%d]" % (where, i), root)
    if isinstance(value, dict):
        _members(value, schema, where, root)


def _any(value: Any, options: Any, where: str, root: Any) -> None:
    reasons = []
    for option in options:
        try:
            return check(value, option, where, root)
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError("; or ".join(reasons))


def _bounds(value: Any, schema: Dict[str, Any], where: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        raise ValueError("%s is out of bounds: %r" % (where, value))
    for kind, low, high in ((str, "minLength", "maxLength"), (list, "minItems", "maxItems")):
        if isinstance(value, kind) and not schema.get(low, 0) <= len(value) <= schema.get(high, len(value)):
            raise ValueError("%s has length %d" % (where, len(value)))


def _members(value: Dict[str, Any], schema: Dict[str, Any], where: str, root: Any) -> None:
    properties, extra = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            raise ValueError("%s lacks %r" % (where, name))
    for name, item in value.items():
        if name not in properties and extra is False:
            raise ValueError("%s has no %r" % (where, name))
        check(item, properties.get(name, extra), "%s.%s" % (where, name), root)


def _referred(ref: str, root: Any) -> Any:
    for part in ref.lstrip("#/").split("/"):
        root = root[part]
    return root


def build(kind: Any, value: Any) -> Any:
    """Makes a value of the type from checked JSON."""
    if isinstance(kind, dict) or value is None:
        return value
    for method in ("model_validate", "parse_obj"):  # pydantic 2, pydantic 1
        if isinstance(kind, type) and hasattr(kind, method):
            return getattr(kind, method)(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{k: build(hints[k], v) for k, v in value.items()})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return _built(typing.get_origin(kind), typing.get_args(kind), value)


def _built(origin: Any, args: Tuple[Any, ...], value: Any) -> Any:
    if origin in (list, set, frozenset, tuple) and args and isinstance(value, list):
        return origin(build(args[0], v) for v in value)
    if origin is dict and args and isinstance(value, dict):
        return {k: build(args[1], v) for k, v in value.items()}
    if origin is typing.Union:
        for arg in args:
            try:
                check(value, of(arg))
                return build(arg, value)
            except ValueError:
                continue
    return value
