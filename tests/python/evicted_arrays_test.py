"""Arrays of others within a budget that gives results up: elements that somebody sees stay."""

import ctypes
import unittest

import numpy as np

import tenure as tn
from support import TestCase, here

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
                self.assertRegex(str(caught.exception), r"\n  in (numpy|dlpack)(\(\))? at evicted_arrays_test\.py:\d+$")
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


if __name__ == "__main__":
    unittest.main()
