"""Methods of tensors and variables that are written in Python, or have a second name."""

import copyreg

from . import _foreign
from ._tenure import Tensor, Variable, _add_tensor_method

for _name, _same in {"astype": "cast", "copy": "clone", "std": "stddev"}.items():  # as NumPy calls them
    _add_tensor_method(_name, Tensor.__dict__[_same])
for _name, _here in _foreign.METHODS.items():
    _add_tensor_method(_name, _foreign.Foreign(_name, _here))
_add_tensor_method("__dir__", lambda x: [name for name in object.__dir__(x) if name not in _foreign.METHODS])


def _of_value(variable, name):
    """A variable has the methods of what it holds: `w.sum()` is `w.value.sum()`."""
    if name.startswith("_") or not hasattr(Tensor, name):
        raise AttributeError(f"a variable has no '{name}'")
    return getattr(variable.value, name)


Variable.__getattr__ = _of_value
Variable.__float__ = lambda variable: float(variable.value)
Variable.__int__ = lambda variable: int(variable.value)
Variable.__bool__ = lambda variable: bool(variable.value)
Variable.__iter__ = lambda variable: iter(variable.value)
copyreg.pickle(Variable, lambda variable: (Variable, (variable.value, variable.name, variable.trainable)))
