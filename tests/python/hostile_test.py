"""Whatever is passed to whatever function, the answer is a result or an exception, and nothing is left."""

import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tenure as tn
from support import TestCase


class Evil:
    """Raises wherever it is asked for something."""

    def __index__(self):
        raise KeyError("evil")

    __float__ = __len__ = __iter__ = __index__

    def __getattr__(self, name):
        raise KeyError("evil")


def junk(choose):
    """Something that no op expects, or that one might."""
    return choose.choice([
        lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 2**31, lambda: -(2**63), lambda: 2**64,
        lambda: 1.5, lambda: math.nan, lambda: math.inf, lambda: "", lambda: "mean", lambda: "float32", lambda: b"x",
        lambda: [], lambda: (), lambda: [0], lambda: (1, 2), lambda: [[1], [2, 3]], lambda: [2**62] * 3, lambda: [1] * 9,
        lambda: {}, lambda: {1}, lambda: object(), lambda: Evil(), lambda: [Evil()], lambda: int, lambda: tn.add, lambda: tn.float32,
        lambda: tn.ones(()), lambda: tn.ones(3), lambda: tn.ones((2, 3)), lambda: tn.zeros((0, 3)), lambda: tn.tensor([1, 0, 2]),
        lambda: tn.ones((2, 3, 4), "float16"), lambda: tn.tensor([True, False]), lambda: [tn.ones(2), tn.ones(2)],
        lambda: tn.ones((2, 4, 4, 3)), lambda: tn.spec((2, 3)), lambda: tn.Variable(tn.ones(3)), lambda: np.ones(3),
        lambda: np.zeros((2, 0)), lambda: np.array(["a"]), lambda: np.float32(2), lambda: memoryview(b"abcd"),
        lambda: slice(1), lambda: ..., lambda: tn.donate(tn.ones(3)), lambda: tn.Generator(1),
    ])()


EXPECTED = (TypeError, ValueError, IndexError, KeyError, OverflowError, tn.TenureError)


class Junk(TestCase):
    def test_every_function_refuses_or_answers(self):
        choose = random.Random(1)
        ops = [op for _, op in sorted(vars(tn).items()) if isinstance(op, tn.Op)]
        ops += [tn.tensor, tn.asarray, tn.from_dlpack, tn.index_update, tn.index_add, tn.keep, tn.holders, tn.donate]
        calls = answers = 0
        with tn.budget("junk", "64 MiB"):
            for _ in range(60):
                for op in ops:
                    arguments = [junk(choose) for _ in range(choose.randrange(5))]
                    names = choose.sample(["axis", "dtype", "stride", "reduction", "x", "generator", "no_such"],
                                          choose.randrange(2))
                    calls += 1
                    try:
                        op(*arguments, **{name: junk(choose) for name in names})
                        answers += 1
                    except EXPECTED:
                        pass
        self.assertGreater(answers, calls // 50)
        arguments = None

    def test_every_method_and_operator(self):
        choose = random.Random(2)
        operators = [n for n in dir(tn.Tensor) if n.startswith("__") and n not in (
            "__class__", "__init_subclass__", "__subclasshook__", "__new__", "__dir__", "__sizeof__")]
        for _ in range(60):
            for name in operators:
                x = choose.choice([lambda: tn.ones((2, 3)), lambda: tn.tensor(2), lambda: tn.spec((2,))])()
                arguments = [junk(choose) for _ in range(choose.randrange(3))]
                try:
                    result = getattr(x, name)
                    if callable(result):
                        result(*arguments)
                except (*EXPECTED, AttributeError, BufferError, ImportError):
                    pass
        x = arguments = result = None

    def test_disposed_and_empty_tensors(self):
        gone, empty = tn.ones((2, 3)), tn.ones((2, 3))
        gone.dispose()
        tn.exp(tn.donate(empty))
        for name, op in sorted(vars(tn).items()):
            if isinstance(op, tn.Op):
                for x in (gone, empty):
                    for arguments in ((x,), (x, 1), (x, x), (x, x, x), ([x, x],)):
                        try:
                            op(*arguments)
                        except EXPECTED:
                            pass
        for x in (gone, empty):
            for attribute in dir(x):
                try:
                    value = getattr(x, attribute)
                    if attribute in ("item", "tolist", "numpy", "dispose", "keep", "__repr__", "__len__", "__hash__"):
                        value()
                except (*EXPECTED, AttributeError):
                    pass
            self.assertIsInstance(hash(x), int)
        value = None


class Torch(TestCase):
    """DLPack between Tenure and PyTorch, where that is installed."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed: python3-torch")
        self.torch = torch

    def test_both_ways_without_a_copy(self):
        torch = self.torch
        for dtype in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
            theirs = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
            ours = tn.from_dlpack(theirs)
            self.assertEqual((ours.dtype, ours.tolist()), (dtype, theirs.tolist()))
            theirs[0, 0] = 7
            self.assertEqual(ours[0, 0].item(), 7)
            back = torch.from_dlpack(ours.T)
            self.assertEqual(back.tolist(), theirs.T.tolist())
            self.assertEqual(tn.from_dlpack(theirs.T).tolist(), theirs.T.tolist())
        x = tn.ones(5)
        y = torch.from_dlpack(x)
        x.dispose()
        self.assertEqual(y.sum().item(), 5)
        del y, ours, back, theirs
        self.assertEqual(tn.memory().foreign_bytes, 0)


class Commands(unittest.TestCase):
    def test_a_program_is_profiled_by_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            script, recording = os.path.join(folder, "train.py"), os.path.join(folder, "run.tenure")
            with open(script, "w") as file:
                file.write("import tenure as tn\nx = tn.ones(123456)\ny = tn.exp(x)\n")
            command = [sys.executable, "-m", "tenure"]
            done = subprocess.run([*command, "profile", "-o", recording, "--", sys.executable, script],
                                  capture_output=True, text=True, timeout=120)
            if "was not built with this package" in done.stderr:
                self.skipTest("the command was not built")
            self.assertEqual(done.returncode, 0, done.stderr)
            top = subprocess.run([*command, "top", recording], capture_output=True, text=True, timeout=120)
            self.assertIn("train.py:2", top.stdout)
            self.assertIn("train.py:3", top.stdout)


if __name__ == "__main__":
    unittest.main()
