"""Optimizers, schedules, callbacks, checkpoints and datasets from Python."""

import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import tenure as tn
from support import TestCase


def regression(n=64):
    random = np.random.default_rng(0)
    x = random.standard_normal((n, 4)).astype("float32")
    return tn.tensor(x), tn.tensor(x.sum(1, keepdims=True))


def trainer_of(model, make=lambda model: tn.nn.Adam(model, 0.05), **options):
    optimizer = make(model)
    return tn.nn.Trainer(model, tn.mse_loss, optimizer, **options), optimizer


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


class Callbacks(TestCase):
    def test_of_pythons_are_called_and_saved(self):
        class Watch(tn.nn.Callback):
            def __init__(self):
                super().__init__()
                self.seen, self.epochs = [], 0

            def on_begin(self, fit):
                self.fit = fit  # a cycle, which fit() undoes
                self.seen.append("begin")

            def on_step(self, fit, scores):
                self.seen.append("step")

            def on_epoch(self, fit, epoch):
                self.epochs += 1
                self.seen.append(round(tn.nn.score_of(fit, epoch, "loss"), 9) == round(epoch.training.loss, 9))
                if epoch.number == 2:
                    fit.stop("enough")

            def on_end(self, fit, history):
                self.seen.append(history.reason)

            def name(self):
                return "watch"

            def state(self):
                return {"epochs": self.epochs, "text": "here", "rate": 0.5}

            def set_state(self, state):
                self.epochs = state["epochs"] if state else 0
                self.loaded = state

        x, y = regression()
        batches = tn.data.from_tensors([x, y]).batch(32)
        model = tn.nn.Dense(4, 1)
        trainer, _ = trainer_of(model)
        watch = Watch()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.safetensors"
            history = tn.nn.fit(trainer, batches, epochs=9, progress="none",
                                callbacks=[watch, tn.nn.SaveCheckpoint(path)])
            self.assertEqual(watch.seen, ["begin", "step", "step", True, "step", "step", True, "enough"])
            self.assertEqual((history.reason, history.was_interrupted, len(history.epochs)), ("enough", True, 2))
            again = Watch()
            fit = tn.nn.Fit(trainer, batches, epochs=4, progress="none", callbacks=[again])
            fit.load(path)
            self.assertEqual((again.epochs, again.loaded), (2, {"epochs": 2, "text": "here", "rate": 0.5}))
            self.assertEqual([e.number for e in fit.run().epochs][-2:], [3, 4])
            self.assertIs(fit.trainer, trainer)
            fit._let_go()
            again.fit = None
            with self.assertRaises(OSError):
                fit.load(path.with_name("not"))
        watch.fit = None

    def test_exceptions_come_out_with_their_traceback(self):
        class Breaks(tn.nn.Callback):
            def __init__(self, method):
                super().__init__()
                setattr(self, method, self.break_it)

            def break_it(self, *arguments):
                raise KeyError("mine")

        x, y = regression()
        batches = tn.data.from_tensors([x, y]).batch(32)
        model = tn.nn.Dense(4, 1)
        trainer, _ = trainer_of(model)
        for method in ("on_begin", "on_step", "on_epoch", "after_epoch", "on_end"):
            try:
                tn.nn.fit(trainer, batches, progress="none", callbacks=[Breaks(method)])
                self.fail(method)
            except KeyError as error:
                last = error.__traceback__
                while last.tb_next:
                    last = last.tb_next
                self.assertEqual(last.tb_frame.f_code.co_name, "break_it")
        for wrong in (3, [3], [None], [object()]):
            with self.assertRaises(TypeError):
                tn.nn.fit(trainer, batches, progress="none", callbacks=wrong)

    def test_of_cpps(self):
        x, y = regression()
        batches = tn.data.from_tensors([x, y]).batch(32)
        with tempfile.TemporaryDirectory() as folder:
            best, log = os.path.join(folder, "best.safetensors"), os.path.join(folder, "log.csv")
            model = tn.nn.Dense(4, 1)
            trainer, optimizer = trainer_of(model)
            history = tn.nn.fit(trainer, batches, epochs=30, validation=batches, progress="none", callbacks=[
                tn.nn.EarlyStopping(patience=2, least_change=1e9), tn.nn.SaveBest(best, restore=True), tn.nn.CsvLog(log),
                tn.nn.ReduceOnPlateau(patience=1, least_change=1e9, factor=0.5)])
            self.assertLess(len(history.epochs), 30)
            self.assertLess(optimizer.learning_rate, 0.05)
            other = tn.nn.Dense(4, 1)
            report = tn.nn.load_weights(other, best)
            self.assertEqual((report.loaded, report.left_out), (["kernel", "bias"], []))
            table = tn.data.read_csv(log)
            self.assertEqual(table.rows, len(history.epochs))
            self.assertEqual(tn.nn.predict(trainer, batches).shape, (64, 1))

    def test_divergence_is_an_error(self):
        x, y = regression()
        batches = tn.data.from_tensors([x * 1e30, y]).batch(32)
        model = tn.nn.Dense(4, 1)
        trainer, _ = trainer_of(model)
        with self.assertRaises(tn.DivergedError) as caught:
            tn.nn.fit(trainer, batches, epochs=3, progress="none")
        self.assertGreaterEqual(caught.exception.step, 1)
        self.assertFalse(np.isfinite(caught.exception.loss))
        tn.nn.fit(trainer, batches, epochs=1, progress="none", stop_at_nan=False)


