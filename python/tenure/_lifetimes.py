"""Lifetimes in Python's words: scopes, budgets, leak guards, recordings."""

import gc

from . import _report, _show, _tenure, _tree
from ._tenure import Budget, LeakError, Scope, _LeakGuard, format_bytes, memory


def scope(name=None):
    """`with tn.scope("step"):` disposes, at its end, every tensor that this thread made in it and that
    still has a name, except what was kept or escaped. The name is that of what is made in it, in
    reports and errors."""
    return Scope(name)


def tidy(f, *args, **kwargs):
    """Calls f and disposes every tensor made in it, except those in its result and those that were
    kept; also when an exception leaves. `tn.tidy(lambda: ...)`, or with arguments for f."""
    with Scope(None) as inside:
        result = f(*args, **kwargs)
        for tensor in _tree.tensors(result):
            inside.escape(tensor)
        return result


def budget(name, limit, *, evict=False, device=None):
    """`with tn.budget("request", "64 MiB") as b:` limits what this thread allocates in it. Past it an
    allocation raises OutOfMemory, which is a MemoryError, and all tensors stay as they are. With
    `evict` it first gives up results that can be computed again."""
    return Budget(name, limit, evict, device)


def holders(tensor):
    """Everyone who holds the data that a tensor has, or had before it was disposed."""
    return _show.Holders(_tenure.holders(tensor))


def live_tensors():
    """All tensors of the process that have data, oldest first."""
    return _show.LiveTensors(_tenure.live_tensors())


def profile(file="run.tenure", *, stacks=False):
    """`with tn.profile("run.tenure") as run:` records what happens to memory; `python -m tenure report`
    and its like read it. `run` is its report page in a notebook, and run.report() has it elsewhere."""
    return _report.Recording(file, stacks)


class LeakGuard(_LeakGuard):
    """Proves that a loop does not hold more and more: call mark() at the end of each iteration.

    Growth that goes on raises LeakError, which names the lines. What only Python's collector will
    free is told apart: 'held by a reference cycle'."""

    def mark(self):
        try:
            super().mark()
        except LeakError as error:
            before = memory()
            gc.collect()
            after = memory()
            tensors, size = before.tensors - after.tensors, before.bytes - after.bytes
            if tensors <= 0:
                raise
            found = LeakError(
                f"{error}\n  held by a reference cycle: the collector freed {tensors} tensors,"
                f" {format_bytes(size)}; break the cycle, or dispose() what it holds"
            )
            found.growing = error.growing
            raise found from None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
