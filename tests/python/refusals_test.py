"""A wrong argument is told in a sentence that names it, whichever function, class or method it is passed to."""

import inspect
import math
import os
import tempfile
import unittest

import numpy as np

import tenure as tn
from support import TestCase

nn = tn.nn


def disposed():
    x = tn.ones((2, 3))
    x.dispose()
    return x


GRAPHS = []  # that symbols are of, which keep constants


def symbol():
    GRAPHS.append(tn.Graph("junk"))
    return GRAPHS[-1].placeholder("x", (2, 3))


JUNK = {
    "a text": lambda: "junk",
    "None": lambda: None,
    "a negative number": lambda: -1,
    "a huge number": lambda: 2**70,
    "ragged lists": lambda: [[1.0], [2.0, 3.0]],
    "a disposed tensor": disposed,
    "a symbol": symbol,
    "nan": lambda: math.nan,
    "an object": object,
    "a dict": lambda: {"a": 1},
    "a class": lambda: int,
    "words in an array": lambda: np.array(["a"]),
    "a function that raises": lambda: lambda *_: 1 / 0,
    "half a character": lambda: "\ud800",
    "a list of nothing": lambda: [None],
    "a layer": lambda: nn.Dense(2, 2),
}
GRAPH = tn.Graph("junk")
MADE = {
    "Variable": lambda: tn.Variable(tn.ones(3)), "Graph": tn.Graph, "Session": lambda: tn.Session(GRAPH),
    "GradientTape": tn.GradientTape, "Function": lambda: tn.function(lambda x: x + 1), "scope": tn.scope,
    "budget": lambda: tn.budget("a", "1 MiB"), "LeakGuard": tn.LeakGuard, "Generator": lambda: tn.Generator(1),
    "VariableScope": lambda: tn.VariableScope("a"), "autocast": tn.autocast, "Dense": lambda: nn.Dense(3, 2),
    "Sequential": lambda: nn.Sequential(nn.Dense(3, 2)), "Adam": lambda: nn.Adam(nn.Dense(3, 2)),
    "Trainer": lambda: trainer(), "Dataset": lambda: dataset(), "iterator": lambda: iter(dataset()),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2), "Lstm": lambda: nn.Lstm(3, 4),
    "LossScale": nn.LossScale, "EarlyStopping": lambda: nn.EarlyStopping(patience=2), "memory": tn.memory,
    "Metric": nn.accuracy, "plan": lambda: tn.function(lambda x: x + 1).plan(tn.ones(3)), "DType": lambda: tn.float32,
}
NOT_CALLED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__dir__", "__delattr__",
              "__getattribute__", "__getattr__", "__setattr__", "__setstate__"}
EXPECTED = (TypeError, ValueError, IndexError, KeyError, OverflowError, BufferError, OSError, tn.TenureError)


def trainer():
    model = nn.Dense(3, 2)
    return nn.Trainer(model, tn.mse_loss, nn.Adam(model))


def dataset():
    return tn.data.from_tensors([tn.ones((4, 3)), tn.ones((4, 2))])


def public():
    """(name, callable) of all modules."""
    for module in (tn, nn, tn.data, nn.init, nn.schedule):
        for name in sorted(dir(module)):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value) and not inspect.ismodule(value):
                yield name, value


