"""@tn.function: compiled versions of Python functions over tensors."""

import collections
import functools
import itertools
import os
import sys
import warnings
import weakref

from . import _show, _tree
from ._tenure import Donation, Tensor, Variable, _CompiledFunction, _line

_FOLDER = os.path.dirname(__file__) + os.sep


def _warn(report):
    """A warning of the line that has called the function."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    warnings.warn(report.replace("in .batched", "in batched="), stacklevel=level)


def _described(symbol):
    """'float32[?, 3]'"""
    return f"{symbol.dtype}[{', '.join('?' if size is None else str(size) for size in symbol.shape)}]"


def _names(f):
    """Of the arguments that may be given by their place, as far as they are known."""
    code = getattr(f, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    return names[1:] if hasattr(f, "__self__") else names


class Function:
    """A compiled version of a callable over tensors, made by function().

    The first call with tensors of certain types and shapes writes down what the callable does; every
    call like it runs the plan of that. Arguments and results are trees of tensors (lists, tuples,
    dicts, dataclasses); arguments may have numbers, texts and whatever can be hashed, each value of
    which is a trace of its own; an object that is equal to itself alone is not held by it, and its
    traces end with it. A tensor given by donate() is computed in, and is empty afterwards.
    """

    def __init__(self, f, *, name=None, budget=None, recompute=0.0, effort=1, check_numbers=False,
                 batched=(), warn_after=8, warn=_warn):
        if not callable(f):
            raise TypeError(f"a function must be given, not {type(f).__name__}")
        functools.update_wrapper(self, f)
        self._f = f
        self._name = name = name or getattr(f, "__name__", "function")
        self._options = (name, budget, recompute, effort, check_numbers, list(batched), warn_after, warn)
        self._compiled = _CompiledFunction(*self._options)
        self._layouts = {}  # number of each signature, the latest last
        self._ends = {}  # by the number: references to what ends it
        self._latest = None  # of the signatures that were new
        self._numbers = itertools.count()
        self._lines = collections.deque(maxlen=64)  # (arguments, line) of the latest traces

    def _prepare(self, args, kwargs):
        """The tensors of a call, what else tells it from others, and what traces it."""
        donations, bare = {}, []

        def strip(leaf):
            if isinstance(leaf, Donation):
                tensor = leaf.tensor
                donations[len(bare)] = leaf
                bare.append(tensor)
                return tensor
            if isinstance(leaf, Tensor):
                bare.append(leaf)
            return leaf

        tree = _tree.map_leaves(strip, (args, kwargs))
        try:
            key = _tree.signature(tree)
        except TypeError as error:
            raise TypeError(f'function "{self._name}": {error}; what is no tensor must be hashable, since each value has'
                            " a trace of its own; of an array, tn.asarray() makes a tensor") from None
        layout, other = self._layouts.pop(key, None), ""
        if layout is None:
            layout, other = next(self._numbers), self._difference(key)
            self._forget_with(_tree.references(key), layout)
        self._layouts[key] = layout
        if len(self._layouts) > _MOST_LAYOUTS:
            self._forget(next(iter(self._layouts.values())))  # the one that was not asked for longest
        numbers = [float(v) for v in _tree.leaves(tree) if isinstance(v, (int, float))]
        tensors = [donations.get(i, tensor) for i, tensor in enumerate(bare)]

        def trace(symbols):
            line = _line()
            left = iter(symbols)
            args, kwargs = _tree.map_leaves(lambda v: next(left) if isinstance(v, Tensor) else v, tree)
            result = self._f(*args, **kwargs)
            result = _tree.map_leaves(lambda v: v.value if isinstance(v, Variable) else v, result)
            self._lines.append((", ".join(map(_described, symbols)), line))
            return _tree.tensors(result), _tree.map_leaves(lambda v: _HOLE if isinstance(v, Tensor) else v, result)

        return tensors, layout, numbers, other, trace

    def _difference(self, key):
        """How the arguments differ from those that were new before, tensors apart."""

        def named(key):
            (_, *args), ((_, *names), *kwargs) = key[1:]
            known = _names(self._f)
            places = [known[i] if i < len(known) else f"argument {i}" for i in range(len(args))]
            return dict(zip([*places, *names], [*args, *kwargs]))

        before, self._latest = self._latest, key
        if before is None:
            return ""
        had, has = named(before), named(key)
        told = (_tree.difference(name, had.get(name), has.get(name)) for name in {**has, **had})
        return next(filter(None, told), "")

    def _forget_with(self, references, layout):
        me = weakref.ref(self)

        def forget(_):
            if (function := me()) is not None:
                function._forget(layout)

        if watched := [weakref.ref(reference(), forget) for reference in references]:
            self._ends[layout] = watched

    def _forget(self, layout):
        """The traces of calls of a signature, and the signature."""
        self._ends.pop(layout, None)
        for key, number in list(self._layouts.items()):
            if number == layout:
                del self._layouts[key]
        self._compiled.forget(layout)

    def __call__(self, *args, **kwargs):
        tensors, frame = self._compiled.call(*self._prepare(args, kwargs))
        left = iter(tensors)
        return _tree.map_leaves(lambda v: next(left) if v is _HOLE else v, frame)

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)

    def plan(self, *args, **kwargs):
        """What such a call takes, before it is made; only types and shapes count: spec() will do."""
        return self._compiled.plan(*self._prepare(args, kwargs))

    def traces(self):
        """What was traced, and why."""
        return self._compiled.traces()

    def explain(self):
        """The same for a person to read, and which lines made the latest traces."""
        lines = "".join(f"  traced by {line}: {arguments}\n" for arguments, line in self._lines)
        return _show.Text(self._compiled.explain() + lines)

    def clear(self):
        """Forgets all traces."""
        self._layouts.clear()
        self._ends.clear()
        self._latest = None
        self._compiled.clear()
        self._lines.clear()

    def __reduce__(self):
        """One of a module's goes by its name, as functions do; any other, as a layer's, has traces of its own."""
        found = sys.modules.get(self.__module__)
        path = getattr(self, "__qualname__", "")  # a partial() has none
        for name in path.split("."):
            found = getattr(found, name, None)
        return path if found is self else (_again, (self._f, *self._options))

    def __repr__(self):
        return f"<function {self.__name__}, compiled>"

    _repr_html_ = _show.html_by("of_function")


def _again(f, name, budget, recompute, effort, check_numbers, batched, warn_after, warn):
    return Function(f, name=name, budget=budget, recompute=recompute, effort=effort, check_numbers=check_numbers,
                    batched=batched, warn_after=warn_after, warn=warn)


_MOST_LAYOUTS = 1024
_HOLE = object()  # where a tensor stands in a result


def function(f=None, **options):
    """Makes a compiled version of a callable: `@tn.function`, or `@tn.function(budget="1 GiB")`.

    Options: name; budget, the most bytes a call may take; recompute, the share of its time that a call
    may spend on computing parts of itself twice; effort; check_numbers, which ends a run at the first
    NaN or infinity; batched, the tensors whose first size differs from call to call; warn_after."""
    if f is None:
        return lambda f: Function(f, **options)
    return Function(f, **options)
