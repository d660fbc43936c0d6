"""Tenure: a tensor framework in which the lifetime of every byte is known.

    import tenure as tn

    x = tn.tensor([[1.0, 2.0], [3.0, 4.0]])
    print(tn.tanh(x @ x + 1), tn.memory().bytes)

Ops are those of `python -m tenure ops`, as functions here and as methods of tensors. Every error,
recording and report names lines of Python.
"""

import os as _os

from . import _foreign, _methods, _operators, _refusals, _show
from ._tenure import *
from ._tenure import IndexError, ValueError  # as in C++; see the errors in docs/python.md
from ._tenure import (
    _set_file_namer,
    _set_library_folder,
    _set_operand_finder,
    _set_package_folder,
    _set_refusal_writer,
)

_set_package_folder(_os.path.dirname(__file__) + _os.sep)
_set_library_folder(_os.path.dirname(_os.__file__) + _os.sep)
_set_file_namer(_show.cell_name)
_set_refusal_writer(_refusals.sentence)
if _operators.IS_KNOWN:
    _set_operand_finder(_operators.operand_places)

from . import data, nn  # noqa: E402
from ._function import Function, function  # noqa: E402
from ._gradients import GradientTape, custom_gradient, grad, value_and_grad  # noqa: E402
from ._graph import Session, cond, scan, while_loop  # noqa: E402
from ._lifetimes import (  # noqa: E402
    LeakGuard,
    budget,
    holders,
    live_tensors,
    profile,
    scope,
    tidy,
)
from ._op import Spec, op  # noqa: E402
from ._report import Report, report  # noqa: E402

std = stddev  # noqa: F405
globals()["__getattr__"] = _foreign.missing("tenure", _foreign.FUNCTIONS)  # unseen by checkers of types
__version__ = "0.1.0"
