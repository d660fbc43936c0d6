"""@tn.op: ops that are written in Python, and run wherever ops run."""

import functools
from typing import NamedTuple, Optional, Tuple

from . import _tree
from ._tenure import DType, DTypeError, GradientError, ShapeError, Tensor, _CustomOp, _PythonOp, asarray


class Spec(NamedTuple):
    """What is known of a tensor before it is computed; a size is None if that is not known yet."""

    shape: Tuple[Optional[int], ...]
    dtype: DType


def _told(shape, dtype):
    return f"{dtype}[{', '.join('?' if n is None else str(n) for n in shape)}]"


def _spec_of(name, given):
    """What a function that says types and shapes may give: a Spec, a tensor, or (shape, dtype)."""
    if isinstance(given, Tensor):
        return Spec(given.shape, given.dtype)
    if not (isinstance(given, tuple) and len(given) == 2):
        raise TypeError(f"{name}: infer must give a Spec, or (shape, dtype), for each output, not {given!r}")
    shape, dtype = given
    if isinstance(shape, (list, tuple)) and all(n is None or isinstance(n, int) for n in shape):
        if any(n is not None and n < 0 for n in shape):
            raise ValueError(f"{name}: infer gave a negative size: {tuple(shape)}")
        return Spec(tuple(shape), dtype)
    raise TypeError(f"{name}: infer must give a shape of ints, not {shape!r}")


class _Functions:
    """What computes a call of an op: graphs and tapes hold it as long as they hold the call. It holds
    no op, so that neither keeps the other alive."""

    def __init__(self, name, compute, infer, gradient, outputs):
        self.name, self.compute, self.infer, self.gradient, self.outputs = name, compute, infer, gradient, outputs

    def _infer_all(self, inputs):
        """(shape, dtype) of each output, of those of the inputs."""
        specs = [Spec(*spec) for spec in inputs]
        if "bfloat16" in [spec.dtype for spec in specs]:
            raise DTypeError(f"{self.name}: bfloat16 is no type of NumPy's: cast() it first")
        given = self.infer(*specs)
        given = [given] if self.outputs == 1 else list(given)
        if len(given) != self.outputs:
            raise ValueError(f"{self.name}: infer gave {len(given)} outputs instead of {self.outputs}")
        return [tuple(_spec_of(self.name, one)) for one in given]

    def _compute_all(self, inputs, outputs):
        """Arrays that have the types and shapes of `outputs`, row by row in memory."""
        import numpy as np

        arrays = [np.ndarray(shape, dtype.name, buffer=data) for data, (shape, dtype) in inputs]
        made = self.compute(*arrays)
        made = [made] if self.outputs == 1 else list(made)
        if len(made) != self.outputs:
            raise ValueError(f"{self.name} gave {len(made)} results instead of {self.outputs}")
        results = []
        for result, (shape, dtype) in zip(made, outputs):
            array = np.asarray(result)
            if array.shape != shape:
                raise _with_facts(ShapeError(
                    f"{self.name} gave {_told(array.shape, array.dtype)}, and infer said {_told(shape, dtype)}"),
                    op=self.name, shapes=[array.shape, shape])
            if array.dtype != dtype.name:
                raise _with_facts(DTypeError(
                    f"{self.name} gave {_told(array.shape, array.dtype)}, and infer said {_told(shape, dtype)}"),
                    op=self.name)
            results.append(np.ascontiguousarray(array))
        return results

    def _gradients_of_all(self, specs, inputs, outputs, gradients):
        """One for each input, or None."""
        made = self.gradient(inputs, outputs, gradients)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(made) != len(specs):
            raise GradientError(f"the gradient of {self.name} gave {len(made)} gradients for {len(specs)} inputs")
        made = [one if one is None else asarray(one) for one in made]
        for i, (one, (shape, dtype)) in enumerate(zip(made, specs)):
            if one is not None and (one.shape != shape or one.dtype != dtype):
                raise GradientError(f"the gradient of {self.name} for input {i} is {_told(one.shape, one.dtype)}, "
                                    f"the input is {_told(shape, dtype)}")
        return made


def _with_facts(error, **facts):
    for name, value in facts.items():
        setattr(error, name, value)
    return error


class Op:
    """What op() makes of a function."""

    def __init__(self, compute, infer, *, name=None, outputs=1, gradient=None, reads="inputs"):
        functools.update_wrapper(self, compute)
        if not callable(compute) or not callable(infer) or not (gradient is None or callable(gradient)):
            raise TypeError("an op takes functions: what computes it, infer, and gradient or None")
        import inspect  # not before it is needed: it takes some milliseconds

        name = name or compute.__name__
        self._outputs = outputs
        try:
            signature = f"{name}{inspect.signature(compute)}"
        except (TypeError, ValueError):  # of a builtin
            signature = f"{name}(...)"
        self._op = _CustomOp(name, signature, (compute.__doc__ or name).split("\n")[0], outputs,
                             None if gradient is None else reads)
        self._functions = _PythonOp(_Functions(name, compute, infer, gradient, outputs))

    def __call__(self, *inputs):
        if not inputs:
            raise TypeError(f"{self.__name__} takes at least one tensor")
        results = self._op.call(self._functions, [asarray(x) for x in _tree.leaves(list(inputs))])
        return results[0] if self._outputs == 1 else tuple(results)

    def __repr__(self):
        return f"<op {self.__name__}, of Python's>"


def op(infer, *, name=None, outputs=1, gradient=None, reads="inputs"):
    """Makes an op of a function of NumPy arrays; it runs now, in graphs and in compiled functions, and
    under a tape if it has a gradient.

        @tn.op(infer=lambda x: x, gradient=lambda inputs, outputs, gradients: 3 * inputs[0] ** 2 * gradients[0])
        def cube(x):
            return x**3

    infer(*specs) gives the Spec of the result, or of each of several `outputs`: a spec that it was given,
    or (shape, dtype). The function's arguments are read-only arrays of its own; what it gives must be as
    infer said. gradient(inputs, outputs, gradients), made of ops, gives the gradient of the input, or a
    list of one for each, where None is a zero; `reads` says what of it is held for that: 'inputs',
    'outputs', 'both' or 'nothing', and what is not held is None."""
    return lambda compute: Op(compute, infer, name=name, outputs=outputs, gradient=gradient, reads=reads)
