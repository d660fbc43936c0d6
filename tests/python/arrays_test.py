"""Arrays of others: NumPy, buffers, DLPack, pickles."""

import copy
import ctypes
import pickle
import unittest
import weakref

import numpy as np

import tenure as tn
from support import TestCase

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]

class FromObjects(TestCase):
    def test_numbers_and_lists(self):
        self.assertEqual(tn.tensor(3).dtype, tn.int64)
        self.assertEqual(tn.tensor([1, 2.5]).dtype, tn.float32)
        self.assertEqual(tn.tensor([True, False]).dtype, "bool")
        self.assertEqual(tn.tensor([]).shape, (0,))
        self.assertEqual(tn.tensor([[1, 2], [3, 4]], dtype=tn.float64).tolist(), [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(tn.tensor([tn.ones(2), tn.zeros(2)]).tolist(), [[1.0, 1.0], [0.0, 0.0]])
        self.assertEqual(tn.tensor([np.ones(2), np.zeros(2)]).shape, (2, 2))

    def test_lists_that_are_no_tensors(self):
        for wrong in ([1, [2]], [[1], [2, 3]], [[1, 2], 3]):
            with self.assertRaises(tn.ShapeError):
                tn.tensor(wrong)
        for wrong in (["a"], "abc", None, object(), {1: 2}, b"12", [None]):
            with self.assertRaises(TypeError):
                tn.tensor(wrong)
        with self.assertRaises(ValueError):
            tn.tensor([300], dtype="uint8")
        with self.assertRaises(ValueError):
            tn.tensor([1.5], dtype="int32")
        with self.assertRaises(TypeError):
            tn.tensor([1], dtype="complex64")
        loop = []
        loop.append(loop)
        with self.assertRaises(tn.ShapeError):
            tn.tensor(loop)

    def test_a_list_that_changes_while_it_is_read(self):
        class Sly:
            def __init__(self, target):
                self.target = target

            def __float__(self):
                self.target.clear()
                return 1.0

        target = []
        target.extend([Sly(target), 2.0, 3.0])
        with self.assertRaises(ValueError):
            tn.tensor(target)

    def test_arrays_of_every_type(self):
        for dtype in DTYPES:
            array = np.arange(6).reshape(2, 3).astype(dtype)
            tensor = tn.tensor(array)
            self.assertEqual(tensor.dtype, dtype)
            np.testing.assert_array_equal(tensor.numpy(), array)
            np.testing.assert_array_equal(tn.tensor(array[:, ::-1]).numpy(), array[:, ::-1])
            np.testing.assert_array_equal(tn.tensor(array.T).numpy(), array.T)
        for dtype in ("complex64", "U3", "datetime64[s]", object, ">f4", "uint64"):
            with self.assertRaises((TypeError, ValueError)):
                tn.tensor(np.zeros(2, dtype))


class Sharing(TestCase):
    def test_tensor_copies_what_others_can_see(self):
        array = np.ones(4, "float32")
        tensor = tn.tensor(array)
        array[:] = 5
        self.assert_list(tensor, [1.0] * 4)
        self.assertEqual(tn.memory().foreign_bytes, 0)

    def test_tensor_takes_over_a_temporary(self):
        tensor = tn.tensor(np.ones(1000, "float32"))
        self.assertEqual(tn.memory().foreign_bytes, 4000)
        self.assert_list(tensor.sum(), 1000.0)
        del tensor
        self.assertEqual(tn.memory().foreign_bytes, 0)
        base = np.ones(1000, "float32")
        part = tn.tensor(base[:10])  # a temporary, but not its memory
        self.assertEqual(tn.memory().foreign_bytes, 0)
        base[:] = 2
        self.assert_list(part, [1.0] * 10)

    def test_asarray_shares_and_holds_the_array(self):
        array = np.ones(4, "float32")
        watch = weakref.ref(array)
        tensor = tn.asarray(array)
        array[0] = 5
        self.assert_list(tensor, [5.0, 1.0, 1.0, 1.0])
        doubled = tensor + tensor
        self.assertEqual(tn.asarray(tensor).id, tensor.id)
        del array
        self.assertIsNotNone(watch())
        tn.exp(tensor)  # never overwrites what is the array's
        self.assert_list(tensor, [5.0, 1.0, 1.0, 1.0])
        del tensor, doubled
        self.assertIsNone(watch())

    def test_numpy_holds_the_data(self):
        tensor = tn.ones(4)
        array = tensor.numpy()
        self.assertIn("numpy", [h.op for h in tn.holders(tensor)])
        for make in (np.asarray, memoryview, lambda x: x.numpy(), lambda x: x.numpy(writable=True)):
            x = tn.ones(3)
            made = [make(x), make(x)]
            self.assertEqual([h.op for h in tn.holders(x)], ["ones", "numpy", "numpy"])
            del made
            self.assertEqual(len(tn.holders(x)), 1)
        self.assertFalse(array.flags.writeable)
        with self.assertRaises(ValueError):
            array[0] = 2
        tensor.dispose()
        np.testing.assert_array_equal(array, [1, 1, 1, 1])
        self.assertGreater(tn.memory().bytes, 0)
        del array
        self.assertEqual(tn.holders(tensor), [])
        with self.assertRaises(tn.DisposedError):
            tensor.numpy()

    def test_a_writable_array_writes_to_the_tensor(self):
        tensor = tn.ones((2, 2))
        array = tensor.numpy(writable=True)
        array[0, 1] = 7
        self.assert_list(tensor, [[1.0, 7.0], [1.0, 1.0]])
        view = tensor.T.numpy(writable=True)
        self.assertEqual(view[1, 0], 7)

    def test_a_tape_refuses_what_was_written_since(self):
        x = tn.ones(3)
        with tn.GradientTape() as tape:
            tape.watch(x)
            y = tn.sum(x * x)
            x.numpy(writable=True)[0] = 5
        with self.assertRaises(tn.GradientError):
            tape.gradient(y, x)

    def test_an_array_of_a_tensor_is_never_computed_in(self):
        x = tn.ones(4)
        array = x.numpy()
        y = tn.exp(x)
        with self.assertRaises(tn.DonationError):
            tn.exp(tn.donate(x))
        np.testing.assert_array_equal(array, np.ones(4))
        del y

    def test_views_and_copies(self):
        x = tn.tensor(np.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(np.asarray(x), np.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(np.array(x, dtype="int32"), np.arange(6).reshape(2, 3))
        self.assertEqual(memoryview(x).shape, (2, 3))
        self.assertTrue(memoryview(x).readonly)
        np.testing.assert_array_equal(x.T.numpy(), np.arange(6.0).reshape(2, 3).T)
        self.assertEqual(bytes(memoryview(tn.tensor([1, 2], dtype="uint8"))), b"\x01\x02")
        with self.assertRaises(TypeError):
            tn.ones(2, "bfloat16").numpy()

    def test_symbols_and_buffers_that_cannot_be(self):
        with self.assertRaises(tn.SymbolError):
            tn.spec((2, 2)).numpy()
        with self.assertRaises((BufferError, TypeError)):
            (ctypes.c_float * 2).from_buffer(tn.ones(2))


class Dlpack(TestCase):
    def test_both_ways_with_numpy(self):
        for dtype in ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]:
            array = np.arange(6).reshape(2, 3).astype(dtype)
            tensor = tn.from_dlpack(array)
            self.assertEqual(tensor.dtype, dtype)
            np.testing.assert_array_equal(tensor.numpy(), array)
            np.testing.assert_array_equal(np.from_dlpack(tensor), array)
            np.testing.assert_array_equal(np.from_dlpack(tensor.T), array.T)
        self.assertEqual(tn.ones(1).__dlpack_device__(), (1, 0))

    def test_bfloat16_and_bool_pass_between_tensors(self):
        x = tn.tensor([1.5, -2.0], dtype="bfloat16")
        self.assert_list(tn.from_dlpack(x), [1.5, -2.0])
        self.assert_list(tn.from_dlpack(tn.tensor([True, False])), [True, False])

    def test_capsules_are_used_once(self):
        x = tn.ones(3)
        for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 0))):
            y = tn.from_dlpack(capsule)
            self.assert_list(y, [1.0] * 3)
            with self.assertRaisesRegex(ValueError, "used before"):
                tn.from_dlpack(capsule)
        self.assertIn("dltensor_versioned", repr(x.__dlpack__(max_version=(1, 1))))
        unused = x.__dlpack__()
        self.assertIn("dlpack", [h.op for h in tn.holders(x)])
        del unused, y
        self.assertEqual(len(tn.holders(x)), 1)

    def test_what_does_not_speak_it(self):
        with self.assertRaises(TypeError):
            tn.from_dlpack(3)

        class Liar:
            def __dlpack__(self, **options):
                return 5

        with self.assertRaises(TypeError):
            tn.from_dlpack(Liar())

        class Raiser:
            def __dlpack__(self, **options):
                raise KeyError("mine")

        with self.assertRaises(KeyError):
            tn.from_dlpack(Raiser())
        with self.assertRaises(ValueError):
            tn.ones(2).__dlpack__(stream=1)
        with self.assertRaises(BufferError):
            tn.ones(2).__dlpack__(dl_device=(2, 0))


