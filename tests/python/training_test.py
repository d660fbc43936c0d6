"""Trainers and callbacks from Python: scores, exceptions, checkpoints."""

import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import tenure as tn
from regression import regression, trainer_of
from support import TestCase


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


if __name__ == "__main__":
    unittest.main()
