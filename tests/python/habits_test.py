"""What people write from habit works, or says what to write instead."""

import copy
import pickle
import re
import subprocess
import sys
import unittest

import numpy as np

import tenure as tn
from support import TestCase
from tenure import _foreign


class Names(TestCase):
    def test_names_of_others_say_what_they_are_here(self):
        for module, names in ((tn, _foreign.FUNCTIONS), (tn.nn, _foreign.LAYERS)):
            for name, here in names.items():
                self.assertFalse(hasattr(module, name), name)
                with self.assertRaisesRegex(AttributeError, re.escape(f"'{name}'; here it is {here}")):
                    getattr(module, name)
        x = tn.ones(2)
        for name, here in _foreign.METHODS.items():
            self.assertFalse(hasattr(x, name), name)
            with self.assertRaisesRegex(AttributeError, re.escape(f"'{name}'; here it is {here}")):
                getattr(x, name)
        self.assertEqual(set(dir(x)) & set(_foreign.METHODS), set())
        with self.assertRaisesRegex(AttributeError, "no attribute 'no_such_name'$"):
            tn.no_such_name

    def test_what_is_named_instead_exists(self):
        for here in [*_foreign.FUNCTIONS.values(), *_foreign.LAYERS.values(), *_foreign.METHODS.values()]:
            for name in re.findall(r"\btn(?:\.\w+)+", here):
                value = tn
                for part in name.split(".")[1:]:
                    value = getattr(value, part)
            for name in re.findall(r"\bx\.(\w+)", here):
                self.assertTrue(hasattr(tn.ones(1), name), here)

    def test_methods_as_numpy_calls_them(self):
        x = tn.tensor([1.0, 2.0, 4.0])
        self.assert_list(x.astype("int64"), [1, 2, 4])
        self.assertAlmostEqual(x.std(correction=0).item(), float(np.std([1, 2, 4])), 5)
        self.assertNotEqual(x.copy().id, x.id)


class Lists(TestCase):
    def test_what_stands_alone_is_gathered(self):
        x = tn.ones((2, 6))
        self.assertEqual(x.reshape(3, 4).shape, (3, 4))
        self.assertEqual(tn.reshape(x, 3, -1).shape, (3, 4))
        self.assertEqual(tn.ones((2, 3, 4)).permute(2, 0, 1).shape, (4, 2, 3))
        self.assertEqual(tn.zeros(2, 3).shape, (2, 3))
        self.assertEqual(tn.zeros(2, 3, 4, dtype="int32").shape, (2, 3, 4))
        self.assertEqual(tn.ones(2, 3, "int64").dtype, tn.int64)
        self.assertEqual(tn.einsum("ij,kj->ik", x, x).shape, (2, 2))
        self.assertEqual(tn.einsum("ij->ji", x).shape, (6, 2))
        self.assertEqual(x.tile(2, 2).shape, (4, 12))
        self.assert_list(tn.full(2, 3), [3, 3])  # a shape, and what it is full of

    def test_what_is_none_is_refused(self):
        x = tn.ones(4)
        for wrong in (lambda: x.reshape(2, "a"), lambda: x.reshape(2, 2.0), lambda: tn.exp(1, 2, 3), lambda: tn.zeros(2, 3.5),
                      lambda: tn.softmax(x, 0, 1), lambda: x.reshape(2, 2, dtype=3)):
            with self.assertRaises(TypeError):
                wrong()
        with self.assertRaises(tn.ShapeError):
            x.reshape(3, 3)

    def test_lists_are_tensors_also_where_there_are_overloads(self):
        logits = tn.ones((2, 3))
        self.assertEqual(tn.cross_entropy(logits, [0, 1]).item(), tn.cross_entropy(logits, tn.tensor([0, 1])).item())
        with self.assertRaisesRegex(TypeError, "missing"):
            tn.cross_entropy(logits)
        self.assert_list(tn.tensor(range(3)), [0, 1, 2])


