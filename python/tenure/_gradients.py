"""Gradients: tapes, and functions that give them."""

import functools

from . import _tree
from ._tenure import Tensor, Variable, _call_custom, _CustomIdentity, _Tape, asarray


class GradientTape(_Tape):
    """`with tn.GradientTape() as tape:` takes note of what this thread computes from the tensors that
    it watches, and from trainable variables; tape.gradient() computes gradients of it, in the `with`
    or after it. It holds the data that the way back needs and nothing else: saved() lists it."""

    def __init__(self, persistent=False, watch_variables=True):
        super().__init__(persistent, watch_variables)

    def watch(self, sources):
        """From here on: a tensor, a variable, or a tree of them."""
        for source in _tree.leaves(sources):
            self._watch(source)

    def gradient(self, target, sources, *, unconnected="error", output_gradient=None):
        """The gradient of the target by each source: a tree like that of the sources. What the target
        does not depend on is an error, or, by `unconnected`, zeros or None."""
        flat = [s for s in _tree.leaves(sources)]
        for source in flat:
            if not isinstance(source, (Tensor, Variable)):
                raise TypeError(f"a source must be a Tensor or a Variable, not {type(source).__name__}")
        found = iter(self._gradients(target, flat, unconnected, output_gradient))
        return _tree.map_leaves(lambda _: next(found), sources)


def value_and_grad(f, argnums=0):
    """A function that gives (f(...), the gradient of it by argument `argnums`, or by several)."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def both(*args, **kwargs):
        args = list(args)
        for i in places:
            args[i] = _tree.map_leaves(
                lambda v: v if isinstance(v, (Tensor, Variable)) else asarray(v), args[i])
        sources = [args[i] for i in places]
        with GradientTape() as tape:
            tape.watch(sources)
            value = f(*args, **kwargs)
        gradients = tape.gradient(value, sources)
        return value, gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return both


def grad(f, argnums=0):
    """A function that gives the gradient of f by argument `argnums`, or by several."""
    both = value_and_grad(f, argnums)

    @functools.wraps(f)
    def gradient(*args, **kwargs):
        return both(*args, **kwargs)[1]

    return gradient


class custom_gradient:
    """A function of tensors whose gradient is not that of the ops it is made of.

    forward(*inputs) gives (result, saved), where `saved` is a list of tensors for the way back;
    backward(saved, gradient) gives the gradient of the input, or a list of one for each of several,
    where None is a zero. Both are made of ops, so that the gradient can itself be differentiated."""

    def __init__(self, forward, backward):
        self._forward, self._backward = forward, backward
        self._identity = _CustomIdentity()

    def __call__(self, *inputs):
        inputs = [asarray(x) for x in inputs]

        def backward(saved, gradient):
            made = self._backward(saved, gradient)
            return list(made) if isinstance(made, (list, tuple)) else [made]

        return _call_custom(self._identity, inputs, lambda xs: self._forward(*xs), backward)
