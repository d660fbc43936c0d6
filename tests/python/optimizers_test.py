"""Optimizers and schedules from Python."""

import unittest

import tenure as tn
from regression import regression, trainer_of
from support import TestCase


class Optimizers(TestCase):
    def test_every_one_lowers_the_loss(self):
        x, y = regression()
        made = [c for c in vars(tn.nn).values()
                if isinstance(c, type) and issubclass(c, tn.nn.Optimizer) and c is not tn.nn.Optimizer]
        self.assertGreaterEqual(len(made), 9)
        for kind in made:
            tn.seed(3)
            model = tn.nn.Dense(4, 1)
            optimizer = kind(model, 0.02)
            losses = []
            for _ in range(60):
                with tn.GradientTape() as tape:
                    loss = tn.mse_loss(model(x), y)
                optimizer.apply(tape.gradient(loss, optimizer.variables))
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0] * 0.9, kind.__name__)
            self.assertEqual(optimizer.steps, 60)
            model.dispose(), optimizer.dispose()

    def test_options_are_checked(self):
        model = tn.nn.Dense(4, 1)
        for make in (lambda: tn.nn.Adam(model, beta1=1.0), lambda: tn.nn.Rmsprop(model, alpha=-1),
                     lambda: tn.nn.Sgd(model, 0.1, momentum=-0.5)):
            with self.assertRaises(ValueError):
                make()
        for make in (lambda: tn.nn.Adam(model, beta3=0.1), lambda: tn.nn.Adam(model, beta1="a"), lambda: tn.nn.Adam(3),
                     lambda: tn.nn.Adam([3]), lambda: tn.nn.Adam()):
            with self.assertRaises(TypeError):
                make()

    def test_groups_of_parameters(self):
        x, y = regression()
        model = tn.nn.Sequential(tn.nn.Dense(4, 4), tn.nn.Dense(4, 1))
        before = tn.nn.state_dict(model)
        before = {name: value.tolist() for name, value in before.items()}
        optimizer = tn.nn.AdamW(model, 0.1)
        optimizer.set_options(model[0].parameters(), rate_factor=0.0)
        with tn.GradientTape() as tape:
            loss = tn.mse_loss(model(x), y)
        optimizer.apply(tape.gradient(loss, optimizer.variables))
        after = {name: value.tolist() for name, value in tn.nn.state_dict(model).items()}
        self.assertEqual(before["0/kernel"], after["0/kernel"])
        self.assertNotEqual(before["1/kernel"], after["1/kernel"])
        with self.assertRaises(ValueError):
            optimizer.set_options(model, weight_decay=0.1)  # a step is compiled
        with self.assertRaises(ValueError):
            tn.nn.Sgd(model[0], 0.1).set_options(model[1])

    def test_a_gradient_of_none_leaves_its_parameter(self):
        model = tn.nn.Dense(2, 2)
        optimizer = tn.nn.Sgd(model, 1.0)
        before = model.kernel.value.tolist()
        optimizer.apply([None, tn.ones(2)])
        self.assertEqual((model.kernel.value.tolist(), optimizer.parameters[1].variable.value.tolist()),
                         (before, [-1.0, -1.0]))
        with self.assertRaises(ValueError):
            optimizer.apply([None])

    def test_averages(self):
        model = tn.nn.Dense(1, 1, bias=False, kernel_initializer="zeros")
        optimizer = tn.nn.Sgd(model, 1.0)
        optimizer.keep_averages(0.5)
        optimizer.apply([tn.full((1, 1), -4.0)])
        self.assertEqual(model.kernel.value.item(), 4.0)
        optimizer.swap_averages()
        self.assertEqual(model.kernel.value.item(), 2.0)
        optimizer.swap_averages()
        self.assertEqual(model.kernel.value.item(), 4.0)
        with self.assertRaises(ValueError):
            tn.nn.Sgd(model, 1.0).swap_averages()

    def test_gradients_are_clipped(self):
        gradients = [tn.full(3, 2.0), tn.full(1, 2.0)]
        self.assertEqual(tn.nn.global_norm(gradients).item(), 4.0)
        self.assertEqual([g.tolist() for g in tn.nn.clip_by_global_norm(gradients, 2.0)], [[1.0] * 3, [1.0]])
        self.assertEqual([g.tolist() for g in tn.nn.clip_by_value(gradients, 0.5)], [[0.5] * 3, [0.5]])


class Schedules(TestCase):
    def test_rates(self):
        s = tn.nn.schedule
        self.assertEqual([s.linear(1.0, 4)(i) for i in range(6)], [1.0, 0.75, 0.5, 0.25, 0.0, 0.0])
        self.assertEqual(s.steps(1.0, 2, 0.5)(4), 0.25)
        self.assertEqual(s.warm_up(2, s.constant(1.0))(0) < 1.0, True)
        self.assertEqual(s.warm_up(2, lambda step: 3.0)(5), 3.0)
        rates = [s.one_cycle(1.0, 10)(i) for i in range(10)]
        self.assertEqual(max(rates), 1.0)
        for wrong in (lambda: s.cosine(1.0, 0), lambda: s.one_cycle(1.0, 1)):
            with self.assertRaises(ValueError):
                wrong()

    def test_fit_follows_one(self):
        x, y = regression()
        batches = tn.data.from_tensors([x, y]).batch(32)
        model = tn.nn.Dense(4, 1)
        trainer, optimizer = trainer_of(model)
        seen = []
        tn.nn.fit(trainer, batches, epochs=2, progress="none", schedule=lambda step: seen.append(step) or 0.5 / (1 + step))
        self.assertEqual(seen[:4], [0, 1, 2, 3])
        self.assertAlmostEqual(optimizer.learning_rate, 0.125)
        with self.assertRaises(ZeroDivisionError):
            tn.nn.fit(trainer, batches, progress="none", schedule=lambda step: 1 / 0)
        with self.assertRaises(TypeError):
            tn.nn.fit(trainer, batches, progress="none", schedule=3)


if __name__ == "__main__":
    unittest.main()
