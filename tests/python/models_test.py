"""Models of several inputs and outputs; layers that are replaced, copied and pickled; autocast; plots."""

import copy
import gc
import pickle
import threading
import unittest
import weakref
import xml.dom.minidom

import numpy as np

import tenure as tn
from support import TestCase

nn = tn.nn


class Two(nn.Layer):
    """Two inputs, two outputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Dense(3, 4), nn.Dense(2, 4)
        self.head, self.gate = nn.Dense(4, 2), nn.Dense(4, 1)

    def forward(self, a, b, scale=1.0):
        hidden = tn.tanh(self.left(a) * scale + self.right(b))
        return self.head(hidden), self.gate(hidden)


class Plain(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = []
        for _ in range(2):
            self.blocks.append(nn.Dense(4, 4))
        self.heads = {"a": nn.Dense(4, 2)}
        self.scale = nn.Parameter(tn.ones(2))
        self.seen = tn.Variable(tn.zeros(1), name="seen", trainable=False)

    def forward(self, x):
        for block in self.blocks:
            x = tn.relu(block(x))
        return self.heads["a"](x) * self.scale


def both(outputs, targets):
    return tn.cross_entropy(outputs[0], targets[0]) + tn.mse_loss(outputs[1], targets[1])


def batch(n=8):
    a, b = tn.normal((n, 3)), tn.normal((n, 2))
    return (a, b), (tn.cast(a[:, 0] > 0, "int64"), b[:, :1] * 0.5)


class SeveralInputs(TestCase):
    def test_a_call_takes_and_gives_what_forward_does(self):
        net = Two()
        (a, b), _ = batch()
        first, second = net(a, b)
        self.assertEqual((first.shape, second.shape), ((8, 2), (8, 1)))
        self.assertNotEqual(net(a, b, scale=0.0)[0].tolist(), first.tolist())
        compiled = tn.function(lambda x, y: net(x, y))
        self.assertTrue(tn.allclose(compiled(a, b)[1], second))
        with self.assertRaises(TypeError):
            net(a)
        with self.assertRaises(tn.ShapeError):
            net(b, a)

    def test_they_are_trained(self):
        tn.seed(1)
        net = Two()
        inputs, targets = batch(32)
        for options in ({}, {"accumulate": 2}, {"budget": "1 MiB"}):
            optimizer = nn.Adam(net, 0.02)
            trainer = nn.Trainer(net, both, optimizer, inputs=2, **options)
            first = trainer.step(inputs, targets).loss
            self.assertEqual(trainer.plan(inputs, targets).batch, 32 * (3 + 2 + 1) * 4 + 32 * 8)
            for _ in range(20):
                last = trainer.step(inputs, targets).loss
            self.assertLess(last, first)
        self.assertEqual([p.shape for p in trainer.predict(inputs)], [(32, 2), (32, 1)])
        self.assertAlmostEqual(trainer.score(inputs, targets).loss, last, delta=0.1)
        self.assertIn("left", net.summary((tn.spec((1, 3)), tn.spec((1, 2)))))
        for wrong in ((inputs[0], targets), (inputs, targets[0]), ((), targets), (inputs, ())):
            with self.assertRaises((ValueError, TypeError, IndexError, tn.TenureError)):
                trainer.step(*wrong)

    def test_fit(self):
        tn.seed(2)
        net = Two()
        (a, b), (c, d) = batch(32)
        trainer = nn.Trainer(net, both, nn.Adam(net, 0.02), inputs=2,
                             metrics=[nn.Metric("right", lambda p, t: tn.mean(tn.cast(p[0].argmax(-1) == t[0], "float32")))])
        data = nn.from_tensors([a, b, c, d]).batch(16)
        history = nn.fit(trainer, data, validation=data, epochs=3, progress="none")
        self.assertLess(history.epochs[-1].training.loss, history.epochs[0].training.loss)
        nn.fit(trainer, [((a, b), (c, d))], epochs=1, progress="none")
        self.assertEqual(history.metrics, ["right"])
        with self.assertRaisesRegex(tn.ValueError, "2 inputs, target"):
            nn.fit(trainer, nn.from_tensors([a, b]).batch(16), progress="none")


class Replacing(TestCase):
    def test_a_layer_takes_the_place_of_another(self):
        net = Two()
        net.head = nn.Dense(4, 5)
        (a, b), _ = batch()
        self.assertEqual(net(a, b)[0].shape, (8, 5))
        names = [p.name for p in net.parameters()]
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertEqual(dict((p.name, p.variable.shape) for p in net.parameters())["head/kernel"], (4, 5))
        del net.gate
        self.assertFalse(any(p.name.startswith("gate") for p in net.parameters()))

    def test_a_trainer_does_not_go_on_with_what_is_gone(self):
        net = nn.Sequential(nn.Dense(3, 4), tn.tanh, nn.Dense(4, 1))
        trainer = nn.Trainer(net, tn.mse_loss, nn.Sgd(net, 0.1))
        x, y = tn.ones((4, 3)), tn.ones((4, 1))
        trainer.step(x, y)
        net[2] = nn.Dense(4, 1)
        for call in (trainer.step, trainer.score, trainer.plan):
            with self.assertRaisesRegex(tn.ValueError, "make an optimizer and a trainer"):
                call(x, y)
        nn.Trainer(net, tn.mse_loss, nn.Sgd(net, 0.1)).step(x, y)

    def test_lists_dicts_and_variables_are_tracked(self):
        net = Plain()
        names = {v.name for v in net.variables()}
        self.assertEqual(names, {"blocks0/kernel", "blocks0/bias", "blocks1/kernel", "blocks1/bias", "heads_a/kernel",
                                 "heads_a/bias", "scale", "seen"})
        net.blocks.append(nn.Dense(4, 4))
        net.blocks[0] = nn.Dense(4, 4, bias=False)
        self.assertIn("blocks2/kernel", net.state_dict())
        self.assertNotIn("blocks0/bias", net.state_dict())
        net.blocks.pop()
        net.blocks = [nn.Dense(4, 4)]
        self.assertEqual([n for n in net.state_dict() if n.startswith("blocks")], ["blocks0/kernel", "blocks0/bias"])
        with self.assertRaises(tn.ValueError):
            net.blocks.append(net)
        self.assertEqual(len(net.blocks), 1)

    def test_parts_are_found_in_containers_of_any_depth(self):
        dense = lambda: nn.Dense(1, 1, bias=False)  # noqa: E731
        for make, names in [
            (lambda: [dense(), None, tn.relu], ["x0/kernel"]),
            (lambda: [[dense()], [dense(), dense()]], ["x0_0/kernel", "x1_0/kernel", "x1_1/kernel"]),
            (lambda: [dense(), {"a": dense()}], ["x0/kernel", "x1_a/kernel"]),
            (lambda: {"a": [dense(), dense()], "b": "text"}, ["x_a_0/kernel", "x_a_1/kernel"]),
            (lambda: ((dense(), "name"),), ["x0_0/kernel"]),
            (lambda: [tn.Variable(tn.ones(1))], ["x0"]),
            (lambda: {"w": tn.Variable(tn.ones(1)), "d": dense()}, ["x_w", "x_d/kernel"]),
            (lambda: [1.0, "text", {}, [[]], ()], []),
        ]:
            net = nn.Layer()
            net.x = make()
            self.assertEqual([p.name for p in net.parameters()], names)
            self.assertEqual([p.name for p in copy.deepcopy(net).parameters()], names)
            net.x = None
            self.assertEqual(net.parameters(), [])
        net = nn.Layer()
        net.stages = []
        for _ in range(2):
            net.stages.append([])
            net.stages[-1].append(dense())
        net.stages[0].append(None)
        self.assertEqual(list(net.state_dict()), ["stages0_0/kernel", "stages1_0/kernel"])
        gone = net.stages.pop(0)
        gone.append(dense())
        self.assertEqual(list(net.state_dict()), ["stages0_0/kernel"])
        for place in (lambda: setattr(net, "y", [nn.Parameter(tn.ones(1))]), lambda: net.stages.append(nn.Parameter(tn.ones(1)))):
            with self.assertRaisesRegex(TypeError, r"\[[01]\] is a Parameter, .* tn.Variable\(\)"):
                place()
        self.assertEqual((hasattr(net, "y"), len(net.stages)), (False, 1))
        net.columns = [[], []]
        net.columns[1].append(dense())
        self.assertEqual(list(net.state_dict()), ["stages0_0/kernel", "columns1_0/kernel"])
        del net.columns
        net.tied = [(net.stages[0][0], "again")]
        self.assertEqual(net.parameter_count, 1)

    def test_lists_without_parts_are_quick(self):
        net = nn.Layer()
        net.losses = []
        for i in range(20000):
            net.losses.append(float(i))
        self.assertEqual(len(net.losses), 20000)

    def test_a_parameter_is_not_overwritten_by_a_tensor(self):
        net = Plain()
        with self.assertRaisesRegex(TypeError, r"scale.assign\(value\)"):
            net.scale = tn.zeros(2)
        net.scale = nn.Parameter(tn.zeros(2))
        self.assertEqual(net.state_dict()["scale"].tolist(), [0.0, 0.0])
        net.scale = None
        self.assertNotIn("scale", net.state_dict())
        with self.assertRaisesRegex(AttributeError, "'kind' is taken"):
            net.kind = nn.Dense(2, 2)
        self.assertFalse([name for name in net.state_dict() if name.startswith("kind")])


LAYERS = [
    lambda: nn.Dense(3, 4, kernel_initializer="he_normal"), lambda: nn.Conv2d(2, 3, 3, padding="same"), lambda: nn.Relu(),
    lambda: nn.MaxPool2d(2), lambda: nn.BatchNorm(4), lambda: nn.Lstm(3, 4, layers=2, bidirectional=True),
    lambda: nn.TransformerBlock(8, 2), lambda: nn.Embedding(5, 3), lambda: nn.Upsample(2, mode="linear"), Plain, Two,
    lambda: nn.Sequential(nn.Dense(3, 3), tn.tanh, nn.Dropout(0.1), nn.Sequential(nn.Dense(3, 1))),
]


class Copies(TestCase):
    def test_copies_have_the_numbers_and_share_nothing(self):
        for make in LAYERS:
            for duplicate in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
                tn.seed(3)
                layer = make()
                layer.eval()
                for named in layer.variables():
                    named.variable.assign(tn.normal(named.variable.shape))
                state = tn.default_generator().state
                again = duplicate(layer)
                self.assertEqual(tn.default_generator().state, state)
                self.assertIs(type(again), type(layer))
                self.assertEqual((again.modes(), repr(again)), (layer.modes(), repr(layer)))
                before, after = layer.state_dict(), again.state_dict()
                self.assertEqual(list(before), list(after))
                for name, value in before.items():
                    self.assertEqual(value.tolist(), after[name].tolist(), name)
                for named in again.variables():
                    named.variable.assign(named.variable.value * 0 + 7)
                for name, value in before.items():
                    self.assertEqual(value.tolist(), layer.state_dict()[name].tolist(), name)

    def test_a_copy_is_trained_alone(self):
        net = nn.Sequential(nn.Dense(3, 4), tn.tanh, nn.Dense(4, 1))
        best = copy.deepcopy(net)
        x = tn.ones((2, 3))
        before = best(x).tolist()
        trainer = nn.Trainer(net, tn.mse_loss, nn.Sgd(net, 0.1))
        trainer.step(x, tn.zeros((2, 1)))
        self.assertEqual(best(x).tolist(), before)
        self.assertNotEqual(net(x).tolist(), before)

    def test_pickles_that_lie(self):
        dense = nn.Dense(2, 2)
        maker, arguments, (values, flags, rest) = dense.__reduce_ex__(4)
        for state in (({}, flags, {}), ({**values, "more": tn.ones(1)}, flags, {}), (values, [], {}),
                      ({"kernel": tn.ones(3), "bias": tn.ones(2)}, flags, {})):
            with self.assertRaises((tn.ValueError, ValueError, KeyError)):
                maker(*arguments).__setstate__(state)
        for kind in (nn.Dense, nn.Adam, nn.Trainer, tn.Variable, tn.Generator, tn.Graph, nn.Callback, nn.Sequential):
            unmade = kind.__new__(kind)
            for use in (repr, lambda v: v.name, lambda v: v.parameters(), lambda v: v.variables, tn.exp, lambda v: v.state):
                try:
                    use(unmade)
                except (tn.ValueError, AttributeError, TypeError):
                    pass


class Wrong(TestCase):
    def test_cycles_of_layers_are_collected(self):
        class Cycle(nn.Layer):
            def __init__(self):
                super().__init__()
                self.inner = nn.Dense(2, 2)
                self.me = [self.forward]
                self.list = [nn.Dense(2, 2)]

            def forward(self, x):
                return self.inner(x)

        before = tn.memory().tensors
        for _ in range(3):
            Cycle()(tn.ones((1, 2)))
        gc.collect()
        self.assertEqual(tn.memory().tensors, before)

    def test_cycles_of_trainers_are_collected(self):
        class Net(nn.Layer):
            """Its own trainer, and that of a subclass."""

            def __init__(self, trainer):
                super().__init__()
                self.inner = nn.Dense(2, 2)
                self.trainer = trainer(self, tn.mse_loss, nn.Adam(self))

            def forward(self, x):
                return self.inner(x)

        class Experiment:
            """Its method is the loss."""

            def __init__(self, trainer):
                self.model = nn.Sequential(nn.Dense(2, 2))
                self.trainer = trainer(self.model, self.loss, nn.Adam(self.model))

            def loss(self, prediction, target):
                return tn.mse_loss(prediction, target)

        class Own(nn.Trainer):
            pass

        before = tn.memory().tensors
        x = tn.ones((1, 2))
        for kind in (Net, Experiment):
            for trainer in (nn.Trainer, Own):
                made = kind(trainer)
                made.trainer.step(x, x)
                gc.collect()  # what is in use stays
                self.assertGreater(made.trainer.step(x, x).loss, 0)
                nn.fit(made.trainer, [(x, x)], progress="none")
                watch = weakref.ref(made)
                del made
                gc.collect()
                self.assertIsNone(watch(), (kind, trainer))
        with self.assertRaises(TypeError):
            nn.Trainer(3, tn.mse_loss, 4)
        bare = nn.Trainer.__new__(nn.Trainer)
        gc.collect()
        del x, bare
        self.assertEqual(tn.memory().tensors, before)

    def test_a_forward_that_nobody_would_call_is_refused(self):
        with self.assertRaisesRegex(TypeError, "derive from tn.nn.Layer"):
            class Mine(nn.Dense):
                def forward(self, x):
                    return x

        class Fine(nn.Dense):
            def __init__(self):
                super().__init__(2, 3)
                self.note = "mine"

        self.assertEqual(copy.deepcopy(Fine()).note, "mine")


class Autocast(TestCase):
    def test_products_are_bfloat16_within(self):
        x, w = tn.ones((4, 4)), tn.Variable(tn.ones((4, 4)))
        self.assertEqual((x @ w).dtype, tn.float32)
        with tn.autocast():
            y = x @ w
            self.assertEqual((y.dtype, tn.softmax(x).dtype), (tn.bfloat16, tn.float32))
            with tn.autocast("float16"):
                self.assertEqual((x @ w).dtype, tn.float16)
            with tn.autocast(tn.float32):
                self.assertEqual((x @ w).dtype, tn.float32)
        self.assertEqual((x @ w).dtype, tn.float32)
        with tn.GradientTape() as tape, tn.autocast():
            loss = tn.mean(tn.cast(x @ w, "float32"))
        self.assertEqual(tape.gradient(loss, w).dtype, tn.float32)
        f = tn.function(lambda a: a @ w)
        self.assertEqual(f(x).dtype, tn.float32)
        with tn.autocast():
            self.assertEqual(f(x).dtype, tn.bfloat16)
        with self.assertRaises(KeyError), tn.autocast():
            raise KeyError("mine")
        self.assertEqual((x @ w).dtype, tn.float32)
        left, block = [], tn.autocast()
        with block:
            def leave():
                with self.assertRaisesRegex(tn.ValueError, "another thread"):
                    block.__exit__(None, None, None)
                left.append(True)

            thread = threading.Thread(target=leave)
            thread.start()
            thread.join()
        self.assertEqual((left, (x @ w).dtype), ([True], tn.float32))
        with block, self.assertRaises(tn.ValueError):
            block.__enter__()
        with self.assertRaisesRegex(TypeError, "int8 is no precision"):
            tn.autocast("int8")


class Plots(TestCase):
    def history(self, epochs=3):
        net = nn.Dense(3, 2)
        trainer = nn.Trainer(net, tn.cross_entropy, nn.Sgd(net, 0.1), metrics=[nn.accuracy()])
        data = nn.from_tensors([tn.normal((8, 3)), tn.zeros(8, "int64")]).batch(4)
        return nn.fit(trainer, data, validation=data, epochs=epochs, progress="none")

    def test_a_history_is_drawn(self):
        for epochs in (1, 3, 40):
            history = self.history(epochs)
            picture = xml.dom.minidom.parseString(history.plot().svg)
            words = [t.firstChild.data for t in picture.getElementsByTagName("text")]
            self.assertIn("loss, of validation dashed", words)
            self.assertIn("accuracy, of validation dashed", words)
            self.assertIn("1", words)
            self.assertEqual(len(picture.getElementsByTagName("polyline")), 4 if epochs > 1 else 0)
            self.assertIn("<svg", history._repr_html_())
            self.assertIn("<svg", history.plot()._repr_svg_())


if __name__ == "__main__":
    unittest.main()