class Trainers(TestCase):
    def test_scores_that_come_later_outlive_their_scope(self):
        x, y = regression()

        def losses(step):
            tn.seed(1)
            trainer, _ = trainer_of(tn.nn.Dense(4, 1), metrics=[tn.nn.Metric("l1", tn.l1_loss)])
            found = [step(trainer) for _ in range(4)]
            return [(one.loss, one.metrics) for one in found]

        def in_scope(trainer):
            with tn.scope():
                late = trainer.step_ahead(x, y)
            return late.get()

        expected = losses(lambda trainer: trainer.step(x, y))
        self.assertEqual(losses(lambda trainer: tn.tidy(lambda: trainer.step_ahead(x, y)).get()), expected)
        self.assertEqual(losses(in_scope), expected)

    def test_threads_ask_for_scores_at_once(self):
        x, y = regression()
        trainer, _ = trainer_of(tn.nn.Dense(4, 1))
        late, found = [trainer.step_ahead(x, y) for _ in range(50)], []
        ask = lambda: found.append([one.get().loss for one in late])
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [[one.get().loss for one in late]] * 4)

    def test_loss_scale_and_clipping(self):
        x, y = regression()
        tn.seed(0)
        model = tn.nn.Dense(4, 1, dtype="float16")
        trainer, _ = trainer_of(model, loss_scale=tn.nn.LossScale(1024.0), clip_norm=1.0)
        x, y = tn.cast(x, "float16"), tn.cast(y, "float16")
        first = trainer.step_ahead(x, y).get().loss
        for _ in range(100):
            last = trainer.step(x, y).loss
        self.assertLess(last, first / 4)
        self.assertIn("trainer/scale", " ".join(v.name for v in trainer.variables()))
        self.assertIn("training", repr(tn.nn.summarize(trainer, x, y)) + trainer.summary(x, y))
        with self.assertRaises(TypeError):
            trainer_of(model, loss_scale=1024)
        with self.assertRaises(TypeError):
            trainer_of(model, metrics=["accuracy"])

    def test_lenient_loading(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.safetensors")
            tn.nn.save_weights(tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Dense(8, 2)), path)
            other = tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Dense(8, 3))
            with self.assertRaises(tn.CheckpointError) as caught:
                tn.nn.load_weights(other, path)
            self.assertEqual((caught.exception.path, len(caught.exception.problems)), (path, 2))
            report = tn.nn.load_weights(other, path, partial=True)
            self.assertEqual(report.loaded, ["0/kernel", "0/bias"])
            self.assertEqual(len(report.left_out), 2)
            half = tn.nn.Sequential(tn.nn.Dense(4, 8, dtype="float16"), tn.nn.Dense(8, 2, dtype="float16"))
            self.assertEqual(len(tn.nn.load_weights(half, path, cast=True).loaded), 4)


