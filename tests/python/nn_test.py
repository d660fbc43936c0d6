"""Layers, optimizers and training from Python."""

import os
import tempfile
import unittest

import numpy as np

import tenure as tn
from support import TestCase


class Net(tn.nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = tn.nn.Dense(4, 8)
        self.blocks = [tn.nn.Dense(8, 8), tn.nn.Dense(8, 8)]
        self.out = tn.nn.Dense(8, 3)
        self.scale = tn.nn.Parameter(tn.ones(3))
        self.seen = tn.nn.Parameter(tn.zeros(1), buffer=True)

    def forward(self, x):
        x = tn.tanh(self.hidden(x))
        for block in self.blocks:
            x = tn.relu(block(x)) + x
        return self.out(x) * self.scale


def data(n=64):
    random = np.random.default_rng(0)
    x = random.standard_normal((n, 4)).astype("float32")
    return tn.tensor(x), tn.tensor((x.sum(1) > 0).astype("int64") + (x[:, 0] > 1))


class Layers(TestCase):
    def test_attributes_are_tracked(self):
        net = Net()
        self.assertEqual([p.name for p in net.parameters()],
                         ["scale", "hidden/kernel", "hidden/bias", "blocks0/kernel", "blocks0/bias",
                          "blocks1/kernel", "blocks1/bias", "out/kernel", "out/bias"])
        self.assertEqual([b.name for b in net.buffers()], ["seen"])
        self.assertEqual(net.kind, "Net")
        self.assertEqual(net(tn.ones((2, 4))).shape, (2, 3))
        self.assertIn("hidden", net.summary(tn.spec((1, 4))))
        self.assertGreater(net.dispose(), 0)

    def test_a_model_is_no_part_of_itself(self):
        net = Net()
        with self.assertRaises(ValueError):
            net.me = net
        self.assertFalse(hasattr(net, "me"))

    def test_what_is_wrong(self):
        class NoForward(tn.nn.Layer):
            pass

        class NoInit(tn.nn.Layer):
            def __init__(self):
                pass

        class Raises(tn.nn.Layer):
            def forward(self, x):
                raise KeyError("mine")

        class GivesText(tn.nn.Layer):
            def forward(self, x):
                return "text"

        with self.assertRaises(NotImplementedError):
            NoForward()(tn.ones(1))
        with self.assertRaises(TypeError):
            NoInit()
        with self.assertRaises(KeyError):
            Raises()(tn.ones(1))
        with self.assertRaises(TypeError):
            GivesText()(tn.ones(1))
        with self.assertRaises(ValueError):
            tn.nn.Dense(2, -1)
        with self.assertRaises(tn.ShapeError):
            tn.nn.Dense(2, 3)(tn.ones((1, 5)))
        with self.assertRaises(TypeError):
            tn.nn.Sequential(3)

    def test_every_layer_applies(self):
        image, rows = tn.ones((2, 8, 8, 3)), tn.ones((2, 5, 8))
        for layer, x, shape in [
            (tn.nn.Conv2d(3, 4, 3, padding="same", relu=True), image, (2, 8, 8, 4)),
            (tn.nn.MaxPool2d(2), image, (2, 4, 4, 3)), (tn.nn.AvgPool2d(2, stride=1), image, (2, 7, 7, 3)),
            (tn.nn.Flatten(), image, (2, 192)), (tn.nn.BatchNorm(3), image, (2, 8, 8, 3)),
            (tn.nn.LayerNorm(8), rows, (2, 5, 8)), (tn.nn.RmsNorm(8), rows, (2, 5, 8)),
            (tn.nn.Dropout(0.5), rows, (2, 5, 8)), (tn.nn.MultiHeadAttention(8, 2), rows, (2, 5, 8)),
            (tn.nn.TransformerBlock(8, 2), rows, (2, 5, 8)),
            (tn.nn.Embedding(10, 4), tn.tensor([[1, 2]]), (1, 2, 4)),
            (tn.nn.Sequential(tn.nn.Dense(8, 4), tn.nn.Relu(), tn.tanh), rows, (2, 5, 4)),
        ]:
            self.assertEqual(layer(x).shape, shape, layer.kind)
        made = []
        dense = tn.nn.Dense(2, 3, kernel_initializer=lambda shape, dtype: made.append(shape) or tn.ones(shape, dtype))
        self.assertEqual((made, dense(tn.ones((1, 2))).tolist()), ([(2, 3)], [[2.0] * 3]))


class Training(TestCase):
    def test_by_hand(self):
        tn.seed(0)
        net, (x, y) = Net(), data()
        optimizer = tn.nn.Adam(net, 0.02)
        losses = []
        for _ in range(60):
            with tn.GradientTape() as tape:
                loss = tn.cross_entropy(net(x), y)
            optimizer.apply(tape.gradient(loss, optimizer.variables))
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 3)
        self.assertEqual(optimizer.steps, 60)
        net.dispose(), optimizer.dispose()

    def test_lbfgs(self):
        w = tn.Variable(tn.tensor([-1.2, 1.0], dtype="float64"), "w")

        def valley():
            x, y = w.value
            return (1 - x) ** 2 + 100 * (y - x * x) ** 2

        progress = tn.nn.Lbfgs([w], iterations=100).step(valley)
        self.assertTrue(progress.converged)
        np.testing.assert_allclose(w.value.numpy(), [1, 1], atol=1e-5)
        w.assign(tn.tensor([-1.2, 1.0], dtype="float64"))
        calls = []

        def failing():
            calls.append(None)
            if len(calls) == 5:
                raise KeyError("no")
            return valley()

        with self.assertRaises(KeyError):
            tn.nn.Lbfgs([w]).step(failing)
        self.assertEqual(w.value.tolist(), [-1.2, 1.0])

    def test_trainer_steps_within_a_budget(self):
        tn.seed(0)
        net, (x, y) = Net(), data()
        optimizer = tn.nn.Sgd(net, 0.1, momentum=0.9)
        trainer = tn.nn.Trainer(net, tn.cross_entropy, optimizer, metrics=[tn.nn.accuracy()], budget="1 MiB")
        plan = trainer.plan(tn.spec((64, 4)), tn.spec(64, "int64"))
        self.assertLess(plan.peak, 2**20)
        first = trainer.step(x, y).loss
        for _ in range(80):
            scores = trainer.step(x, y)
        self.assertLess(scores.loss, first / 3)
        self.assertGreater(scores.metrics[0], 0.9)
        self.assertEqual(trainer.predict(x).shape, (64, 3))
        small = tn.nn.Trainer(net, tn.cross_entropy, optimizer, budget="1 KiB")
        with self.assertRaises(ValueError):
            small.step(x, y)
        del trainer, small
        net.dispose(), optimizer.dispose()

    def test_precision_of_a_trainer(self):
        def peak(precision):
            model = tn.nn.Sequential(*[tn.nn.Dense(32, 32) for _ in range(16)])
            trainer = tn.nn.Trainer(model, tn.mse_loss, tn.nn.Sgd(model.trainable(), 0.1), precision=precision)
            return trainer.plan(tn.zeros((1024, 32)), tn.zeros((1024, 32))).plan.peak

        self.assertLess(peak("bfloat16"), 0.8 * peak("float32"))
        with self.assertRaises(TypeError):
            peak("int8")
        tn.seed(0)
        net, (x, y) = Net(), data(64)
        trainer = tn.nn.Trainer(net, tn.cross_entropy, tn.nn.AdamW(net, 0.02), precision=tn.float16)
        losses = [trainer.step(x, y).loss for _ in range(30)]
        self.assertLess(losses[-1], losses[0] / 2)
        self.assertIn("trainer/scale", [v.name for v in trainer.variables()])

    def test_plans_of_models_without_data(self):
        def trainer():
            model = tn.nn.Sequential(tn.nn.Dense(32, 64), tn.nn.Dense(64, 8))
            return model, tn.nn.Trainer(model, tn.mse_loss, tn.nn.Adam(model, 0.1))

        x, y = tn.zeros((16, 32)), tn.zeros((16, 8))
        with tn.plan_only():
            model, planned = trainer()
        plan, expected = planned.plan(x, y), trainer()[1].plan(x, y)
        self.assertEqual((plan.plan.peak, plan.parameters), (expected.plan.peak, expected.parameters))
        self.assertGreater(plan.plan.flops, 2 * 16 * (32 * 64 + 64 * 8))
        with self.assertRaises(tn.SymbolError):
            model(x)

    def test_fit(self):
        tn.seed(0)
        net, (x, y) = Net(), data(256)
        optimizer = tn.nn.AdamW(net, 0.02)
        trainer = tn.nn.Trainer(net, lambda p, t: tn.cross_entropy(p, t), optimizer)
        batches = tn.nn.from_tensors([x, y]).shuffle(1).batch(32)
        self.assertEqual(len(batches), 8)
        self.assertEqual([t.shape for t in next(iter(batches))], [(32, 4), (32,)])
        seen = []
        history = tn.nn.fit(trainer, batches, epochs=10, validation=batches, progress="none",
                            on_epoch=lambda n, training, validation: seen.append(training.loss) or n == 6)
        self.assertEqual((len(seen), len(history.epochs), history.was_interrupted), (6, 6, True))
        self.assertLess(seen[-1], seen[0])
        with self.assertRaises(ZeroDivisionError):
            tn.nn.fit(trainer, batches, progress="none", on_epoch=lambda *a: 1 / 0)
        del trainer, batches
        net.dispose(), optimizer.dispose()

    def test_weights_go_to_files_and_back(self):
        net, other = Net(), Net()
        x = tn.ones((1, 4))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.safetensors")
            tn.nn.save_weights(net, path)
            tn.nn.load_weights(other, path)
            np.testing.assert_array_equal(net(x).numpy(), other(x).numpy())
            with self.assertRaises(OSError):
                tn.nn.load_weights(net, path + ".not")
            with self.assertRaises(ValueError):
                tn.nn.load_weights(tn.nn.Dense(1, 1), path)
        third = Net()
        tn.nn.load_state_dict(third, tn.nn.state_dict(net))
        np.testing.assert_array_equal(net(x).numpy(), third(x).numpy())
        with self.assertRaises(KeyError):
            tn.nn.load_state_dict(third, {"scale": tn.ones(3)})
        with self.assertRaises(ValueError):
            tn.nn.load_state_dict(third, {**tn.nn.state_dict(net), "scale": tn.ones(4)})

    def test_a_compiled_step(self):
        net, (x, y) = tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Relu(), tn.nn.Dense(8, 3)), data()
        optimizer = tn.nn.Sgd(net, 0.5)

        @tn.function
        def step(x, y):
            with tn.GradientTape() as tape:
                loss = tn.cross_entropy(net(x), y)
            optimizer.apply(tape.gradient(loss, optimizer.variables))
            return loss

        losses = [step(x, y).item() for _ in range(50)]
        self.assertLess(losses[-1], losses[0] / 2)
        step.clear()


if __name__ == "__main__":
    unittest.main()
