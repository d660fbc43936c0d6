"""What runs for long: blocks that end in any order, objects that come and go, what is looked at after it went."""

import contextlib
import copy
import functools
import gc
import heapq
import pickle
import statistics
import threading
import unittest
import weakref

import numpy as np
import tenure as tn
from support import TestCase, here


def product_type():
    return str((tn.ones((2, 2)) @ tn.ones((2, 2))).dtype)


def in_thread(f):
    results = []
    thread = threading.Thread(target=lambda: results.append(f()))
    thread.start()
    thread.join()
    return results[0]


class Blocks(TestCase):
    """Those of generators and coroutines end in any order; what is left is as if they had never been."""

    MAKERS = {"autocast": lambda: tn.autocast("float16"), "device": lambda: tn.device("cpu"), "plan_only": tn.plan_only,
              "scope": lambda: tn.scope("s"), "budget": lambda: tn.budget("b", "1 MiB"), "tape": tn.GradientTape,
              "variables": lambda: tn.VariableScope("v")}

    def test_in_the_order_of_their_beginnings(self):
        for name, make in self.MAKERS.items():
            with self.subTest(name):
                blocks = [make() for _ in range(3)]
                for block in blocks:
                    block.__enter__()
                for block in blocks:
                    block.__exit__(None, None, None)
                self.assertEqual(product_type(), "float32")
                self.assertEqual(tn.ones(2**20).shape, (2**20,))
                self.assertFalse(tn.nn.Dense(1, 1).kernel.value.is_symbolic)

    def test_what_began_later_stays(self):
        outer, inner = tn.autocast("float16"), tn.autocast("bfloat16")
        outer.__enter__(), inner.__enter__()
        outer.__exit__(None, None, None)
        self.assertEqual(product_type(), "bfloat16")
        inner.__exit__(None, None, None)
        self.assertEqual(product_type(), "float32")
        with tn.autocast("float16"):
            middle = tn.autocast("bfloat16")
            middle.__enter__()
            middle.__exit__(None, None, None)
            self.assertEqual(product_type(), "float16")

    def test_another_thread_ends_none(self):
        def steps():
            with tn.autocast():
                yield product_type()

        walk = steps()
        self.assertEqual(next(walk), "bfloat16")
        with self.assertRaises(tn.ValueError):
            raise in_thread(lambda: self.error_of(walk.close))

        def collected():
            nonlocal walk
            with tn.autocast("float16"):
                walk = None
                gc.collect()
                return product_type()

        self.assertEqual(in_thread(collected), "float16")
        with tn.autocast("float32"):  # this thread finds that the block is over
            self.assertEqual(product_type(), "float32")
        self.assertEqual(product_type(), "float32")

    def test_what_is_dropped_ends(self):
        block = tn.autocast()
        block.__enter__()
        del block
        self.assertEqual(product_type(), "float32")

    @staticmethod
    def error_of(f):
        try:
            f()
        except Exception as error:
            return error


class Donated(TestCase):
    """A tensor that was given away can be looked at, and says what became of it."""

    def test_says_what_happened(self):
        x = tn.ones(4)
        tn.exp(tn.donate(x))
        self.assertTrue(x.is_disposed)
        self.assertEqual(x.disposed, "by donate()")
        self.assertIn("donate()", repr(x))
        self.assertIn("donate()", x._repr_html_())
        self.assertIsNone(x.dispose())
        for use in (lambda: x + 1, lambda: x.shape, lambda: tn.holders(x), x.numpy, lambda: tn.exp(tn.donate(x)),
                    lambda: memoryview(x), lambda: np.asarray(x), x.tolist, lambda: x[0], x.__dlpack__, lambda: bool(x),
                    lambda: len(x), lambda: list(x), lambda: pickle.dumps(x), lambda: copy.copy(x), lambda: tn.asarray(x) + 1,
                    lambda: tn.function(lambda x: x)(x), lambda: x.to("cpu"), lambda: tn.keep(x), lambda: f"{x:.2f}"):
            with self.assertRaises(tn.EmptyTensorError) as caught:
                use()
            self.assertIn("services_test.py", str(caught.exception))
            self.assertIn("donate()", str(caught.exception))
            self.assertNotIn("default-constructed", str(caught.exception))


class Service:
    def __init__(self):
        self.weights = tn.Variable(tn.ones((64, 64)))

    @tn.function(warn_after=0)
    def answer(self, x):
        return x @ self.weights


class Objects(TestCase):
    """What a function was called with is not kept alive by it, and neither is what only that call used."""

    def test_methods_that_are_functions(self):
        x = tn.ones((1, 64))
        Service().answer(x)  # makes what is made once
        gc.collect()
        before = tn.memory().bytes
        for _ in range(5):
            service = Service()
            self.assertEqual(service.answer(x)[0, 0].item(), 64.0)
            seen = weakref.ref(service)
            del service
            self.assertIsNone(seen())
            self.assertEqual(tn.memory().bytes, before)
        self.assertEqual(Service.answer.traces(), [])

    def test_several_at_once(self):
        services = [Service() for _ in range(3)]
        services[1].weights.assign(tn.full((64, 64), 2.0))
        x = tn.ones((1, 64))
        for _ in range(2):
            self.assertEqual([s.answer(x)[0, 0].item() for s in services], [64.0, 128.0, 64.0])
        self.assertEqual([t.calls for t in Service.answer.traces()], [2, 2, 2])
        del services[1]
        self.assertEqual(len(Service.answer.traces()), 2)
        self.assertEqual([s.answer(x)[0, 0].item() for s in services], [64.0, 64.0])

    def test_what_is_equal_is_one(self):
        f = tn.function(lambda x, mode, pair: x * len(mode) + pair[0])
        for _ in range(3):
            f(tn.ones(2), "".join(["a", "b"]), (2, 3))
        self.assertEqual([t.calls for t in f.traces()], [3])


