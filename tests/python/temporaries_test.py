"""What has no name is computed in place, and what somebody else may hold is not."""

import functools
import subprocess
import tempfile
import unittest
import weakref

import numpy as np

import tenure as tn
from support import TestCase


class Temporaries(TestCase):
    def setUp(self):
        self.a, self.b, self.c = tn.ones((64, 64)), tn.ones((64, 64)), tn.ones(64)

    def tearDown(self):
        del self.a, self.b, self.c

    def test_a_chain_allocates_once(self):
        a, b, c = self.a, self.b, self.c
        warm = tn.tanh(a @ b + c)
        before = tn.memory().allocations
        result = tn.tanh(a @ b + c)
        made = tn.memory().allocations - before
        # The product, and what the kernel packs; not the sum, nor the tanh.
        before = tn.memory().allocations
        product = a @ b
        self.assertEqual(made, tn.memory().allocations - before)
        del warm, result, product

    def test_each_kind_of_temporary(self):
        x = self.a
        for i, f in enumerate([lambda: tn.exp(x + 1), lambda: -(x + 1), lambda: (x + 1) * 2, lambda: 2 - (x + 1),
                  lambda: (x + 1).tanh(), lambda: tn.relu(x=x + 1), lambda: ((x + 1) * 2 - 3) / 4,
                  lambda: tn.exp(tn.exp(tn.exp(x))),
                  lambda: [tn.exp(y * 2) for y in [x]][0], lambda: (x + 1) if x.size else x]):
            f()
            n, result = self.allocations(f)
            self.assertEqual(n, 1, i)

    def test_in_generators_loops_and_handlers(self):
        def generator(x):
            while True:
                yield tn.exp(x + 1)

        steps = generator(self.a)
        next(steps)
        self.assertEqual(self.allocations(lambda: next(steps))[0], 1)

        def handler(x):
            try:
                raise KeyError
            except KeyError:
                with tn.scope():
                    for _ in range(1):
                        return ((x + 1) * 2).keep()

        handler(self.a)
        self.assertEqual(self.allocations(lambda: handler(self.a))[0], 1)
        del steps

    def test_what_has_a_name_is_never_overwritten(self):
        """Every way in which somebody else may hold an operand."""
        x = tn.ones(100)
        held = [tn.ones(100)]
        pair = (tn.ones(100), tn.ones(100))
        table = {"x": tn.ones(100)}
        bound = functools.partial(tn.exp, tn.ones(100))
        objects = np.empty(2, object)
        objects[:] = [tn.ones(100), tn.ones(100)]

        class Holder:
            x = tn.ones(100)

        def closure():
            return y + 1, tn.exp(y), -y

        y = tn.ones(100)
        import operator

        for f in [lambda: x + 1, lambda: tn.exp(x), lambda: -x, lambda: x * x, lambda: x.exp(), closure,
                  lambda: held[0] + 1, lambda: tn.exp(held[0]), lambda: tn.exp(*held), lambda: tn.exp(*pair[:1]),
                  lambda: tn.add(*pair), lambda: table["x"] * 2, lambda: tn.exp(**table), bound, bound,
                  lambda: list(map(tn.exp, held)), lambda: list(map(operator.neg, pair)),
                  lambda: operator.add(*pair), lambda: functools.reduce(operator.add, pair), lambda: sum(held),
                  lambda: objects + 1, lambda: -objects, lambda: Holder.x + 1, lambda: tn.exp(Holder.x),
                  lambda: [z + 1 for z in held], lambda: sorted(held, key=lambda z: float((z * 2)[0]))]:
            f()
        for tensor in [x, y, *held, *pair, table["x"], *bound.args, *objects, Holder.x]:
            self.assertEqual(tensor.tolist(), [1.0] * 100)
        del bound, Holder

    def test_what_a_weak_reference_sees_is_not_computed_in(self):
        watches = []

        def watched():
            x = tn.ones(10)
            watches.append(weakref.ref(x))
            return x

        self.assertEqual(tn.exp(watched()).size, 10)

    def test_bytecode_is_understood(self):
        """The depth of the stack is what the compiler says, in all of a large library."""
        import ast
        import inspect
        import types

        def codes(code):
            yield code
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    yield from codes(constant)

        checked = 0
        for module in (ast, inspect, subprocess, tempfile, unittest.case, functools):
            for code in codes(compile(inspect.getsource(module), module.__file__, "exec")):
                depths = tn._operators.stack_depths(code).values()
                self.assertGreaterEqual(min(depths), 0)
                self.assertLessEqual(max(depths), code.co_stacksize)
                checked += 1
        self.assertGreater(checked, 500)


if __name__ == "__main__":
    unittest.main()
