"""Graphs with sessions, and branches and loops that depend on data, over trees of tensors."""

from . import _tree
from ._tenure import Session as _Session
from ._tenure import Tensor, _cond, _scan, _while, asarray


def _feeds(given):
    if given is not None and not isinstance(given, dict):
        raise TypeError(f"feeds must be a dict of values by placeholder or name, not {type(given).__name__}")
    return given or {}


def _require_function(what, f):
    if not callable(f):
        raise TypeError(f"{what} must be a function, not {type(f).__name__}")


class Session(_Session):
    """Runs a graph: `session.run(fetches, {x: value})`. Nothing is allocated before run()."""

    def run(self, fetches, feeds=None):
        """The values of the fetched symbols, a tree like `fetches`. Feeds are by placeholder or name."""
        found = iter(self._run(_tree.tensors(fetches), _feeds(feeds)))
        return _tree.map_leaves(lambda v: next(found) if isinstance(v, Tensor) else v, fetches)

    def plan(self, fetches, feeds=None):
        """What run() would take; specs will do for feeds."""
        return self._plan(_tree.tensors(fetches), _feeds(feeds))


class _Flat:
    """A callable over trees as one over lists of their tensors. It keeps the last result, for fill()."""

    def __init__(self, what, f, *like):
        _require_function(what, f)
        self.f, self.like, self.result = f, like, None

    def __call__(self, tensors):
        left = iter(tensors)
        trees = [_tree.map_leaves(lambda v: next(left) if isinstance(v, Tensor) else v, t) for t in self.like]
        self.result = _tree.map_leaves(lambda v: v if v is None else asarray(v), self.f(*trees))
        return _tree.tensors(self.result)

    def fill(self, tensors):
        left = iter(tensors)
        return _tree.map_leaves(lambda v: next(left) if isinstance(v, Tensor) else v, self.result)


def cond(predicate, then, otherwise, *operands):
    """then(*operands) where the predicate, one element of bool, is true, else otherwise(*operands). In
    graphs and traced functions both are written down, and a run decides."""
    yes, no = _Flat("then", then, *operands), _Flat("otherwise", otherwise, *operands)
    results = _cond(predicate, yes, no, _tree.tensors(operands))
    return (yes if yes.result is not None else no).fill(results)


def while_loop(condition, body, state, max_iterations=0):
    """The state after `state = body(state)` as long as condition(state) holds; its types and shapes stay."""
    test, step = _Flat("condition", condition, state), _Flat("body", body, state)
    results = _while(test, step, _tree.tensors(state), max_iterations)
    left = iter(results)
    return _tree.map_leaves(lambda v: next(left) if isinstance(v, Tensor) else v, state)


def scan(body, carry, xs):
    """`carry, y = body(carry, x)` for each x along the first axis of xs; gives the carry at the end and
    the stack of the y."""
    _require_function("body", body)
    step = _Flat("body", lambda c, x: tuple(body(c, x)), carry, xs)
    return step.fill(_scan(step, _tree.tensors(carry), _tree.tensors(xs)))
