"""As much of JSON Schema as vectors.schema.json uses, so that checking it needs no library; a keyword it does not know
is an error, not a pass.
"""

from __future__ import annotations

import re
from typing import Any

ABOUT = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}


def conforms(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value is as the schema says."""
    return all(_keyword(name, wanted, value, schema, root) for name, wanted in schema.items() if name not in ABOUT)


def _keyword(name: str, wanted: Any, value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if name == "$ref":
        return conforms(value, root["$defs"][wanted.rsplit("/", 1)[1]], root)
    if name == "oneOf":
        return sum(conforms(value, one, root) for one in wanted) == 1
    if name == "type":
        return isinstance(value, TYPES[wanted]) and not (wanted == "integer" and isinstance(value, bool))
    if name in ("const", "enum"):
        return value == wanted if name == "const" else value in wanted
    if name == "required":
        return set(wanted) <= set(value)
    if name == "properties":
        return all(conforms(value[key], one, root) for key, one in wanted.items() if key in value)
    if name == "additionalProperties":
        others = [each for key, each in value.items() if key not in schema.get("properties", {})]
        return not others if wanted is False else all(conforms(each, wanted, root) for each in others)
    if name == "items":
        return all(conforms(each, wanted, root) for each in value)
    if name == "minItems":
        return len(value) >= wanted
    if name == "minimum":
        return bool(value >= wanted)
    if name == "pattern":
        return re.search(wanted, value) is not None
    raise NotImplementedError(name)
