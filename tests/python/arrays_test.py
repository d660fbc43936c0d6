"""Arrays of others: NumPy, buffers, DLPack, pickles; and indexing by NumPy's rules."""

import copy
import ctypes
import itertools
import pickle
import unittest
import weakref

import numpy as np

import tenure as tn
from support import TestCase, here

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


SIDE = 128
ONE = SIDE * SIDE * 4  # bytes of a result that is large enough to be given up


def from_capsule(x):
    """What others may write to, as NumPy cannot: a capsule of DLPack's without versions."""
    array = np.from_dlpack(x)
    elements = (ctypes.c_float * array.size).from_address(array.ctypes.data)
    elements.holder = array
    return np.frombuffer(elements, dtype=np.float32).reshape(array.shape)


class InABudgetThatEvicts(TestCase):
    EXPORTS = {"numpy": lambda x: x.numpy(), "asarray": np.asarray, "memoryview": lambda x: np.asarray(memoryview(x)),
               "dlpack": np.from_dlpack, "writable": lambda x: x.numpy(writable=True)}
    VIEWS = {"all": lambda x: x, "turned": lambda x: x.T, "rows": lambda x: x[3:5]}

    def fill(self):
        """More results than there is room for: what can be given up, is."""
        before = tn.memory().evictions
        made = [tn.tanh(tn.ones((SIDE, SIDE)) * i) for i in range(1, 10)]
        self.assertGreater(tn.memory().evictions, before)
        return made

    def check_filled(self, made):
        for i, one in reversed(list(enumerate(made, 1))):
            np.testing.assert_allclose(one.tolist(), np.full((SIDE, SIDE), np.tanh(i)), rtol=1e-6)

    def test_elements_stay_while_an_array_has_them(self):
        for way, export in self.EXPORTS.items():
            for what, view in self.VIEWS.items():
                with self.subTest(way=way, what=what), tn.budget("b", 5 * ONE, evict=True):
                    x = tn.exp(tn.ones((SIDE, SIDE)))
                    array = export(view(x))
                    made = self.fill()
                    np.testing.assert_allclose(array, np.exp(np.ones(array.shape)), rtol=1e-6)
                    self.assertEqual(array.ctypes.data, view(x).numpy().ctypes.data)
                    self.check_filled(made)
                    np.testing.assert_allclose(array, np.exp(np.ones(array.shape)), rtol=1e-6)

    def test_lists_of_elements_hold_nothing(self):
        with tn.budget("b", 5 * ONE, evict=True):
            self.check_filled(self.fill())
            made = self.fill()
            self.check_filled(made)

    def test_elements_outlive_the_tensor(self):
        for way, export in self.EXPORTS.items():
            with self.subTest(way=way), tn.budget("b", 5 * ONE, evict=True):
                x = tn.exp(tn.ones((SIDE, SIDE)))
                array = export(x)
                x.dispose()
                self.check_filled(self.fill())
                np.testing.assert_allclose(array, np.exp(np.ones(array.shape)), rtol=1e-6)

    def test_what_was_given_up_is_there_again(self):
        for way, export in self.EXPORTS.items():
            with self.subTest(way=way), tn.budget("b", 5 * ONE, evict=True):
                x = tn.exp(tn.ones((SIDE, SIDE)))
                self.fill()
                array = export(x)
                np.testing.assert_allclose(array, np.exp(np.ones(array.shape)), rtol=1e-6)
                self.check_filled(self.fill())
                np.testing.assert_allclose(array, np.exp(np.ones(array.shape)), rtol=1e-6)

    def test_writes_reach_the_tensor_and_nothing_else(self):
        e = np.exp(np.float32(1))
        for way, export in {"numpy": lambda x: x.numpy(writable=True), "view": lambda x: x[0:5].numpy(writable=True),
                            "dlpack": from_capsule}.items():
            with self.subTest(way=way), tn.budget("b", 8 * ONE, evict=True):
                x = tn.exp(tn.ones((SIDE, SIDE)))
                before = x + 1
                self.fill()
                array = export(x)
                between = x * 2  # of the elements as they are now
                made = self.fill()
                array[0, :] = 100
                self.check_filled(made)
                after = x + 1
                del made
                self.check_filled(self.fill())
                self.assertEqual([t[0, 0].item() for t in (x, after)], [100, 101])
                np.testing.assert_allclose([before[0, 0].item(), between[0, 0].item(), x[1, 0].item(),
                                            after[1, 0].item()], [e + 1, 2 * e, e, e + 1], rtol=1e-6)
                np.testing.assert_array_equal(x[0:5].numpy(), array[0:5])

    def test_without_room_nothing_is_handed_over(self):
        for way, export in {**self.EXPORTS, "capsule": lambda x: x.__dlpack__()}.items():
            with self.subTest(way=way), tn.budget("b", 4 * ONE, evict=True) as budget:
                x = tn.exp(tn.ones((SIDE, SIDE)))
                arrays = [tn.tanh(tn.ones((SIDE, SIDE)) * i).numpy() for i in range(3)]
                arrays.append(tn.zeros((SIDE, SIDE)).numpy())
                self.assertEqual(budget.used, 4 * ONE)
                with self.assertRaises(tn.OutOfMemory) as caught:
                    export(x)
                self.assertRegex(str(caught.exception), r"\n  in (numpy|dlpack)(\(\))? at arrays_test\.py:\d+$")
                self.assertEqual(len(tn.holders(x)), 1)
                arrays.clear()
                self.assertAlmostEqual(export(x) is not None and x[0, 0].item(), 2.7182817, 5)

    def test_without_room_for_what_is_computed_before_a_write(self):
        with tn.budget("b", 3 * ONE, evict=True):
            x = tn.exp(tn.ones((SIDE, SIDE)))
            y = x + 1
            held = [tn.tanh(tn.ones((SIDE, SIDE))).numpy(), tn.tanh(tn.zeros((SIDE, SIDE))).numpy()]
            with self.assertRaises(tn.OutOfMemory) as caught:
                line = here(1)
                x.numpy(writable=True)
            self.assertTrue(str(caught.exception).endswith(f"in numpy() at {line}"), str(caught.exception))
            del held
            x.numpy(writable=True)[0, 0] = 7
            self.assertAlmostEqual(y[0, 0].item(), 3.7182817, 5)
            self.assertEqual(x[0, 0].item(), 7)


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


