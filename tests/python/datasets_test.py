"""Datasets from Python: functions, passes, files."""

import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import tenure as tn
from support import TestCase


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
