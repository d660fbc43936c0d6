"""Layers that are written in Python."""

import functools
import weakref
from collections.abc import Mapping

from .. import _tree
from .._tenure import Tensor, Variable, asarray
from .._tenure._nn import LayerBase, PythonLayer
from . import _copies


class Parameter:
    """What a layer's parameter holds at first: `self.scale = tn.nn.Parameter(tn.ones(8))` makes the
    attribute a Variable of the layer's. With buffer=True it is one that training leaves as it is."""

    def __init__(self, initial, *, buffer=False):
        self.initial = initial if isinstance(initial, Tensor) else asarray(initial)
        self.buffer = buffer


_KINDS = (LayerBase, Variable, Parameter, list, tuple, dict)  # what can have parts of a model


def _entries(name, value, depth=0):
    """(name in the model, part) of the layers that an attribute has, and of the layers and variables in lists,
    tuples and dicts that it has, however deep."""
    if isinstance(value, LayerBase):
        yield name, value
        return
    if isinstance(value, dict):
        items, separator = value.items(), "_"
    elif isinstance(value, (list, tuple)) and depth < 8:
        items, separator = enumerate(value), "_" if depth else ""
    else:
        return
    for key, item in items:
        if isinstance(item, Parameter):
            raise TypeError(f"{name}[{key!r}] is a Parameter, which an attribute alone can be: take tn.Variable() there")
        if isinstance(item, Variable):
            yield f"{name}{separator}{key}", item
        elif isinstance(item, _KINDS):
            yield from _entries(f"{name}{separator}{key}", item, depth + 1)


def _is_to_fill(value):
    """Whether it is an empty list, or has one."""
    return type(value) is list and (not value or any(map(_is_to_fill, value)))


class _List(list):
    """A list that a model has as an attribute, or in one: what is added later is a part of the model, too."""

    def __init__(self, owner, name, values):
        super().__init__(values)
        self._owner, self._name, self._has_parts = weakref.ref(owner), name, True
        self._wrap()

    def _wrap(self):
        for i, value in enumerate(self):
            if type(value) is list:
                list.__setitem__(self, i, _List(self._owner(), self._name, value))

    def _changing(change):
        is_append = change is list.append

        def method(self, *args, **kwargs):
            owner = self._owner()
            if owner is None or (is_append and not self._has_parts and not isinstance(args[0], _KINDS)):
                return change(self, *args, **kwargs)
            whole = vars(owner).get(self._name)  # that has this list, unless it has another one by now
            before, parts = list(self), list(_entries(self._name, whole))
            result = change(self, *args, **kwargs)
            try:
                self._wrap()
                left = list(_entries(self._name, whole))
                owner._replace(parts, left)
                self._has_parts = len(left) > 0
            except BaseException:
                list.__setitem__(self, slice(None), before)
                raise
            return result

        return functools.wraps(change)(method)

    for _name in ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "__setitem__", "__delitem__", "__iadd__"):
        locals()[_name] = _changing(getattr(list, _name))
    del _name, _changing

    def __reduce_ex__(self, protocol):
        return list, (list(self),)


