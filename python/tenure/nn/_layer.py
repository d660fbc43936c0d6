"""Layers that are written in Python."""

from .._tenure import Tensor, Variable, asarray
from .._tenure._nn import LayerBase, PythonLayer


class Parameter:
    """What a layer's parameter holds at first: `self.scale = tn.nn.Parameter(tn.ones(8))` makes the
    attribute a Variable of the layer's. With buffer=True it is one that training leaves as it is."""

    def __init__(self, initial, *, buffer=False):
        self.initial = initial if isinstance(initial, Tensor) else asarray(initial)
        self.buffer = buffer


class Layer(PythonLayer):
    """A part of a model, or the whole of it, with a forward() of its own:

        class Net(tn.nn.Layer):
            def __init__(self):
                super().__init__()
                self.hidden = tn.nn.Dense(784, 128)
                self.scale = tn.nn.Parameter(tn.ones(10))

            def forward(self, x):
                return tn.tanh(self.hidden(x))

    Layers, lists of layers and Parameters that are set as attributes are its parts, under these names."""

    def __init__(self):
        super().__init__(type(self).__name__)
        self._set_object(self)

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            value = self._add_parameter(name, value.initial, value.buffer)
        elif isinstance(value, LayerBase):
            self._add(name, value)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, LayerBase) for v in value):
            for i, part in enumerate(value):
                self._add(f"{name}{i}", part)
        super().__setattr__(name, value)

    def _parts(self):
        """(name, part) of what summaries and repr() show."""
        for name, value in vars(self).items():
            if isinstance(value, LayerBase):
                yield name, value
            elif isinstance(value, (list, tuple)) and value and all(isinstance(v, LayerBase) for v in value):
                yield from ((f"{name}{i}", part) for i, part in enumerate(value))
            elif isinstance(value, Variable):
                yield name, value

    def __repr__(self):
        lines = [f"{name}: {_told(part)}".replace("\n", "\n  ") for name, part in self._parts()]
        return "\n  ".join([f"{self.kind}(", *lines]) + "\n)" if lines else f"{self.kind}()"


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
        return self._layers[i]


def state_dict(model):
    """What parameters and buffers hold, by their paths."""
    return {named.name: named.variable.value for named in model.variables()}


def load_state_dict(model, values):
    """The reverse: all names, and no others, must be there; else nothing has changed."""
    variables = {named.name: named.variable for named in model.variables()}
    if missing := sorted(variables.keys() ^ values.keys()):
        raise KeyError(f"names that only one of model and values has: {', '.join(missing)}")
    for name, variable in variables.items():
        value = asarray(values[name])
        if value.shape != variable.shape or value.dtype != variable.dtype:
            raise ValueError(f"{name}: {value.dtype}{list(value.shape)} for {variable.dtype}{list(variable.shape)}")
    for name, variable in variables.items():
        variable.assign(asarray(values[name]))


LayerBase.state_dict = state_dict
LayerBase.load_state_dict = load_state_dict
