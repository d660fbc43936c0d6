"""fit() tells of its progress where Python's users look: sys.stdout, a terminal, the cell of a notebook."""

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import tenure as tn
from support import TestCase

nn = tn.nn
LINE = r"epoch {}/2  4 batches in 0:0\d, [\d.]+/s  loss [\d.]+  accuracy [\d.]+  val loss [\d.]+  val accuracy [\d.]+  .* live, .* peak"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(io.StringIO):
    def write(self, text):
        raise OSError("the disk is full")


def fake_notebook(shown):
    """Modules that look like IPython's in a notebook; what is displayed goes to `shown`."""
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.HTML = lambda text: text
    handle = types.SimpleNamespace(update=shown.append)

    def show(value, display_id):
        shown.append(value)
        return handle

    display.display = show
    return {"IPython": ipython, "IPython.display": display}


class Progress(TestCase):
    def fit(self, out, progress="auto", **options):
        tn.seed(0)
        net = tn.nn.Sequential(tn.nn.Dense(4, 2))
        trainer = tn.nn.Trainer(net, tn.cross_entropy, tn.nn.Sgd(net, 0.1), metrics=[tn.nn.accuracy()])
        batches = tn.nn.from_tensors([tn.normal((64, 4)), tn.zeros(64, "int64")]).batch(16)
        with contextlib.redirect_stdout(out):
            return tn.nn.fit(trainer, batches, epochs=2, validation=batches, progress=progress, **options)

    def test_lines_go_to_stdout(self):
        for progress in ("auto", "lines"):
            out = io.StringIO()
            self.fit(out, progress)
            lines = out.getvalue().splitlines()
            self.assertEqual(len(lines), 2)
            for number, line in enumerate(lines, 1):
                self.assertRegex(line, f"^{LINE.format(number)}$")

    def test_a_terminal_has_a_bar(self):
        out = Terminal()
        self.fit(out)
        lines = out.getvalue().split("\n")
        self.assertEqual((len(lines), lines[2]), (3, ""))
        for number, line in enumerate(lines[:2], 1):
            self.assertRegex(line, f"\r\033\\[K{LINE.format(number)}$")

    def test_a_real_terminal(self):
        program = ("import tenure as tn; from tenure import nn; n = nn.Dense(2, 2); "
                   "b = nn.from_tensors([tn.ones((8, 2)), tn.zeros(8, 'int64')]).batch(4); print('before');"
                   "nn.fit(nn.Trainer(n, tn.cross_entropy, nn.Sgd(n, 0.1)), b); print('after')")
        ours, theirs = pty.openpty()
        with subprocess.Popen([sys.executable, "-B", "-c", program], stdout=theirs) as child:
            os.close(theirs)
            seen = b""
            with contextlib.suppress(OSError):  # what a terminal gives when nobody is at its other end
                while part := os.read(ours, 4096):
                    seen += part
            self.assertEqual(child.wait(60), 0)
        os.close(ours)
        self.assertRegex(seen.decode(), r"(?s)^before.*\r\x1b\[Kepoch 1/1 .*after\s*$")  # in order

    def test_a_cell_of_a_notebook(self):
        shown = []
        with mock.patch.dict(sys.modules, fake_notebook(shown)):
            out = io.StringIO()
            self.fit(out)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual(shown[0], "")
        self.assertNotRegex(shown[-1], "[\r\033]")
        self.assertEqual(shown[-1].count("<pre"), 2)
        self.assertIn("epoch 2/2", shown[-1])

    def test_ipython_without_a_notebook_is_a_terminal(self):
        shown = []
        modules = fake_notebook(shown)
        modules["IPython"].get_ipython = lambda: types.SimpleNamespace()
        with mock.patch.dict(sys.modules, modules):
            out = io.StringIO()
            self.fit(out)
        self.assertEqual((shown, len(out.getvalue().splitlines())), ([], 2))

    def test_nothing_is_told_where_nobody_listens(self):
        out = io.StringIO()
        self.fit(out, "none")
        self.assertEqual(out.getvalue(), "")
        for deaf in (Broken(), None):
            self.assertEqual(len(self.fit(deaf).epochs), 2)
        with self.assertRaisesRegex(ValueError, "'auto', 'bar', 'lines', 'none'"):
            self.fit(out, "loud")


class Signals(TestCase):
    """Handlers of Python's run between two steps, though nothing else of Python's does."""

    def train(self, progress, out=None, callbacks=(), epochs=10**6, **options):
        model = nn.Dense(3, 2)
        trainer = nn.Trainer(model, tn.mse_loss, nn.Sgd(model, 0.01))
        batches = nn.from_tensors([tn.ones((64, 3)), tn.ones((64, 2))]).batch(4)
        with contextlib.redirect_stdout(io.StringIO() if out is None else out):
            return nn.fit(trainer, batches, epochs=epochs, progress=progress, callbacks=callbacks, **options)

    def after(self, seconds, handler, kind=signal.SIGINT):
        before = signal.signal(kind, handler)
        self.addCleanup(signal.signal, kind, before)
        timer = threading.Timer(seconds, os.kill, (os.getpid(), kind))
        timer.start()
        self.addCleanup(timer.join)

    def test_control_c_ends_it_after_a_step(self):
        for progress, out in [("none", None), ("lines", None), ("bar", Terminal())]:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "run.ckpt")
                self.after(0.2, signal.default_int_handler)
                history = self.train(progress, out, [nn.SaveCheckpoint(path), nn.Callback()])
                self.assertEqual((history.reason, history.was_interrupted), ("interrupted", True), progress)
                self.assertTrue(os.path.exists(path))

    def test_control_c_ends_validation_and_what_fit_is_not(self):
        model = nn.Dense(3, 2)
        trainer = nn.Trainer(model, tn.mse_loss, nn.Sgd(model, 0.01))
        many = nn.from_tensors([tn.ones((64, 3)), tn.ones((64, 2))]).repeat(10**6).batch(4)
        self.after(0.2, signal.default_int_handler)
        few = many.take(2)
        history = nn.fit(trainer, few, validation=many, progress="none")
        self.assertEqual((history.reason, len(history.epochs)), ("interrupted", 0))
        for call in (nn.evaluate, nn.predict):
            self.after(0.2, signal.default_int_handler)
            with self.assertRaises(KeyboardInterrupt):
                call(trainer, many)

    def test_what_other_handlers_raise_comes_out(self):
        class Enough(BaseException):
            pass

        def stop(*_):
            raise Enough()

        for progress, out in [("none", None), ("lines", None), ("bar", Terminal())]:
            self.after(0.2, stop, signal.SIGUSR1)
            with self.assertRaises(Enough):
                self.train(progress, out)

    def test_a_handler_that_raises_nothing_changes_nothing(self):
        seen = []
        self.after(0.1, lambda *_: seen.append(1), signal.SIGUSR1)
        self.train("none", on_epoch=lambda number, training, validation: bool(seen))
        self.assertEqual(seen, [1])

    def test_what_comes_with_the_last_line_is_raised(self):
        class Press(io.StringIO):
            def write(self, text):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.train("lines", Press(), epochs=1)
        self.assertEqual(self.train("none", epochs=1).reason, "")


if __name__ == "__main__":
    unittest.main()
