"""Tenure: a tensor framework in which the lifetime of every byte is known.

    import tenure as tn

    x = tn.tensor([[1.0, 2.0], [3.0, 4.0]])
    print(tn.tanh(x @ x + 1), tn.memory().bytes)

Ops are those of `python -m tenure ops`, as functions here and as methods of tensors. Every error,
recording and report names lines of Python.
"""

import os as _os

from . import _operators
from ._tenure import *
from ._tenure import IndexError, ValueError  # as in C++; see the errors in docs/python.md
from ._tenure import _set_operand_finder, _set_package_folder

_set_package_folder(_os.path.dirname(__file__) + _os.sep)
if _operators.IS_KNOWN:
    _set_operand_finder(_operators.operand_places)

from . import nn  # noqa: E402
from ._function import Function, function  # noqa: E402
from ._gradients import GradientTape, custom_gradient, grad, value_and_grad  # noqa: E402
from ._graph import Session, cond, scan, while_loop  # noqa: E402
from ._lifetimes import LeakGuard, budget, profile, scope, tidy  # noqa: E402

std = stddev  # noqa: F405
__version__ = "0.1.0"