class Others(TestCase):
    def test_truth(self):
        with self.assertRaisesRegex(ValueError, r"any\(\) or all\(\)"):
            bool(tn.ones(2) > 0)
        self.assertTrue(tn.ones((1, 1)))
        with self.assertRaisesRegex(tn.SymbolError, r"no data(?s:.)*cond\(\)"):
            tn.function(lambda x: x if x.sum() > 0 else -x)(tn.ones(2))

    def test_variables_have_the_methods_of_what_they_hold(self):
        w = tn.Variable(tn.tensor([1.0, 2.0]), name="w")
        with tn.GradientTape() as tape:
            loss = w.sum() * w.mean()
        self.assert_list(tape.gradient(loss, w), [3.0, 3.0])
        self.assertEqual(([float(e) for e in w], float(w[0]), int(w[1]), bool(w[0])), ([1.0, 2.0], 1.0, 2, True))
        for name in ("no_such_name", "grad", "_private"):
            self.assertFalse(hasattr(w, name), name)

    def test_variables_change_in_place(self):
        w = same = tn.Variable(tn.tensor([1.0, 2.0]))
        w += 1
        w *= tn.tensor([2.0, 3.0])
        w[0] = 5
        self.assertIs(w, same)
        self.assert_list(w.value, [5.0, 9.0])
        self.assert_list(w > 6, [False, True])
        w.assign([3, 4])
        self.assert_list(w.value, [3.0, 4.0])
        with self.assertRaises(tn.DTypeError):
            w.assign(tn.tensor([3, 4]))
        with self.assertRaises(tn.ShapeError):
            w += tn.ones((3, 3))
        self.assert_list(w.value, [3.0, 4.0])

    def test_elements_are_looked_for(self):
        x = tn.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertTrue(3 in x and 5 not in x and "a" not in x)

    def test_types_of_arrays_have_the_names_of_numpy(self):
        for dtype in ("uint16", "complex128", ">f4", "datetime64[D]", "object"):
            with self.assertRaisesRegex(tn.DTypeError, str(np.dtype(dtype)).replace("[", r"\[")):
                tn.tensor(np.zeros(2, dtype))

    def test_what_is_no_function_is_refused(self):
        with self.assertRaisesRegex(TypeError, "a function must be given, not int"):
            tn.function(5)

    def test_lines_of_cells(self):
        program = ("from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
                   "s.run_cell('1', store_history=True);"
                   "s.run_cell('import tenure as tn\\nx = tn.ones(2)\\nprint(x.created)', store_history=True)")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if "No module named 'IPython'" in done.stderr:
            self.skipTest("IPython is not installed")
        self.assertIn("In[2]:2", done.stdout, done.stderr)

    def test_variables_are_copied(self):
        w = tn.Variable(tn.tensor([1.0, 2.0]), name="w", trainable=False)
        for again in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w), copy.copy(w)):
            again.assign_add(tn.ones(2))
            self.assertEqual((again.name, again.trainable, again.numpy().tolist()), ("w", False, [2.0, 3.0]))
        self.assert_list(w.value, [1.0, 2.0])

    def test_models(self):
        net = tn.nn.Sequential([tn.nn.Dense(2, 3), tn.relu])
        again = tn.nn.Sequential(tn.nn.Dense(2, 3), tn.nn.Relu())
        again.load_state_dict(net.state_dict())
        self.assert_list(again(tn.ones((1, 2))), net(tn.ones((1, 2))).tolist())
        self.assertEqual(sorted(tn.nn.Dense(2, 3).state_dict()), ["bias", "kernel"])

    def test_fit_takes_lists_of_batches(self):
        net = tn.nn.Dense(4, 2)
        trainer = tn.nn.Trainer(net, tn.cross_entropy, tn.nn.Sgd(net, 0.1))
        x, y = np.ones((8, 4), "float32"), np.zeros(8, "int64")

        class Batches:
            def __len__(self):
                return 3

            def __getitem__(self, i):
                return x, y

        for batches in ([(x, y)] * 3, Batches()):
            history = tn.nn.fit(trainer, batches, validation=batches, epochs=2, progress="none")
            self.assertEqual(len(history.epochs), 2)
            self.assertIsNotNone(history.epochs[0].validation)
        self.assertEqual(trainer.step(x, y).loss < 1, True)
        for wrong in ((x, y), [], iter([(x, y)]), tn.ones((8, 4)), 5, None):
            with self.assertRaises(TypeError):
                tn.nn.fit(trainer, wrong, progress="none")
        with self.assertRaisesRegex(TypeError, r"validation must be a Dataset.*from_tensors"):
            tn.nn.fit(trainer, [(x, y)], validation=(x, y), progress="none")

    def test_tensors_of_torch(self):
        program = ("import torch, tenure as tn; t = torch.arange(3.0);"
                   "print(tn.tensor(t).tolist(), tn.exp(t * 0).tolist(), (tn.ones(3) + t).tolist(), tn.tensor([t, t]).shape)")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if "No module named 'torch'" in done.stderr:
            self.skipTest("torch is not installed")
        self.assertEqual(done.stdout, "[0.0, 1.0, 2.0] [1.0, 1.0, 1.0] [1.0, 2.0, 3.0] (2, 3)\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
