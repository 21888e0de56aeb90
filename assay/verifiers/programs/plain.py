"""Plain data as text: values of exact built-in types cross the border of the sandbox, and nothing else does.

The text of this module is also the head of the driver that runs inside, so it imports the standard library alone.
"""

DEEPEST, LONGEST = 32, 1 << 20  # levels of nesting, and characters of a packed value
MOST_ALIKE = 256  # members of one set that may share a hash: a program can choose many, and tables then take hours


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
        return [kind.__name__, [pack(item, depth + 1) for item in value]]
    if kind in (set, frozenset):
        return ["set", [pack(item, depth + 1) for item in value]]
    if kind is dict or kind in known_dicts():
        return ["dict", [[pack(key, depth + 1), pack(item, depth + 1)] for key, item in dict.items(value)]]
    raise NotPlain(kind.__name__)


def known_dicts():
    """The kinds of dict of the standard library, each of which is equal to the dict of its items."""
    import collections

    return (collections.OrderedDict, collections.defaultdict, collections.Counter)


def unpack(data, depth=0, hashed=False):
    """The value that was packed. Raises NotPlain for anything that `pack` does not write.

    A set that is `hashed`, because it is a member of a set or a key of a dict, is a frozenset.
    """
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
        if type(inner) is list:
            if kind in ("list", "tuple"):
                return (list if kind == "list" else tuple)([unpack(item, depth + 1, hashed) for item in inner])
            if kind == "set":
                members = table([unpack(item, depth + 1, True) for item in inner])
                return frozenset(members) if hashed else set(members)
            if kind == "dict":
                pairs = [(unpack(key, depth + 1, True), unpack(item, depth + 1)) for key, item in inner]
                table([key for key, _ in pairs])
                return dict(pairs)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotPlain("not packed") from error
    raise NotPlain("not packed")


def table(members):
    """The different members, as the keys of a dict. NotPlain if too many share a hash, TypeError if one has none."""
    found, counts = {}, {}
    for one in members:
        if one not in found:
            mark = hash(one)
            counts[mark] = counts.get(mark, 0) + 1
            if counts[mark] > MOST_ALIKE:
                raise NotPlain(f"more than {MOST_ALIKE} members that share a hash")
            found[one] = None
    return found