class Layer(PythonLayer):
    """A part of a model, or the whole of it, with a forward() of its own:

        class Net(tn.nn.Layer):
            def __init__(self):
                super().__init__()
                self.hidden = tn.nn.Dense(784, 128)
                self.scale = tn.nn.Parameter(tn.ones(10))

            def forward(self, x):
                return tn.tanh(self.hidden(x))

    Layers, Parameters and Variables that are set as attributes are its parts, under these names, and so are layers
    and Variables in lists and dicts; to set one again replaces it. forward() may take and give several tensors."""

    def __init__(self):
        super().__init__(type(self).__name__)
        self._set_object(self)

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        tensors = _tree.tensors((args, kwargs))
        if not tensors and len(args) == 1 and not kwargs:
            args = tensors = (asarray(args[0]),)
        result = self._call(tensors, args, kwargs)
        if _tree.tensors(result):
            return result
        try:
            return asarray(result)
        except TypeError:
            raise TypeError(f"{type(self).__name__}.forward() must give tensors, not {_kind(result)}") from None

    def _replace(self, before, after):
        """Of pairs (name, part): as a whole or not at all. What is in both stays."""
        before, after = dict(before), dict(after)
        gone = [name for name, part in before.items() if after.get(name) is not part]
        for name in gone:
            self._remove(name)
        added = []
        try:
            for name, part in after.items():
                if before.get(name) is not part:
                    self._put(name, part)
                    added.append(name)
        except BaseException:
            for name in added:
                self._remove(name)
            for name in gone:
                self._put(name, before[name])
            raise

    def _put(self, name, part):
        self._adopt(name, part) if isinstance(part, Variable) else self._add(name, part)

    def __setattr__(self, name, value):
        if isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"'{name}' is taken: every layer says its {name} by it; choose another name")
        before = vars(self).get(name)
        if isinstance(before, Variable) and not isinstance(value, (Parameter, Variable, LayerBase)) and value is not None:
            raise TypeError(f"{name} is a parameter of {type(self).__name__}: self.{name}.assign(value) changes it, and"
                            f" self.{name} = tn.nn.Parameter(value) puts another in its place")
        if type(value) is list and (_is_to_fill(value) or any(_entries(name, value))):
            value = _List(self, name, value)
        if isinstance(value, Parameter):
            if before is not None:
                delattr(self, name)
            value = self._add_parameter(name, value.initial, value.buffer)
        elif value is not before:
            if isinstance(before, Variable):
                self._remove(name)
            self._replace(_entries(name, before), _entries(name, value))
            if isinstance(value, Variable):
                self._adopt(name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        before = vars(self).get(name)
        super().__delattr__(name)
        if isinstance(before, Variable):
            self._remove(name)
        self._replace(_entries(name, before), ())

    def __reduce_ex__(self, protocol):
        return _copies.reduce_python(self)

    def __setstate__(self, state):
        attributes, flags = state
        Layer.__init__(self)
        for name, value in attributes:
            setattr(self, name, value)
        self._set_flags(flags)

    def _parts(self):
        """(name, part) of what summaries and repr() show."""
        for name, value in vars(self).items():
            if isinstance(value, Variable):
                yield name, value
            else:
                yield from _entries(name, value)

    def __repr__(self):
        lines = [f"{name}: {_told(part)}".replace("\n", "\n  ") for name, part in self._parts()]
        return "\n  ".join([f"{self.kind}(", *lines]) + "\n)" if lines else f"{self.kind}()"


def _kind(value):
    return "None" if value is None else type(value).__name__


def _told(part):
    if isinstance(part, Variable):
        return f"{part.dtype}{list(part.shape)}"
    return repr(part) if isinstance(part, LayerBase) else getattr(part, "__name__", repr(part))


class Sequential(Layer):
    """Layers one after the other, named "0", "1", ...; a function counts as one without parameters. They may come
    as a list."""

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            layers = layers[0]
        object.__setattr__(self, "_layers", [])
        for layer in layers:
            self.append(layer)

    def __setstate__(self, state):
        attributes, flags = state
        Layer.__init__(self)
        for name, value in attributes:
            if name == "_layers":
                object.__setattr__(self, name, [])
                for layer in value:
                    self.append(layer)
            else:
                setattr(self, name, value)
        self._set_flags(flags)

    def append(self, layer):
        if isinstance(layer, LayerBase):
            self._add(str(len(self._layers)), layer)
        elif not callable(layer):
            raise TypeError(f"a layer or a function must be given, not {type(layer).__name__}")
        self._layers.append(layer)

    def forward(self, x):
        for layer in self._layers:
            x = layer(x)
        return x

    def _parts(self):
        return ((str(i), layer) for i, layer in enumerate(self._layers))

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, i):
        return Sequential(*self._layers[i]) if isinstance(i, slice) else self._layers[i]

    def __setitem__(self, i, layer):
        """Puts another layer or function in the place of one."""
        i = range(len(self._layers))[i]
        if not callable(layer):
            raise TypeError(f"a layer or a function must be given, not {type(layer).__name__}")
        self._replace(_entries(str(i), self._layers[i]), _entries(str(i), layer))
        self._layers[i] = layer


def _require_layer(model):
    if not isinstance(model, LayerBase):
        raise TypeError(f"model must be a Layer, not {type(model).__name__}")


def state_dict(model):
    """What parameters and buffers hold, by their paths."""
    _require_layer(model)
    return {named.name: named.variable.value for named in model.variables()}


def load_state_dict(model, values):
    """The reverse: all names, and no others, must be there; else nothing has changed."""
    _require_layer(model)
    if not isinstance(values, Mapping):
        raise TypeError(f"values must be a dict of tensors by name, not {type(values).__name__}")
    variables = {named.name: named.variable for named in model.variables()}
    missing, unknown = sorted(variables.keys() - values.keys()), sorted(values.keys() - variables.keys())
    if missing or unknown:
        told = [f"values lacks {', '.join(missing)}"] * bool(missing) + [f"model lacks {', '.join(unknown)}"] * bool(unknown)
        raise KeyError(f"load_state_dict(): {'; '.join(told)}")
    for name, variable in variables.items():
        value = asarray(values[name])
        if value.shape != variable.shape or value.dtype != variable.dtype:
            raise ValueError(f"{name}: {value.dtype}{list(value.shape)} for {variable.dtype}{list(variable.shape)}")
    for name, variable in variables.items():
        variable.assign(asarray(values[name]))


def _refuse_forward(kind, **options):
    """C++ applies its own layers: a forward() of Python's would be passed over without a word."""
    super(LayerBase, kind).__init_subclass__(**options)
    if "forward" in vars(kind) and not issubclass(kind, PythonLayer):
        raise TypeError(f"{kind.__name__} has a forward(), which {kind.__base__.__name__} does not call; derive from"
                        f" tn.nn.Layer and have a {kind.__base__.__name__} as an attribute")


LayerBase.__init_subclass__ = classmethod(_refuse_forward)
LayerBase.state_dict = state_dict
LayerBase.load_state_dict = load_state_dict
