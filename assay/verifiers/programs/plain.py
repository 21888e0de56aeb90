"""Plain data as text: values of exact built-in types cross the border of the sandbox, and nothing else does.

The text of this module is also the head of the driver that runs inside, so it imports the standard library alone.
"""

DEEPEST, LONGEST = 32, 1 << 20  # levels of nesting, and characters of a packed value


class NotPlain(Exception):
    """A value is no plain data, or too large; the message names its type."""


def pack(value, depth=0):
    """The value as JSON data that keeps the types apart: `pack((1, 2.5))` is `["tuple", [1, ["float", "2.5"]]]`."""
    kind = type(value)  # a subclass may lie about everything else
    if depth > DEEPEST:
        raise NotPlain("nested too deeply")
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(1 << 53) < value < 1 << 53 else ["int", hex(value)]
    if kind is float:
        return ["float", repr(value)]
    if kind is bytes:
        return ["bytes", value.hex()]
    if kind in (list, tuple):
        return [kind.__name__, [pack(one, depth + 1) for one in value]]
    if kind in (set, frozenset):
        return ["set", [pack(one, depth + 1) for one in value]]
    if kind is dict:
        return ["dict", [[pack(key, depth + 1), pack(one, depth + 1)] for key, one in value.items()]]
    raise NotPlain(kind.__name__)


def unpack(data, depth=0):
    """The value that was packed. Raises NotPlain for whatever `pack` does not write."""
    if depth > DEEPEST:
        raise NotPlain("nested too deeply")
    if data is None or type(data) in (bool, int, str):
        return data
    if type(data) is not list or len(data) != 2:
        raise NotPlain("not packed")
    kind, inner = data
    try:
        if kind == "int":
            return int(inner, 16)
        if kind == "float":
            return float(inner)
        if kind == "bytes":
            return bytes.fromhex(inner)
        if kind in ("list", "tuple", "set") and type(inner) is list:
            return {"list": list, "tuple": tuple, "set": set}[kind]([unpack(one, depth + 1) for one in inner])
        if kind == "dict" and type(inner) is list:
            return {unpack(key, depth + 1): unpack(one, depth + 1) for key, one in inner}
    except (TypeError, ValueError) as error:
        raise NotPlain("not packed") from error
    raise NotPlain("not packed")
