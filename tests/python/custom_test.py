"""Ops and gradients that are written in Python."""

import traceback
import unittest

import numpy as np

import tenure as tn
from support import TestCase, here


@tn.op(infer=lambda x: x, gradient=lambda inputs, outputs, gradients: 3.0 * inputs[0] ** 2 * gradients[0])
def cube(x):
    """x three times."""
    return x**3


@tn.op(infer=lambda a, b: (tn.Spec((a.shape[0], b.shape[1]), a.dtype), ((a.shape[0],), "int64")), outputs=2)
def product_and_best(a, b):
    product = a @ b
    return product, product.argmax(1)


def last_frame(call, kind):
    """The function that raised an exception of this kind."""
    try:
        call()
    except kind as error:
        return traceback.extract_tb(error.__traceback__)[-1].name
    return None


class Ops(TestCase):
    def test_run_now_in_functions_and_in_graphs(self):
        x = tn.tensor([1.0, 2.0, -3.0])
        self.assert_list(cube(x), [1.0, 8.0, -27.0])
        self.assertEqual(cube(x).op, "cube")
        f = tn.function(lambda x: cube(x + 1) * 2)
        self.assert_list(f(x), [16.0, 54.0, -16.0])
        self.assert_list(f(x), [16.0, 54.0, -16.0])
        graph = tn.Graph()
        p = graph.placeholder("p", (None,))
        y = cube(p)
        with tn.Session(graph) as session:
            self.assert_list(session.run(y, {p: x}), [1.0, 8.0, -27.0])
            self.assert_list(session.run(y, {p: tn.ones(5)}), [1.0] * 5)
        f.clear()

    def test_several_inputs_and_outputs_of_any_layout(self):
        a, b = tn.tensor(np.arange(6.0, dtype="float32").reshape(3, 2)), tn.ones((3, 4))
        product, best = product_and_best(a.T, b)
        np.testing.assert_array_equal(product.numpy(), a.numpy().T @ b.numpy())
        self.assertEqual((best.dtype, best.tolist()), (tn.int64, [0, 0]))
        self.assertEqual(cube(tn.zeros((0, 3))).shape, (0, 3))

    def test_gradients(self):
        x = tn.tensor([1.0, 2.0])
        for f in (cube, tn.function(cube)):
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(f(x) * 2)
            self.assert_list(tape.gradient(y, x), [6.0, 24.0])
        with tn.GradientTape() as outer:
            outer.watch(x)
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(cube(x))
            first = tape.gradient(y, x)
            total = tn.sum(first)
        self.assert_list(outer.gradient(total, x), [6.0, 12.0])

        @tn.function
        def both(x):
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(cube(x))
            return tape.gradient(y, x)

        self.assert_list(both(x), [3.0, 12.0])
        f.clear(), both.clear()
        del f

    def test_a_tape_holds_what_the_gradient_reads(self):
        seen = []

        def gradient(inputs, outputs, gradients):
            seen.append(([i is None for i in inputs], [o is None for o in outputs]))
            return gradients[0] * 2

        x = tn.ones(1000)
        for reads, expected in [("nothing", ([True], [True])), ("inputs", ([False], [True])),
                                ("outputs", ([True], [False])), ("both", ([False], [False]))]:
            twice = tn.op(infer=lambda x: x, gradient=gradient, reads=reads, name=f"twice_{reads}")(lambda x: x * 2)
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = twice(x)
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(twice(x))
            self.assertEqual(tape.gradient(y, x)[0].item(), 2.0)
            self.assertEqual(seen[-1], expected)
        with self.assertRaises(ValueError):
            tn.op(infer=lambda x: x, gradient=gradient, reads="all", name="twice_all")(lambda x: x)
        plain = tn.op(infer=lambda x: x, name="plain_twice")(lambda x: x * 2)
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.sum(plain(x))
        with self.assertRaises(tn.GradientError):
            tape.gradient(y, x)

    def test_the_ledger_counts_the_results_and_nothing_else(self):
        x = tn.ones((64, 64))
        cube(x)
        n, y = self.allocations(lambda: cube(x))
        self.assertEqual(n, 1)
        before = tn.memory()
        for _ in range(200):
            cube(x)
        after = tn.memory()
        self.assertEqual((after.bytes, after.tensors), (before.bytes, before.tensors))
        f = tn.function(lambda x: cube(x) + 1)
        plan = f.plan(x)
        f(x)
        tn.reset_peak()
        base = tn.memory().bytes
        z = f(x)
        self.assertEqual(tn.memory().peak - base, plan.peak)
        f.clear()
        del y, z

    def test_arguments_may_be_kept_and_are_not_written_to(self):
        kept = []

        @tn.op(infer=lambda x: x)
        def keeps(x):
            kept.append(x)
            with self.assertRaises(ValueError):
                x[0] = 1
            return x + 1

        f = tn.function(lambda x: keeps(x * 2) * 3)
        x = tn.ones(3)
        self.assert_list(f(x), [9.0] * 3)
        for _ in range(5):
            f(tn.full(3, 7.0))
        self.assertEqual(kept[0].tolist(), [2.0] * 3)
        f.clear()

    def test_exceptions_keep_their_traceback_in_every_mode(self):
        @tn.op(infer=lambda x: x, gradient=lambda i, o, g: broken_gradient(g))
        def broken(x):
            raise KeyError("mine")

        def broken_gradient(g):
            raise LookupError("back")

        x = tn.ones(3)
        f = tn.function(lambda x: broken(x) + 1)
        graph = tn.Graph()
        p = graph.placeholder("p", (3,))
        y = broken(p)
        session = tn.Session(graph)
        for call in (lambda: broken(x), lambda: f(x), lambda: f(x), lambda: session.run(y, {p: x})):
            before = tn.memory()
            self.assertEqual(last_frame(call, KeyError), "broken")
            self.assertEqual(tn.memory().bytes, before.bytes)
        session.close()
        good = tn.op(infer=lambda x: x, gradient=lambda i, o, g: broken_gradient(g), name="broken_back")(lambda x: x + 1)
        with tn.GradientTape() as tape:
            tape.watch(x)
            z = tn.sum(good(x))
        self.assertEqual(last_frame(lambda: tape.gradient(z, x), LookupError), "broken_gradient")

        def bad_infer(x):
            raise ZeroDivisionError("shape")

        bad = tn.op(infer=bad_infer, name="bad_infer")(lambda x: x)
        self.assertEqual(last_frame(lambda: bad(x), ZeroDivisionError), "bad_infer")
        f.clear()

    def test_wrong_results_are_typed_errors(self):
        x = tn.ones(3)

        def made(name, compute, infer=lambda x: x, **options):
            return tn.op(infer=infer, name=name, **options)(compute)

        wrong_shape = made("wrong_shape", lambda x: x[:2])
        with self.assertRaises(tn.ShapeError) as caught:
            wrong_shape(x)
        self.assertEqual((caught.exception.op, caught.exception.shapes), ("wrong_shape", [(2,), (3,)]))
        wrong_type = made("wrong_type", lambda x: x.astype("float64"))
        f = tn.function(lambda x: wrong_type(x) * 2)
        for call in (wrong_type, f):
            with self.assertRaises(tn.DTypeError) as caught:
                call(x)
            self.assertIn("float64[3]", str(caught.exception))
        for name, compute, infer, kind in [
            ("gives_text", lambda x: "text", lambda x: x, ValueError), ("gives_none", lambda x: None, lambda x: x, ValueError),
            ("infers_text", lambda x: x, lambda x: "text", TypeError), ("infers_none", lambda x: x, lambda x: None, TypeError),
            ("infers_less", lambda x: x, lambda x: ((-1,), "float32"), ValueError),
            ("infers_floats", lambda x: x, lambda x: ((1.5,), "float32"), TypeError),
            ("infers_types", lambda x: x, lambda x: ((1,), "complex64"), TypeError),
        ]:
            with self.assertRaises(kind, msg=name):
                made(name, compute, infer)(x)
        pair = made("gives_one", lambda x: [x], lambda x: [x, x], outputs=2)
        with self.assertRaises(ValueError):
            pair(x)
        for gradient in (lambda i, o, g: [g[0], g[0]], lambda i, o, g: tn.ones(7), lambda i, o, g: tn.ones(3, "float64")):
            back = made("wrong_back", lambda x: x + 1, gradient=gradient)
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(back(x))
            with self.assertRaises(tn.GradientError):
                tape.gradient(y, x)
        with self.assertRaises(tn.DTypeError):
            cube(tn.ones(3, "bfloat16"))
        with self.assertRaises(TypeError):
            cube()
        with self.assertRaises(TypeError):
            tn.op(infer=3)(lambda x: x)
        with self.assertRaises(ValueError):
            tn.op(infer=lambda x: x, name="tanh")(lambda x: x)
        f.clear()

    def test_a_name_may_be_given_again(self):
        for factor in (2, 3):
            scaled = tn.op(infer=lambda x: x, name="scaled")(lambda x, factor=factor: x * np.float32(factor))
            self.assert_list(scaled(tn.ones(2)), [float(factor)] * 2)
        line, y = here(), cube(tn.ones(2))
        self.assertEqual(y.created, line)

    def test_what_is_changed_under_a_name_counts(self):
        """As when a cell of a notebook is edited and run again."""
        x = tn.tensor([2.0])
        plain = tn.op(infer=lambda x: x, name="again")(lambda x: x * 2)
        pair = tn.op(infer=lambda x: (x, x), name="again", outputs=2)(lambda x: (x, x + 1))
        rules = {reads: tn.op(infer=lambda x: x, name="again", reads=reads,
                              gradient=lambda inputs, outputs, gradients: gradients[0] * 3)(lambda x: x * 3)
                 for reads in ("inputs", "outputs", "both", "nothing")}
        self.assert_list(plain(x), [4.0])
        self.assertEqual([y.tolist() for y in pair(x)], [[2.0], [3.0]])
        for rule in rules.values():
            self.assert_list(tn.grad(lambda x: tn.sum(rule(x)))(x), [3.0])
        with self.assertRaises(tn.GradientError):
            tn.grad(lambda x: tn.sum(plain(x)))(x)