class Refusals(TestCase):
    def setUp(self):
        self.folder, self.before = tempfile.TemporaryDirectory(), os.getcwd()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def check(self, what, f, *arguments, **keywords):
        """A result, an exception of the junk's own, or a sentence."""
        try:
            f(*arguments, **keywords)
        except ZeroDivisionError:
            return
        except EXPECTED as error:
            words = str(error)
            self.assertNotIsInstance(error, tn.InternalError, f"{what}: {words}")
            self.assertNotRegex(words, r"incompatible|Unable to cast|pybind|^\s*$", what)
            if type(error) is TypeError:
                self.assertLess(len(words), 400, f"{what}: {words}")
        except BaseException as error:
            self.fail(f"{what}: {type(error).__name__}: {error}")

    def test_every_function_and_class(self):
        for name, f in public():
            if isinstance(f, type) and issubclass(f, BaseException):
                continue
            for kind, junk in JUNK.items():
                with tn.budget("junk", "64 MiB"):
                    self.check(f"{name}({kind})", f, junk())
                    self.check(f"{name}(tensor, {kind})", f, tn.ones((2, 3)), junk())
            GRAPHS.clear()
            self.check(f"{name}()", f)
            self.check(f"{name}(no_such)", f, no_such=1)
            self.check(f"{name} of 20", f, *[tn.ones(2)] * 20)

    def test_every_method(self):
        for kind, make in MADE.items():
            for name in sorted(set(dir(make())) - NOT_CALLED):
                for junk in ("a text", "None", "a huge number", "ragged lists", "a disposed tensor", "an object"):
                    method = inspect.getattr_static(make(), name, None)
                    if not callable(method) or isinstance(method, type):
                        break
                    self.check(f"{kind}.{name}({junk})", lambda *a, name=name: getattr(make(), name)(*a), JUNK[junk]())
                self.check(f"{kind}.{name}()", lambda name=name: callable(m := getattr(make(), name)) and m())

    def test_names_the_argument_and_what_it_takes(self):
        graph, layer = tn.Graph(), nn.Dense(2, 2)

        def watch(source):
            with tn.GradientTape() as tape:
                tape.watch(source)

        for f, words in [
            (lambda: graph.placeholder("x", 5), "placeholder(): shape must be a list, not int"),
            (lambda: graph.placeholder("x"), "placeholder(): 'shape' is missing"),
            (lambda: graph.placeholder("x", (1,), size=3), "placeholder(): no argument 'size'; it has name, shape, dtype"),
            (lambda: tn.Graph(1, 2), "Graph(): takes at most 1 positional argument; it has name"),
            (lambda: tn.Graph("a", name="b"), "Graph(): 'name' is given twice"),
            (lambda: nn.Trainer("net", tn.mse_loss, nn.Adam(layer)), "Trainer(): model must be a Layer, not str"),
            (lambda: nn.Trainer(layer, tn.mse_loss, None), "Trainer(): optimizer must be an Optimizer, not None"),
            (lambda: tn.scope(3), "Scope(): name must be a str or None, not int"),
            (lambda: tn.Variable(tn.ones(3), name=3), "Variable(): name must be a str, not int"),
            (lambda: tn.Variable([1, "a"]), "Variable(): initial is no tensor: tensor() has a str, which is no number"),
            (lambda: tn.get_variable("a", 3), "get_variable(): initial must be a function, not int"),
            (lambda: tn.LeakGuard(warm_up=2**40), "LeakGuard(): warm_up is 1099511627776, which is out of its range"),
            (lambda: tn.cond(tn.tensor(True), 3, 4), "then must be a function, not int"),
            (lambda: tn.Session(graph).run([], 3), "feeds must be a dict of values by placeholder or name, not int"),
            (lambda: nn.state_dict(3), "model must be a Layer, not int"),
            (lambda: nn.summarize(3, tn.ones(3)), "model must be a layer, or a Trainer with a target, not int"),
            (lambda: watch("x"), "a source must be a Tensor or a Variable, not str"),
            (lambda: layer(), "__call__(): 'x' is missing"),
            (lambda: tn.ones(3).to(None), "to(): device must be a str, not None"),
            (lambda: layer.to(3), "to(): device must be a str, not int"),
            (lambda: setattr(nn.Adam(layer), "learning_rate", "x"), "the value must be a number, not str"),
            (lambda: setattr(tn.Generator(1), "state", 5), "the value must be a list, not int"),
            (lambda: setattr(tn.Generator(1), "state", (-1, 0)), "the value cannot be (-1, 0)"),
            (lambda: nn.fit(trainer(), None), "Fit(): training must be a Dataset, not None"),
            (lambda: dataset().resume("x"), "resume(): position must be a Position, not str"),
            (lambda: tn.budget("a", 1.5), 'the limit must be an int or a text such as "64 MiB", not float'),
            (lambda: tn.function(abs, budget=None)(tn.ones(1), np.ones(2)), 'function "abs": unhashable type: '
             "'numpy.ndarray'; what is no tensor must be hashable, since each value has a trace of its own; of an array,"
             " tn.asarray() makes a tensor"),
        ]:
            with self.assertRaises(TypeError) as caught:
                f()
            self.assertEqual(str(caught.exception), words)

    def test_what_all_classes_derive_from_cannot_be_made(self):
        """object.__reduce__() asks for one, which would end the process."""
        for make in (tn.memory, tn.Graph, lambda: nn.Dense(2, 2), dataset):
            base = next(t for t in type(make()).__mro__ if t.__name__ == "pybind11_object")
            for f in (lambda: make().__reduce__(), base, lambda: base.__new__(base)):
                with self.assertRaises(TypeError):
                    f()


if __name__ == "__main__":
    unittest.main()
