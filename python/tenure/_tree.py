"""Trees of tensors: what functions take and give. Lists, tuples, dicts, dataclasses and named tuples
of trees; anything else is a leaf."""

import weakref

from ._tenure import Tensor


def _parts(value):
    """(kind, parts, rebuild) of a node; None of a leaf."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):  # a named tuple
            return type(value), list(value), lambda parts: type(value)(*parts)
        if type(value) is tuple:
            return tuple, list(value), tuple
        if hasattr(value, "n_sequence_fields"):  # what ops of several results give
            return type(value), list(value), type(value)
        return None
    if type(value) is list:
        return list, value, list
    if isinstance(value, dict):
        keys = list(value)
        return (type(value), *keys), [value[k] for k in keys], lambda parts: type(value)(zip(keys, parts))
    if hasattr(type(value), "__dataclass_fields__"):
        import dataclasses  # is there then; to import it takes as long as all of this package

        names = [f.name for f in dataclasses.fields(value)]
        return type(value), [getattr(value, n) for n in names], lambda parts: _with(value, names, parts)
    return None


def _with(value, names, parts):
    made = object.__new__(type(value))
    for name, part in zip(names, parts):
        object.__setattr__(made, name, part)
    return made


def leaves(value):
    """All leaves, in order."""
    node = _parts(value)
    if node is None:
        yield value
    else:
        for part in node[1]:
            yield from leaves(part)


def tensors(value):
    return [leaf for leaf in leaves(value) if isinstance(leaf, Tensor)]


def map_leaves(f, value):
    """A tree like `value` with f(leaf) for each leaf."""
    node = _parts(value)
    if node is None:
        return f(value)
    return node[2]([map_leaves(f, part) for part in node[1]])


def signature(value):
    """What tells trees apart whose tensors differ in nothing but their data: their nodes and all
    leaves that are no tensors. What is equal to itself alone is not held by it. Raises TypeError for
    leaves that cannot be compared."""
    node = _parts(value)
    if node is not None:
        return (node[0], *(signature(part) for part in node[1]))
    kind = type(value)
    if kind is Tensor:
        return Tensor
    hash(value)  # a TypeError that says what cannot be
    if kind.__eq__ is object.__eq__ and kind.__weakrefoffset__ and not hasattr(kind, "__members__"):  # of an enum
        return kind, weakref.ref(value)
    return kind, value


def references(signature):
    """The leaves that a signature does not hold: weak references to them."""
    for part in signature[1:] if isinstance(signature, tuple) else ():
        if type(part) is weakref.ref:
            yield part
        else:
            yield from references(part)


def _is_node(signature):
    kind = signature[0] if isinstance(signature, tuple) else None
    return (kind in (tuple, list) or isinstance(kind, tuple)
            or any(hasattr(kind, mark) for mark in ("_fields", "n_sequence_fields", "__dataclass_fields__")))


def _told(signature):
    """A signature in words."""
    if signature is Tensor:
        return "a tensor"
    kind, *parts = signature
    if isinstance(kind, tuple):
        return f"a {kind[0].__name__} of {len(parts)}"
    if _is_node(signature):
        return f"a {kind.__name__} of {len(parts)}"
    if type(parts[0]) is weakref.ref:
        return getattr(parts[0](), "__name__", None) or f"one {kind.__name__}"
    text = repr(parts[0])
    return text if len(text) <= 40 else text[:39] + "\u2026"


def difference(name, before, after):
    """How the signature of what has this name differs from what it was, in words; "" if it does not."""
    if before == after:
        return ""
    if _is_node(before) and _is_node(after) and before[0] == after[0] and len(before) == len(after):
        keys = before[0][1:] if isinstance(before[0], tuple) else range(len(before) - 1)
        return next(filter(None, map(difference, (f"{name}[{key!r}]" for key in keys), before[1:], after[1:])))
    if before is None:
        return f"{name} is {_told(after)}, was not given"
    if after is None:
        return f"{name} is not given, was {_told(before)}"
    told, had = _told(after), _told(before)
    return f"{name} is {told}, was {had}" if told != had else f"{name} is another {told.rpartition(' ')[2]}"
