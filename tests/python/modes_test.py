"""Variables, tapes, compiled functions: one set of ops in every mode."""

import dataclasses
import os
import traceback
import unittest
import warnings

import numpy as np

import tenure as tn
from support import TestCase, here


class Variables(TestCase):
    def test_are_operands(self):
        v = tn.Variable(tn.tensor([1.0, 2.0]), name="w")
        self.assertEqual((v.name, v.shape, v.dtype, v.trainable), ("w", (2,), tn.float32, True))
        self.assert_list(v + 1, [2.0, 3.0])
        self.assert_list(1 - v, [0.0, -1.0])
        self.assert_list(tn.relu(v), [1.0, 2.0])
        self.assert_list(tn.ones(2) * v, [1.0, 2.0])
        self.assert_list(-v, [-1.0, -2.0])
        self.assertEqual(v[1].item(), 2.0)
        self.assertEqual(len(v), 2)
        before = v.value
        v.assign_add([1.0, 1.0])
        v.assign_sub(tn.ones(2))
        v.assign(v * 3)
        self.assert_list(v.value, [3.0, 6.0])
        self.assert_list(before, [1.0, 2.0])
        for wrong in (tn.ones(3), tn.ones(2, "float64")):
            with self.assertRaises((ValueError, TypeError)):
                v.assign(wrong)
        v.dispose()
        with self.assertRaises(tn.DisposedError):
            v + 1

    def test_outlive_scopes(self):
        with tn.scope():
            v = tn.Variable(tn.ones(3))
        self.assert_list(v.value, [1.0] * 3)


class Tapes(TestCase):
    def test_gradients(self):
        x = tn.tensor([1.0, 2.0, 3.0])
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.sum(x * x * x)
        self.assert_list(tape.gradient(y, x), [3.0, 12.0, 27.0])
        with self.assertRaises(tn.GradientError):
            tape.gradient(y, x)

    def test_trees_of_sources_and_variables(self):
        w, b = tn.Variable(tn.ones((3, 2))), tn.Variable(tn.zeros(2))
        with tn.GradientTape() as tape:
            y = tn.sum(tn.ones((4, 3)) @ w + b)
        found = tape.gradient(y, {"w": w, "b": b})
        self.assert_list(found["w"], [[4.0] * 2] * 3)
        self.assert_list(found["b"], [4.0, 4.0])

    def test_recording_ends_with_the_block(self):
        x = tn.ones(2)
        with tn.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tn.sum(x * 2)
        z = y * 2
        self.assert_list(tape.gradient(y, x), [2.0, 2.0])
        with self.assertRaises(tn.GradientError):
            tape.gradient(z, x)
        self.assertIsNone(tape.gradient(z, [x], unconnected="none")[0])
        self.assert_list(tape.gradient(z, x, unconnected="zero"), [0.0, 0.0])

    def test_second_order_and_jacobian(self):
        x = tn.tensor([2.0, 3.0])
        with tn.GradientTape() as outer:
            outer.watch(x)
            with tn.GradientTape() as inner:
                inner.watch(x)
                y = tn.sum(x**3.0)
            first = inner.gradient(y, x)
        np.testing.assert_allclose(outer.gradient(first, x).numpy(), [12.0, 18.0], rtol=1e-5)
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        self.assert_list(tape.jacobian(y, x), [[4.0, 0.0], [0.0, 6.0]])

    def test_functions_of_gradients(self):
        f = lambda w, x: tn.sum(tn.tanh(x @ w))
        w, x = tn.ones((3, 1)), tn.ones((2, 3))
        value, gradient = tn.value_and_grad(f)(w, x)
        self.assertEqual(gradient.shape, (3, 1))
        both = tn.grad(f, argnums=(0, 1))(w, x)
        self.assertEqual([g.shape for g in both], [(3, 1), (2, 3)])
        h = 1e-2
        bumped = tn.tensor(w.numpy() + np.array([[h], [0], [0]], "float32"))
        self.assertAlmostEqual((f(bumped, x) - value).item() / h, gradient[0, 0].item(), 2)
        self.assertAlmostEqual(tn.grad(lambda p: tn.sum(p["a"] * 3.0))({"a": tn.ones(1)})["a"].item(), 3.0)

    def test_what_is_wrong(self):
        tape = tn.GradientTape()
        with self.assertRaises(ValueError):
            tape.watch(tn.ones(1))
        with tape:
            with self.assertRaises(TypeError):
                tape.watch(tn.tensor([1, 2]))
            with self.assertRaises(TypeError):
                tape.gradient(tn.ones(1), "x")
        x, v = tn.ones(1), tn.Variable(tn.ones(1))
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = x * v
        with self.assertRaises(ValueError):
            tape.gradient(y, [x, v])

    def test_named_operands_survive_a_tape(self):
        x = tn.ones(100)
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.tanh(x * 2 + 1)
            kept = tn.exp(y)
        gradient = tape.gradient(kept, x)
        np.testing.assert_allclose(kept.numpy(), np.exp(np.tanh(3.0)), rtol=1e-5)
        np.testing.assert_allclose(gradient.numpy(), np.exp(np.tanh(3.0)) * (1 - np.tanh(3.0) ** 2) * 2, rtol=1e-4)

    def test_custom_gradients(self):
        steep = tn.custom_gradient(
            lambda x: (tn.sign(x), [x]), lambda saved, g: tn.where(abs(saved[0]) < 1, g, 0.0))
        x = tn.tensor([0.5, 2.0])
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.sum(steep(x) * 3)
        self.assert_list(tape.gradient(y, x), [3.0, 0.0])
        broken = tn.custom_gradient(lambda x: (x * 1, []), lambda saved, g: 1 / 0)
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.sum(broken(x))
        with self.assertRaises(ZeroDivisionError):
            tape.gradient(y, x)