class Gradients(TestCase):
    def test_custom_gradients_in_functions_and_graphs(self):
        steep = tn.custom_gradient(lambda x: (tn.sign(x), [x]), lambda saved, g: tn.where(abs(saved[0]) < 1, g, 0.0))
        x = tn.tensor([0.5, 2.0])

        @tn.function
        def slope(x):
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(steep(x) * 3)
            return tape.gradient(y, x)

        self.assert_list(slope(x), [3.0, 0.0])
        self.assert_list(tn.function(steep)(x), [1.0, 1.0])
        slope.clear()

    def test_wrong_gradients_are_typed_errors(self):
        x = tn.ones(3)
        for backward, kind in [(lambda s, g: [g, g], tn.GradientError), (lambda s, g: tn.ones(5), tn.GradientError),
                               (lambda s, g: "text", TypeError), (lambda s, g: tn.ones(3, "float64"), tn.GradientError)]:
            f = tn.custom_gradient(lambda x: (x * 2, [x]), backward)
            with tn.GradientTape() as tape:
                tape.watch(x)
                y = tn.sum(f(x))
            with self.assertRaises(kind):
                tape.gradient(y, x)
        for forward in (lambda x: x, lambda x: (x, 3), lambda x: ("text", []), lambda x: 1 / 0):
            with self.assertRaises((TypeError, ZeroDivisionError)):
                tn.custom_gradient(forward, lambda s, g: g)(x)


if __name__ == "__main__":
    unittest.main()
