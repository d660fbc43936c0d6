"""Methods of tensors and variables that are written in Python, or have a second name."""

import copyreg
import functools
import operator as _operator

from . import _foreign
from ._tenure import Tensor, Variable, _add_tensor_method, tensor

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


def _in_place(operator):
    """`w += 1` changes what the variable holds, as it does with a tensor."""

    def method(variable, other):
        variable.assign(operator(variable.value, other))
        return variable

    return method


def _set_item(variable, key, value):
    changed = variable.value.clone()
    changed[key] = value
    variable.assign(changed)


def _assign(name):
    plain = getattr(Variable, name)

    @functools.wraps(plain)
    def assign(variable, value):
        """Numbers and lists of numbers become the variable's type; tensors and arrays must be of it."""
        is_bare = isinstance(value, (int, float, list, tuple))
        return plain(variable, tensor(value, variable.dtype) if is_bare else value)

    return assign


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor"):
    setattr(Variable, f"__i{_name}__", _in_place(getattr(_operator, f"__{_name}__")))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Variable, f"__{_name}__", lambda variable, other, _compare=getattr(_operator, _name): _compare(variable.value, other))
for _name in ("assign", "assign_add", "assign_sub"):
    setattr(Variable, _name, _assign(_name))
Variable.__setitem__ = _set_item
copyreg.pickle(Variable, lambda variable: (Variable, (variable.value, variable.name, variable.trainable)))