class Indexing(TestCase):
    def test_agrees_with_numpy(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        tensor = tn.tensor(array)
        mask = array > 11
        keys = [0, -1, (1, 2), (0, 1, 3), slice(None), slice(1, None), slice(None, None, -1), slice(-5, 100),
                None, ..., (..., 0), (None, 1), (slice(None), 1), (0, ..., None), (slice(0, 2), slice(None, None, 2)),
                mask, mask[:, :, 0], [1, 0], (slice(None), [0, 2, 1]), ([0, 1], [1, 2]), (0, slice(None), [1, 3]),
                ([0, 1], slice(None), [1, 2]), np.array([[0, 1], [1, 0]]), (..., [0]), [], np.int64(1),
                slice(10**30), slice(-10**30, None)]
        for key in keys:
            theirs = array[np.array([], int)] if isinstance(key, list) and not key else array[key]
            np.testing.assert_array_equal(tensor[key].numpy(), theirs, err_msg=str(key))
        for a, b in itertools.product([0, slice(1, 3), None, [1, 0]], repeat=2):
            np.testing.assert_array_equal(tensor[a, b].numpy(), array[a, b], err_msg=str((a, b)))

    def test_assignment_agrees_with_numpy(self):
        for key, value in [(0, 5.0), ((slice(None), 1), 2), (slice(None, None, 2), np.full((1, 3), 9)),
                           (np.arange(6).reshape(2, 3) > 3, -1.0), ([1], tn.ones(3)), ((..., -1), [7.0, 8.0])]:
            array = np.arange(6.0).reshape(2, 3)
            tensor = tn.tensor(array)
            tensor[key] = value
            array[key] = value.numpy() if isinstance(value, tn.Tensor) else value
            np.testing.assert_array_equal(tensor.numpy(), array, err_msg=str(key))
        x = tn.zeros(1000)
        n, _ = self.allocations(lambda: x.__setitem__(slice(0, 3), 1.0))
        self.assertLessEqual(n, 2)  # in place: what is allocated is the value

    def test_what_is_put_has_the_type_of_the_tensor(self):
        """Numbers take it, as beside any tensor, and are refused where it does not hold them."""
        for dtype, number in [("uint8", 300), ("uint8", -1), ("int32", 1.5), ("int64", float("nan")), ("int8", 2**31),
                              ("uint8", np.int64(300)), ("bool", 2)]:
            for put in (lambda x, v: x.__setitem__(0, v), lambda x, v: tn.index_update(x, 0, v),
                        lambda x, v: tn.index_add(x, 0, v)):
                x = tn.ones(2, dtype=dtype)
                with self.assertRaises((tn.ValueError, tn.DTypeError), msg=f"{number} in {dtype}"):
                    put(x, number)
                self.assert_list(x, [1, 1])
        with self.assertRaisesRegex(ValueError, "the value: 300 is no element of uint8"):
            tn.ones(2, dtype="uint8")[:] = [300, 1]
        for dtype, number in [("int32", 5), ("uint8", 255), ("float16", 1.5), ("bfloat16", 2), ("bool", True),
                              ("float64", 7), ("float16", np.float64(0.5))]:
            x = tn.ones(3, dtype=dtype)
            self.assert_list(tn.index_update(x, 0, number), [number, 1, 1])
            self.assert_list(tn.index_update(x, slice(1, 3), [number, number]), [1, number, number])
            self.assertEqual(tn.index_update(x, 0, number).dtype, x.dtype)
            x[1] = number
            self.assert_list(x, [1, number, 1])
        self.assert_list(tn.index_add(tn.ones(2, dtype="int32"), [0, 0], [2, 3]), [6, 1])
        x = tn.ones(2, dtype="int8")
        x[:] = np.array([300.0, -2.5])  # arrays and tensors are converted
        self.assert_list(x, [127, -2])

    def test_numbers_of_lists_are_told_as_they_are(self):
        for number, text in [(2**63, "9223372036854775808 is no element of int64"), (2**64 - 1, "18446744073709551615 is"),
                             (-5, "-5 is no element of uint8")]:
            with self.assertRaisesRegex(ValueError, text):
                tn.tensor([number], dtype="uint8" if number < 0 else None)

    def test_iteration_and_len(self):
        x = tn.tensor([[1, 2], [3, 4], [5, 6]])
        self.assertEqual(len(x), 3)
        self.assertEqual([row.tolist() for row in x], [[1, 2], [3, 4], [5, 6]])
        a, b, c = x
        self.assertEqual(c.tolist(), [5, 6])
        for f in (len, iter):
            with self.assertRaises(TypeError):
                f(tn.tensor(1))

    def test_what_is_no_index(self):
        x = tn.ones((2, 2))
        for key in ("a", 1.5, True, (0, 0, 0), [0.5], object(), tn.ones(2)):
            with self.assertRaises((IndexError, TypeError), msg=str(key)):
                x[key]
        for key in (slice(0, 2, 0), (..., ...)):
            with self.assertRaises(ValueError):
                x[key]
        with self.assertRaises(TypeError):
            del x[0]
        with self.assertRaises(ValueError):
            x[0] = tn.ones(5)
        self.assert_list(x, [[1.0, 1.0], [1.0, 1.0]])


if __name__ == "__main__":
    unittest.main()
