"""Devices in Python: on the CPU, and on the emulated GPU where the build has it (tests/cuda_emulator)."""

import os
import pickle
import subprocess
import sys
import threading
import unittest

import numpy as np

import tenure as tn
from support import TestCase

IS_EMULATED = "TENURE_EMULATED_GPUS" in os.environ
GPU = "cuda:0"


class Everywhere(TestCase):
    def test_the_cpu_is_the_default(self):
        self.assertEqual(tn.default_device(), "cpu")
        x = tn.ones([2])
        self.assertEqual(x.to("cpu").id, x.id)
        with tn.device("cpu") as entered:
            self.assertEqual((entered.name, str(entered), tn.default_device()), ("cpu", "cpu", "cpu"))

    def test_wrong_names_are_said(self):
        x = tn.ones([2])
        for wrong in ("gpu", "", "cuda:x", "cpu:3"):
            with self.assertRaisesRegex(tn.ValueError, "names no device"):
                x.to(wrong)
        for wrong in (3, None, tn.float16):
            with self.assertRaises(TypeError):
                x.to(wrong)
        self.assertFalse(tn.cuda_tf32())
        tn.set_cuda_tf32(True)
        self.assertTrue(tn.cuda_tf32())
        tn.set_cuda_tf32(False)
        with self.assertRaisesRegex(AttributeError, r'x.to\("cuda:0"\)'):
            x.cuda()
        with self.assertRaisesRegex(AttributeError, r"tn.gpus\(\)"):
            tn.cuda

    def test_without_a_gpu_it_is_a_typed_error(self):
        program = ("import tenure as tn\n"
                   "assert tn.gpus() == []\n"
                   "try:\n    tn.ones([2]).to('cuda')\n"
                   "except tn.DeviceError as error:\n    print(error)\n")
        environment = {**os.environ, "TENURE_CUDA_LIBRARIES": "/no such folder"}
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        self.assertRegex(run.stdout, r"cuda\(0\).*(install|configure)")

    def test_a_block_is_left_by_its_thread(self):
        block = tn.device("cpu")
        block.__enter__()
        errors = []

        def leave():
            try:
                block.__exit__(None, None, None)
            except tn.ValueError as error:
                errors.append(str(error))

        other = threading.Thread(target=leave)
        other.start()
        other.join()
        self.assertIn("another thread", errors[0])
        block.__exit__(None, None, None)


