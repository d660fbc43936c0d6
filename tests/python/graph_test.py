"""Graphs and sessions, scopes of variables, branches and loops."""

import unittest

import tenure as tn
from support import TestCase, here


class Graphs(TestCase):
    def test_run(self):
        graph = tn.Graph("model")
        x = graph.placeholder("x", (None, 2))
        w = tn.Variable(tn.ones((2, 1)))
        y = tn.relu(x @ graph.read(w) + 1)
        self.assertTrue(x.is_symbolic)
        self.assertEqual(x.shape, (None, 2))
        nodes = graph.nodes
        for _ in range(3):
            tn.relu(x @ graph.read(w) + 1)
        self.assertEqual(graph.nodes, nodes)
        with tn.Session(graph) as session:
            self.assert_list(session.run(y, {x: tn.ones((2, 2))}), [[3.0], [3.0]])
            out = session.run({"y": y, "twice": [y * 2]}, {"x": [[1.0, 1.0]]})
            self.assert_list(out["twice"][0], [[6.0]])
            session.run(graph.assign(w, graph.read(w) * 2), {})
            self.assert_list(w.value, [[2.0], [2.0]])
            plan = session.plan([y], {"x": tn.spec((8, 2))})
            self.assertGreater(plan.peak, 0)
            with self.assertRaisesRegex(tn.GraphError, "x"):
                session.run(y)
            with self.assertRaises(tn.ShapeError):
                session.run(y, {"x": tn.ones((2, 3))})
            with self.assertRaises(TypeError):
                session.run(y, {5: tn.ones((2, 2))})
        with self.assertRaises(tn.ClosedError):
            session.run(y, {"x": tn.ones((2, 2))})
        graph.finalize()
        with self.assertRaises(tn.GraphError) as caught:
            line = here(1)
            tn.exp(x)
        self.assertIn(line, str(caught.exception))
        with self.assertRaises(tn.SymbolError):
            x.numpy()

    def test_variables_by_name(self):
        container = tn.Container("c")
        with tn.VariableScope("block", container=container):
            first = here(1)
            v = tn.get_variable("w", lambda: tn.ones(2))
            with self.assertRaises(tn.GraphError) as caught:
                tn.get_variable("w", lambda: tn.ones(2))
            self.assertIn(first, str(caught.exception))
            with self.assertRaises(ZeroDivisionError):
                tn.get_variable("z", lambda: 1 / 0)
        with tn.VariableScope("block", container=container, reuse="always"):
            same = tn.get_variable("w", lambda: tn.zeros(2))
        same.assign(tn.zeros(2))
        self.assert_list(v.value, [0.0, 0.0])
        self.assertEqual([u.name for u in container.variables], ["block/w"])
        self.assertEqual(container.clear(), 8)


class Control(TestCase):
    def both(self, f, *args):
        """f(*args), as it is and compiled."""
        eager = f(*args)
        compiled = tn.function(f)
        traced = compiled(*args)
        flat = lambda value: [t.tolist() for t in tn._tree.tensors(value)]
        self.assertEqual(flat(eager), flat(traced))
        compiled.clear()
        return eager

    def test_cond(self):
        f = lambda x: tn.cond(x.sum() > 0, lambda x: {"y": x * 2}, lambda x: {"y": -x}, x)
        self.assert_list(self.both(f, tn.tensor([1.0, 2.0]))["y"], [2.0, 4.0])
        self.assert_list(self.both(f, tn.tensor([-1.0, 0.0]))["y"], [1.0, 0.0])

    def test_while_loop(self):
        f = lambda n: tn.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (n, tn.tensor(0)))
        value, count = self.both(f, tn.tensor(3))
        self.assertEqual((value.item(), count.item()), (192, 6))
        with self.assertRaises(ValueError):
            tn.while_loop(lambda s: s > 0, lambda s: s + 1, tn.tensor(1), max_iterations=5)

    def test_scan(self):
        f = lambda xs: tn.scan(lambda c, x: (c + x, c * x), tn.tensor(0.0), xs)
        carry, ys = self.both(f, tn.tensor([1.0, 2.0, 3.0]))
        self.assertEqual((carry.item(), ys.tolist()), (6.0, [0.0, 2.0, 9.0]))

    def test_gradients_and_exceptions(self):
        f = lambda x: tn.sum(tn.scan(lambda c, x: (c * x, c), tn.tensor(1.0), x)[0])
        self.assert_list(tn.grad(f)(tn.tensor([2.0, 3.0])), [3.0, 2.0])
        with self.assertRaises(KeyError):
            tn.cond(tn.tensor(True), lambda: {}["mine"], lambda: tn.ones(1))
        with self.assertRaises(KeyError):
            tn.function(lambda x: tn.cond(x > 0, lambda: {}["mine"], lambda: x))(tn.tensor(1.0))


if __name__ == "__main__":
    unittest.main()
