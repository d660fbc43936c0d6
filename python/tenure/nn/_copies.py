"""Copies of layers: pickle, copy.copy and copy.deepcopy.

A layer of C++'s is made again as it was made, and given the values; what it draws for that is not taken from the
default generator. One of Python's is given its attributes, without its __init__().
"""

import copyreg
import functools
import weakref

from .._tenure import _nn, default_generator

_made = weakref.WeakKeyDictionary()  # of each layer of C++'s: what made it, and of which arguments


def _known(args, kwargs):
    """What a layer is made of again: what its parameters hold at first is no matter."""
    return args, {name: value for name, value in kwargs.items() if not name.endswith("initializer")}


def _remember_class(kind):
    plain = kind.__init__

    @functools.wraps(plain)
    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        _made[self] = (kind, *_known(args, kwargs))

    kind.__init__ = __init__


def _remember_function(name):
    plain = getattr(_nn, name)

    @functools.wraps(plain)
    def make(*args, **kwargs):
        layer = plain(*args, **kwargs)
        _made[layer] = (name, *_known(args, kwargs))
        return layer

    setattr(_nn, name, make)


def _make_again(kind, maker, args, kwargs):
    generator = default_generator()
    before = generator.state
    try:
        if isinstance(maker, str):
            return getattr(_nn, maker)(*args, **kwargs)
        layer = kind.__new__(kind)
        maker.__init__(layer, *args, **kwargs)
        return layer
    finally:
        generator.state = before


def _reduce(layer, protocol):
    made = _made.get(layer)
    if made is None:
        raise TypeError(f"nobody knows how this {layer.kind} was made, so that it cannot be copied")
    values = {named.name: named.variable.value for named in layer.variables()}
    return _make_again, (type(layer), *made), (values, layer._flags(), getattr(layer, "__dict__", {}))


def _set_state(layer, state):
    values, flags, attributes = state
    layer.load_state_dict(values)
    layer._set_flags(flags)
    if attributes:  # of a class that derives from C++'s
        vars(layer).update(attributes)


def reduce_python(layer):
    """Of a layer that is written in Python: its class, its attributes and whether it is training."""
    return copyreg.__newobj__, (type(layer),), (list(vars(layer).items()), layer._flags())


def remember():
    """From here on layers of C++'s know how they were made."""
    for kind in vars(_nn).values():
        if isinstance(kind, type) and issubclass(kind, _nn.LayerBase) and not issubclass(kind, _nn.PythonLayer):
            if "__init__" in vars(kind):
                _remember_class(kind)
    for name in _nn._layer_functions:
        _remember_function(name)
    _nn.LayerBase.__reduce_ex__ = _reduce
    _nn.LayerBase.__setstate__ = _set_state