@unittest.skipUnless(IS_EMULATED, "this build has no emulated GPU")
class OnAGpu(TestCase):
    def test_tensors_move(self):
        x = tn.tensor([[1.0, 2.0], [3.0, 4.0]])
        there = x.to("cuda")
        self.assertEqual((there.device, tn.gpus()[0]), (GPU, GPU))
        self.assertEqual((there * 2 + 1).tolist(), [[3.0, 5.0], [7.0, 9.0]])
        self.assertEqual((there * tn.tensor(2.0) + 1).device, GPU)
        self.assertIn("4.", repr(there))
        self.assertEqual(pickle.loads(pickle.dumps(there)).tolist(), x.tolist())
        with self.assertRaisesRegex(tn.DeviceError, "on cpu, made by .* at devices_test.py"):
            there + x
        with self.assertRaisesRegex(tn.DeviceError, "host has no pointer"):
            there.numpy()
        self.assertEqual(there.to("cpu").numpy().sum(), 10)

    def test_blocks_and_books(self):
        before = tn.memory(GPU).bytes
        with tn.device(GPU):
            self.assertEqual(tn.default_device(), GPU)
            x = tn.zeros([256])
            self.assertEqual(tn.memory().bytes, before + 1024)
            with tn.device("cpu"):
                self.assertEqual(tn.ones([2]).device, "cpu")
        self.assertEqual(x.device, GPU)
        self.assertEqual(tn.default_device(), "cpu")
        x.dispose()
        self.assertEqual(tn.memory(GPU).bytes, before)
        self.assertEqual(tn.ones([2]).to(GPU).tolist(), [1.0, 1.0])
        self.assertGreater(tn.memory("pinned:0").bytes, 0)

    def test_lists_and_arrays_become_tensors_there(self):
        array = np.arange(6.0, dtype="float32").reshape(2, 3)
        with tn.device(GPU):
            for make in (lambda: tn.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), lambda: tn.tensor(array),
                         lambda: tn.tensor(array.copy()), lambda: tn.tensor(array.T).T, lambda: tn.tensor(list(array)),
                         lambda: tn.Variable(array.tolist()).value, lambda: tn.tensor(array, dtype="float64"),
                         lambda: pickle.loads(pickle.dumps(tn.tensor(array)))):
                made = make()
                self.assertEqual((made.device, made.tolist()), (GPU, array.tolist()))
            self.assertEqual(tn.tensor([]).shape, (0,))
            self.assertEqual(tn.asarray(array).device, "cpu")  # it lies in the array's memory
            self.assertEqual(tn.tensor(tn.ones(2).to("cpu")).device, "cpu")
        x = tn.tensor(array).to(GPU)  # lists beside it are where it is
        self.assertEqual((x[[1, 0]].device, x[[1, 0], [0, 0]].tolist()), (GPU, [3.0, 0.0]))
        x[0] = 7
        x[1] = [1, 2, 3]
        x[[True, False], 0] = 5
        self.assertEqual((x.device, x.tolist()), (GPU, [[5.0, 7.0, 7.0], [1.0, 2.0, 3.0]]))
        self.assertEqual(tn.index_add(x, 0, [1, 1, 1]).tolist()[0], [6.0, 8.0, 8.0])

    def test_models_train_there(self):
        tn.seed(1)
        model = tn.nn.Sequential(tn.nn.Dense(3, 4), tn.nn.Relu(), tn.nn.Dense(4, 2))
        self.assertIs(model.to(GPU), model)
        adam = tn.nn.Adam(model.trainable(), 0.05)
        trainer = tn.nn.Trainer(model, tn.cross_entropy, adam)
        x, labels = tn.normal([5, 3]), tn.tensor([0, 1, 0, 1, 1])
        first = trainer.step(x, labels).loss
        self.assertEqual(trainer.device, GPU)
        self.assertLess(trainer.step(x, labels).loss, first)
        late = tn.tidy(lambda: trainer.step_ahead(x, labels))  # what the GPU has not come to is kept
        again = [late.get().loss for _ in range(2)]
        self.assertLess(again[0], first)
        self.assertEqual(again[0], again[1])
        self.assertIs(trainer.to("cpu"), trainer)
        self.assertEqual({v.variable.device for v in trainer.variables()}, {"cpu"})
        self.assertLess(trainer.step(x, labels).loss, first)
        variable = tn.Variable(tn.ones([2]))
        self.assertEqual(variable.to(GPU).device, GPU)

    def test_dlpack(self):
        x = tn.tensor([[1.0, 2.0], [3.0, 4.0]]).to(GPU)
        self.assertEqual(x.__dlpack_device__(), (2, 0))
        for stream in (None, 1, 2, -1):
            self.assertEqual(tn.from_dlpack(x.__dlpack__(stream=stream)).tolist(), x.tolist())
        view = tn.from_dlpack(x.T)
        self.assertEqual((view.device, view.tolist()), (GPU, [[1.0, 3.0], [2.0, 4.0]]))
        before = tn.memory(GPU).tensors
        capsule = x.__dlpack__(max_version=(1, 0))
        self.assertEqual(tn.memory(GPU).tensors, before + 1)
        del capsule  # nobody took it
        self.assertEqual(tn.memory(GPU).tensors, before)
        here_again = tn.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
        self.assertEqual((here_again.device, here_again.tolist()), ("cpu", x.tolist()))
        for wrong, error in (({"stream": 0}, ValueError), ({"dl_device": (1, 0), "copy": False}, BufferError),
                             ({"dl_device": (2, 7)}, BufferError)):
            with self.assertRaises(error):
                x.__dlpack__(**wrong)
        with self.assertRaises(ValueError):
            tn.ones([2]).__dlpack__(stream=1)


if __name__ == "__main__":
    unittest.main()
