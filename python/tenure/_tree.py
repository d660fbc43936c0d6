"""Trees of tensors: what functions take and give. Lists, tuples, dicts, dataclasses and named tuples
of trees; anything else is a leaf."""

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
    leaves that are no tensors. Raises TypeError for leaves that cannot be compared."""
    node = _parts(value)
    if node is not None:
        return (node[0], *(signature(part) for part in node[1]))
    if isinstance(value, Tensor):
        return Tensor
    hash(value)  # a TypeError that says what cannot be
    return (type(value), value)