class Pair:
    """Something that is equal to itself alone."""


class Net(tn.nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = tn.nn.Dense(2, 2)
        self.step = tn.function(self.run, warn_after=0)

    def run(self, x):
        return self.hidden(x)

    def forward(self, x):
        return self.step(x)


@tn.function
def doubled(x):
    return x * 2


class Copies(TestCase):
    def test_models_that_have_functions(self):
        net, x = Net(), tn.ones((1, 2))
        expected = net(x).tolist()
        for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            self.assert_list(made(x), expected)
            made.hidden.kernel.assign(tn.full((2, 2), 5.0))
            self.assertNotEqual(made(x).tolist(), expected)
            self.assertEqual(len(made.step.traces()), 1)
        self.assert_list(net(x), expected)

    def test_functions_of_modules_go_by_their_names(self):
        self.assertIs(copy.deepcopy(doubled), doubled)
        self.assertIs(pickle.loads(pickle.dumps(doubled)), doubled)
        local = copy.copy(tn.function(lambda x: x + 1, batched=[0]))
        self.assert_list(local(tn.ones(2)), [2.0, 2.0])
        self.assertEqual(local.traces()[0].signature, "float32[2]")


class Reasons(TestCase):
    """explain() names the argument that made a trace, and what it was before."""

    def test_names_and_values(self):
        f = tn.function(lambda x, flag=True, *more, n=1, **rest: x, warn_after=0)
        x, kept = tn.ones(2), [Pair(), Pair()]
        f(x)
        for call, told in (
            (lambda: f(x, False), "flag is False, was not given"),
            (lambda: f(x, True), "flag is True, was False"),
            (lambda: f(x, True, "text"), "argument 2 is 'text', was not given"),
            (lambda: f(x, n=4), "n is 4, was not given"),
            (lambda: f(x, Service), "flag is Service, was not given"),
            (lambda: f(x, Reasons), "flag is Reasons, was Service"),
            (lambda: f(x, kept[0]), "flag is one Pair, was Reasons"),
            (lambda: f(x, kept[1]), "flag is another Pair"),
            (lambda: f([x]), "x is a list of 1, was a tensor"),
            (lambda: f({"a": x, "b": (1, 2)}), "x is a dict of 2, was a list of 1"),
            (lambda: f({"a": x, "b": (1, 3)}), "x['b'][1] is 3, was 2"),
        ):
            call()
            self.assertIn(told, [trace.reason for trace in f.traces()])
        self.assertIn("flag is True, was False", f.explain())


class Arrays(TestCase):
    def test_a_temporary_that_somebody_may_ask_for_is_copied(self):
        seen = []

        def make():
            array = np.ones(4)
            seen.append(weakref.ref(array))
            return array

        x = tn.tensor(make())
        if (array := seen[0]()) is not None:
            array[0] = 9
        self.assert_list(x, [1.0, 1.0, 1.0, 1.0])

    def test_refused_types_say_what_to_do(self):
        swapped = np.dtype("f4").newbyteorder()
        for array, told in ((np.ones(2, "u4"), "astype('int64')"), (np.ones(2, "c8"), "np.stack"),
                            (np.ones(2, swapped), "newbyteorder"), (np.ones(2, "g"), "astype('float64')"),
                            (np.array(["a"]), "numbers")):
            for f in (tn.tensor, tn.asarray):
                with self.assertRaises(tn.DTypeError) as caught:
                    f(array)
                self.assertIn(told, str(caught.exception))
        with self.assertRaises(tn.DTypeError) as caught:
            tn.ones(3)[np.array([0, 1], "i2")]
        self.assertIn("cast()", str(caught.exception))


class Lines(TestCase):
    def test_python_s_own_library_is_nobody_s_line(self):
        """What it calls was called by somebody: that line counts."""
        x = tn.ones(3)
        for f in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: statistics.fmean(x) + x,
                  functools.cached_property(lambda x: x + 1).func, lambda x: heapq.nlargest(1, [x], key=lambda x: 1)[0] + 1,
                  lambda x: contextlib.ExitStack().enter_context(contextlib.nullcontext(x)) + 1):
            line, y = here(), f(x)
            self.assertTrue(y.created == line or y.created.startswith("services_test.py"), y.created)
        made = []
        thread = threading.Thread(target=functools.partial(lambda: made.append(tn.ones(1))))
        thread.start()
        thread.join()
        self.assertTrue(made[0].created.startswith("services_test.py"), made[0].created)


class Layers(TestCase):
    def test_what_is_forgotten_is_named(self):
        class Early(tn.nn.Layer):
            def __init__(self):
                self.hidden = tn.nn.Dense(1, 1)

        class Silent(tn.nn.Layer):
            def forward(self, x):
                x + 1

        with self.assertRaises(tn.ValueError) as caught:
            Early()
        self.assertIn("super().__init__()", str(caught.exception))
        with self.assertRaises(TypeError) as caught:
            Silent()(tn.ones(1))
        self.assertEqual("Silent.forward() must give tensors, not None", str(caught.exception))
        with self.assertRaises(KeyError) as caught:
            tn.nn.Dense(1, 1).load_state_dict({"kernel": tn.ones((1, 1)), "weight": tn.ones(1)})
        self.assertIn("values lacks bias; model lacks weight", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
