"""Indexing by NumPy's rules."""

import itertools
import unittest

import numpy as np

import tenure as tn
from support import TestCase


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