class Layers(TestCase):
    def test_each_layer_applies(self):
        image, rows, line = tn.ones((2, 8, 8, 4)), tn.ones((2, 5, 8)), tn.ones((2, 8, 4))
        volume = tn.ones((2, 4, 4, 4, 4))
        nn = tn.nn
        for layer, x, shape in [
            (nn.Conv(1, 4, 6, 3), line, (2, 6, 6)), (nn.Conv1d(4, 6, 3), line, (2, 6, 6)),
            (nn.Conv2d(4, 6, 3, channels="first", padding=1), tn.ones((2, 4, 8, 8)), (2, 6, 8, 8)),
            (nn.Conv3d(4, 6, 3), volume, (2, 2, 2, 2, 6)),
            (nn.ConvTranspose(2, 4, 6, 2, stride=2), image, (2, 16, 16, 6)),
            (nn.ConvTranspose1d(4, 6, 2, stride=2), line, (2, 16, 6)),
            (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), image, (2, 16, 16, 6)),
            (nn.ConvTranspose3d(4, 6, 2, stride=2), volume, (2, 8, 8, 8, 6)),
            (nn.MaxPool1d(2), line, (2, 4, 4)), (nn.MaxPool3d(2), volume, (2, 2, 2, 2, 4)),
            (nn.AvgPool1d(2), line, (2, 4, 4)), (nn.AvgPool3d(2), volume, (2, 2, 2, 2, 4)),
            (nn.MaxPool2d(3, stride=2, ceil_mode=True), image, (2, 4, 4, 4)),
            (nn.AdaptiveMaxPool1d(3), line, (2, 3, 4)), (nn.AdaptiveMaxPool2d(3), image, (2, 3, 3, 4)),
            (nn.AdaptiveMaxPool3d(2), volume, (2, 2, 2, 2, 4)), (nn.AdaptiveAvgPool1d(3), line, (2, 3, 4)),
            (nn.AdaptiveAvgPool2d((2, 1)), image, (2, 2, 1, 4)), (nn.AdaptiveAvgPool3d(1), volume, (2, 1, 1, 1, 4)),
            (nn.GlobalAvgPool2d(), image, (2, 4)), (nn.Upsample(2), image, (2, 16, 16, 4)),
            (nn.GroupNorm(2, 4), image, (2, 8, 8, 4)), (nn.InstanceNorm(4), image, (2, 8, 8, 4)),
            (nn.BatchNorm(4, layout="first"), tn.ones((2, 4, 8, 8)), (2, 4, 8, 8)),
            (nn.PRelu(4), image, (2, 8, 8, 4)), (nn.Lstm(8, 6, layers=2, bidirectional=True), rows, (2, 5, 12)),
            (nn.Gru(8, 6), rows, (2, 5, 6)), (nn.Tanh(), rows, rows.shape), (nn.Sigmoid(), rows, rows.shape),
            (nn.Gelu(), rows, rows.shape), (nn.Silu(), rows, rows.shape), (nn.Softmax(), rows, rows.shape),
            (nn.Lambda("Twice", lambda x: x * 2), rows, rows.shape),
        ]:
            self.assertEqual(layer(x).shape, shape, layer)
        with self.assertRaises(ValueError):
            nn.Conv2d(4, 6, 3, channels="middle")
        with self.assertRaises(TypeError):
            nn.Lambda("Text", lambda x: "text")(rows)

    def test_recurrent_states(self):
        layer = tn.nn.Lstm(3, 4)
        x = tn.normal((2, 5, 3))
        whole = layer.run(x)
        first = layer.run(x[:, :2])
        rest = layer.run(x[:, 2:], h=first.h, c=first.c)
        np.testing.assert_allclose(whole.h.numpy(), rest.h.numpy(), rtol=1e-5)
        self.assertEqual(layer.run(x, lengths=tn.tensor([5, 2])).sequence[1, 4].tolist(), [0.0] * 4)
        self.assertIsNone(tn.nn.Gru(3, 4).run(x).c)
        with self.assertRaises(tn.ShapeError):
            layer.run(x, h=tn.ones((1, 1, 1)))

    def test_attention_with_masks_memory_and_cache(self):
        layer = tn.nn.MultiHeadAttention(8, 2, causal=True)
        x = tn.normal((1, 4, 8))
        whole = layer(x)
        cache = tn.nn.KeyValueCache()
        parts = [layer(x[:, i:i + 1], cache=cache) for i in range(4)]
        np.testing.assert_allclose(tn.concat(parts, 1).numpy(), whole.numpy(), atol=1e-5)
        self.assertEqual((cache.length, cache.keys.shape), (4, (1, 2, 4, 4)))
        free = tn.nn.MultiHeadAttention(8, 2)
        self.assertEqual(free(x, tn.normal((1, 7, 8))).shape, (1, 4, 8))
        seen = tn.tensor([[[[True, True, False, False]]]])
        np.testing.assert_allclose(free(x, mask=seen).numpy(), free(x, x[:, :2]).numpy(), atol=1e-5)
        block = tn.nn.TransformerBlock(8, 2)
        self.assertEqual(block(x, cache=tn.nn.KeyValueCache()).shape, (1, 4, 8))

    def test_initializers(self):
        init = tn.nn.init
        self.assertEqual(init.constant(3)((2,)).tolist(), [3.0, 3.0])
        self.assertEqual(init.uniform(1, 2)((4,), "float64").dtype, "float64")
        dense = tn.nn.Dense(2, 2, kernel_initializer=init.constant(2), bias_initializer="ones")
        self.assertEqual(dense(tn.ones((1, 2))).tolist(), [[5.0, 5.0]])
        for wrong, kind in (("no_such", ValueError), ("__name__", ValueError), (3, TypeError)):
            with self.assertRaises(kind):
                tn.nn.Dense(2, 2, kernel_initializer=wrong)
        padded = tn.nn.Embedding(4, 2, padding_index=0)
        self.assertEqual(padded(tn.tensor([0])).tolist(), [[0.0, 0.0]])

    def test_repr_tells(self):
        class Net(tn.nn.Layer):
            def __init__(self):
                super().__init__()
                self.body = tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Relu(), tn.tanh)
                self.heads = [tn.nn.Dense(8, 2)]
                self.scale = tn.nn.Parameter(tn.ones(2))

        self.assertEqual(repr(Net()), "\n".join([
            "Net(", "  body: Sequential(", "    0: Dense(4 -> 8)", "    1: Relu()", "    2: tanh", "  )",
            "  heads0: Dense(8 -> 2)", "  scale: float32[2]", ")"]))
        self.assertIn("query: Dense", repr(tn.nn.MultiHeadAttention(8, 2)))
        self.assertEqual(repr(tn.nn.accuracy()), "<metric accuracy>")


