"""What the tests of the Python package share."""

import gc
import sys
import unittest

import tenure as tn


def here(offset=0):
    """The line that calls this, as sites are written: 'ops_test.py:12'."""
    frame = sys._getframe(1)
    name = frame.f_code.co_filename.rsplit("/", 1)[-1]
    return f"{name}:{frame.f_lineno + offset}"


class TestCase(unittest.TestCase):
    """Every test leaves the ledger as it found it."""

    def run(self, result=None):
        before = tn.memory()
        outcome = super().run(result)
        gc.collect()  # classes that tests make are cycles
        after = tn.memory()
        if result is not None and result.wasSuccessful() and after.tensors > before.tensors:
            result.addFailure(self, (AssertionError, AssertionError(
                f"{after.tensors - before.tensors} tensors are left"), None))
        return outcome

    def assert_list(self, tensor, expected):
        self.assertEqual(tensor.tolist(), expected)

    def allocations(self, f):
        """How many storages f() allocates, and its result."""
        before = tn.memory().allocations
        result = f()
        return tn.memory().allocations - before, result