class Copies(TestCase):
    def test_pickle_and_copy(self):
        for dtype in [*DTYPES, "bfloat16"]:
            x = tn.cast(tn.tensor([[1, 0, 1], [0, 1, 1]]), dtype)
            for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
                self.assertEqual((y.dtype, y.tolist()), (x.dtype, x.tolist()))
                self.assertNotEqual(y.id, x.id)
        self.assertEqual(pickle.loads(pickle.dumps(x.T)).tolist(), x.T.tolist())
        self.assertIs(pickle.loads(pickle.dumps(tn.float32)), tn.float32)
        self.assertIs(pickle.loads(pickle.dumps(tn.add)), tn.add)

    def test_pickles_that_lie(self):
        restore = tn._tenure._tensor_of_bytes
        for arguments in [(b"123", "float32", (1,)), (b"", "float32", (2,)), (b"1234", "float3", (1,)),
                          (b"\x02", "bool", (1,)), (b"1234", "float32", (-1,)), (b"", "int8", (2**62, 4)),
                          (b"1234", "float32", [1] * 9), ("text", "int8", (4,)), (b"1", "int8", (1.5,))]:
            with self.assertRaises((ValueError, TypeError)):
                restore(*arguments)
        x = tn.ones(2)
        x.dispose()
        with self.assertRaises(tn.DisposedError):
            pickle.dumps(x)


class Names(TestCase):
    def test_what_is_made_of_lists_and_arrays_is_called_so(self):
        strided = np.arange(6.0)[::2]
        for make in (lambda: tn.tensor([1, 2]), lambda: tn.tensor(3.0), lambda: tn.tensor([]), lambda: tn.tensor(strided),
                     lambda: pickle.loads(pickle.dumps(tn.ones(2)))):
            self.assertEqual(make().op, "tensor")
        self.assertEqual(self.allocations(lambda: tn.tensor(strided))[0], 1)
        with self.assertRaisesRegex(tn.ShapeError, "input 0 is int64.2., made by tensor at arrays_test.py"):
            tn.tensor([1, 2]) + tn.ones(3)
        with tn.budget("small", 100), self.assertRaisesRegex(tn.OutOfMemory, "in tensor at arrays_test.py"):
            tn.tensor([1] * 100)


if __name__ == "__main__":
    unittest.main()