class Datasets(TestCase):
    def test_map_and_functions(self):
        squares = tn.data.from_function(5, lambda i: [tn.tensor(i * i)])
        self.assertEqual([e[0].item() for e in squares], [0, 1, 4, 9, 16])
        doubled = squares.map(lambda e: e[0] * 2)
        self.assertEqual(doubled[-1][0].item(), 32)
        self.assertEqual([e[0].tolist() for e in doubled.batch(2)], [[0, 2], [8, 18], [32]])
        noisy = squares.map(lambda e, g: [e[0] + tn.uniform((), generator=g)], seed=3)
        self.assertEqual([e[0].item() for e in noisy], [e[0].item() for e in noisy])
        self.assertNotEqual(noisy.at(0, epoch=0)[0].item(), noisy.at(0, epoch=1)[0].item())
        self.assertEqual(len(squares.repeat(2).skip(3).take(4)), 4)
        with self.assertRaises(IndexError):
            squares[5]
        with self.assertRaises(ZeroDivisionError):
            squares.map(lambda e: 1 / 0)[0]
        with self.assertRaises(TypeError):
            squares.map(lambda e: ["text"])[0]

    def test_a_pass_goes_on_where_it_stood(self):
        data = tn.data.from_function(6, lambda i: tn.tensor(i)).shuffle(1)
        walk = data.epoch(2)
        seen = [next(walk)[0].item() for _ in range(3)]
        position = walk.position
        self.assertEqual(position, tn.data.Position(2, 3))
        rest = [e[0].item() for e in data.resume(position)]
        self.assertEqual(sorted(seen + rest), [0, 1, 2, 3, 4, 5])
        self.assertEqual([e[0].item() for e in walk], rest)

    def test_prefetch_runs_python_on_its_thread_and_ends_early(self):
        threads = set()

        def make(i):
            threads.add(threading.get_ident())
            return tn.full(10, float(i))

        data = tn.data.from_function(100, make).prefetch(3)
        self.assertEqual(data.ahead, 3)
        for i, (x,) in enumerate(data):
            self.assertEqual(x[0].item(), i)
        self.assertNotIn(threading.get_ident(), threads)
        for _ in range(20):
            walk = iter(data)
            next(walk)
            del walk  # waits for the element in the making, which needs the interpreter
        broken = tn.data.from_function(3, lambda i: 1 / 0).prefetch(1)
        with self.assertRaises(ZeroDivisionError):
            next(iter(broken))
        del x

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "table.csv"
            table.write_text("a;b;c\n1;0.5;x\n2;;y\n")
            read = tn.data.read_csv(table, separator=";")
            self.assertEqual((read.rows, [c.name for c in read.columns], read["a"].tolist()), (2, ["a", "b", "c"], [1, 2]))
            self.assertEqual(read.column("c").words, ["x", "y"])
            self.assertEqual(tn.data.read_csv(table, separator=";", types={"a": "float64"})["a"].dtype, "float64")
            for wrong in (lambda: read["no"], lambda: tn.data.read_csv(table, separator="ab")):
                with self.assertRaises(ValueError):
                    wrong()
            image = tn.tensor(np.arange(48).reshape(4, 4, 3), dtype="uint8")
            os.mkdir(os.path.join(folder, "cats"))
            path = os.path.join(folder, "cats", "one.png")
            tn.data.write_png(path, image)
            self.assertEqual(tn.data.read_png(path).tolist(), image.tolist())
            images = tn.data.image_folder(folder)
            self.assertEqual((images.classes, images.dataset[0][1].item()), (["cats"], 0))
            self.assertFalse(tn.data.has_mnist(folder))
            with self.assertRaises(OSError):
                tn.data.mnist(folder)
        digits = tn.data.digits(3, 1)
        self.assertEqual([t.shape for t in digits[0]], [(28, 28), ()])


if __name__ == "__main__":
    unittest.main()