@dataclasses.dataclass
class Pair:
    a: tn.Tensor
    b: tn.Tensor


class Functions(TestCase):
    def test_trace_once_for_each_signature(self):
        calls = []

        @tn.function
        def f(x, scale=1.0):
            calls.append(1)
            return tn.tanh(x * scale)

        x = tn.ones((2, 3))
        for _ in range(3):
            np.testing.assert_allclose(f(x).numpy(), np.tanh(np.ones((2, 3))), rtol=1e-6)
        self.assertEqual(len(calls), 1)
        f(x, scale=2.0)
        f(tn.ones(4))
        self.assertEqual(len(calls), 3)
        self.assertEqual([t.calls for t in f.traces()], [3, 1, 1])
        self.assertIn("float32[2, 3]", f.explain())
        self.assertEqual(f.__name__, "f")
        f.clear()

    def test_tells_which_lines_made_traces(self):
        f = tn.function(lambda x: x + 1, warn_after=2, batched=[0])
        lines = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for shape in ((1,), (2, 3), (2, 4)):
                for _ in range(2):
                    lines.append(here()), f(tn.ones(shape))
        said = f.explain().splitlines()
        self.assertEqual([f"  traced by {lines[0]}: float32[{s}]" for s in ("?", "?, 3", "?, 4")], said[-3:])
        self.assertEqual([f"{os.path.basename(w.filename)}:{w.lineno}" for w in caught], [lines[0]])
        f.clear()
        self.assertNotIn("traced by", f.explain())

    def test_trees_go_in_and_come_out(self):
        @tn.function
        def f(tree, *, pair):
            return {"sum": tree["x"] + tree["more"][0], "pair": Pair(pair.b, pair.a), "text": "t", "n": (1, None)}

        out = f({"x": tn.ones(2), "more": [tn.ones(2)]}, pair=Pair(tn.zeros(1), tn.ones(1)))
        self.assert_list(out["sum"], [2.0, 2.0])
        self.assert_list(out["pair"].a, [1.0])
        self.assertEqual((out["text"], out["n"]), ("t", (1, None)))
        with self.assertRaises(TypeError):
            f({"x": object.__new__(set)}, pair=1)
        f.clear()

    def test_plans_are_exact(self):
        @tn.function
        def f(x, w):
            return tn.tanh(x @ w) * 2

        plan = f.plan(tn.spec((64, 128)), tn.spec((128, 32)))
        x, w = tn.ones((64, 128)), tn.ones((128, 32))
        f(x, w)
        tn.reset_peak()
        before = tn.memory().bytes
        y = f(x, w)
        self.assertEqual(tn.memory().peak - before, plan.peak)
        self.assertTrue(any(step.site.startswith("modes_test.py:") for step in plan.steps))
        self.assertIn("modes_test.py", str(plan))
        del y
        f.clear()

    def test_variables_and_gradients_inside(self):
        w = tn.Variable(tn.ones(3))

        @tn.function
        def step(x):
            with tn.GradientTape() as tape:
                loss = tn.sum(w * x)
            w.assign_sub(0.5 * tape.gradient(loss, w))
            return loss

        losses = [step(tn.ones(3)).item() for _ in range(3)]
        self.assertEqual(losses, [3.0, 1.5, 0.0])
        step.clear()

    def test_gradients_through(self):
        f = tn.function(lambda x: tn.sum(x * x))
        self.assert_list(tn.grad(f)(tn.tensor([1.0, 2.0])), [2.0, 4.0])
        f.clear()

    def test_exceptions_keep_their_traceback(self):
        @tn.function
        def f(x, bad):
            if bad:
                raise KeyError("mine")
            return x + 1

        x = tn.ones(2)
        try:
            f(x, True)
            self.fail("nothing was raised")
        except KeyError as error:
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        self.assertEqual(frames[-1], "f")
        self.assert_list(f(x, False), [2.0, 2.0])
        with self.assertRaises(RuntimeError):
            tn.function(lambda x: x if x.sum() > 1 else -x)(x)
        with self.assertRaises(tn.ShapeError) as caught:
            line = here(1)
            tn.function(lambda x: x @ tn.ones((7, 7)))(tn.ones((2, 2)))
        self.assertIn(line, str(caught.exception))
        f.clear()

    def test_donation(self):
        f = tn.function(lambda x: tn.exp(x) + 1)
        x = tn.ones(1000)
        f(x)
        before = tn.memory().bytes
        y = f(tn.donate(x))
        self.assertEqual(tn.memory().bytes, before)
        with self.assertRaises(tn.EmptyTensorError):
            x.shape
        held = y[:5]
        with self.assertRaises(tn.DonationError):
            f(tn.donate(y))
        self.assertEqual(y.shape, (1000,))
        del held, y
        f.clear()

    def test_budgets_and_warnings(self):
        f = tn.function(lambda x: tn.exp(x @ x), budget="1 KiB")
        with self.assertRaises(ValueError) as caught:
            f(tn.ones((64, 64)))
        self.assertIsInstance(caught.exception, tn.BudgetError)
        self.assertGreater(caught.exception.least, 1024)
        g = tn.function(lambda x, n: x + n, warn_after=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for n in range(4):
                g(tn.ones(1), n)
        self.assertTrue(caught)
        g.clear()

    def test_methods(self):
        class Model:
            def __init__(self):
                self.w = tn.Variable(tn.ones(2))

            @tn.function
            def apply(self, x):
                return x * self.w

        model = Model()
        self.assert_list(model.apply(tn.ones(2)), [1.0, 1.0])
        Model.apply.clear()


if __name__ == "__main__":
    unittest.main()
