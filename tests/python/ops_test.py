"""Every op of the library is a function of the package, and takes what its declaration says."""

import inspect
import math
import os
import re
import unittest
from pathlib import Path

import numpy as np

import tenure as tn
from support import TestCase, here

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))



def public_headers():
    """(path, text) of the headers for users that declare ops."""
    umbrella = (ROOT / "tenure/tenure.h").read_text()
    for header in re.findall(r'#include "(tenure/(?:ops|graph)/\w+\.h)"', umbrella):
        yield header, (ROOT / header).read_text().split("namespace tenure::ops")[0]


class Coverage(unittest.TestCase):
    def test_every_op_that_cpp_calls_by_name_has_a_function(self):
        declared = "\n".join(text for _, text in public_headers())
        found = 0
        for record in tn.op_records():
            if re.search(rf"^(?:Tensor|auto|State|\w+|std::\S+) {record['name']}\(", declared, re.MULTILINE):
                found += 1
                if record["name"] not in ("index", "with_sizes"):  # x[...]; sizes are known here
                    self.assertTrue(callable(getattr(tn, record["name"], None)), record["name"])
        self.assertGreater(found, 140)

    def test_every_public_function_is_bound(self):
        missing = []
        for header, text in public_headers():
            if not header.startswith("tenure/ops/"):
                continue
            for name in re.findall(r"^(?:Tensor|\w+|std::\w+<[^;{]*?>) (\w+)\(const (?:Operand|Shape|Tensor|Scalar)",
                                   text, re.MULTILINE):
                if not hasattr(tn, name) and name not in ("index", "operator"):
                    missing.append(f"{header}: {name}")
        self.assertEqual(missing, [])

    def test_functions_have_signatures_and_sentences(self):
        for name, op in vars(tn).items():
            if isinstance(op, tn.Op):
                inspect.signature(op)
                self.assertGreater(len(op.__doc__.split("\n\n")[1]), 0, name)
        self.assertIn("Memory: allocates; in place in a moved input 0", tn.tanh.__doc__)


class Arguments(TestCase):
    def test_positions_keywords_and_defaults(self):
        x = tn.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assert_list(tn.sum(x, 0), [4.0, 6.0])
        self.assert_list(tn.sum(x, axes=(0, 1)), 10.0)
        self.assert_list(tn.sum(x, axis=1, keepdims=True), [[3.0], [7.0]])
        self.assert_list(x.sum(), 10.0)
        self.assert_list(tn.transpose(x), [[1.0, 3.0], [2.0, 4.0]])
        self.assert_list(tn.leaky_relu(tn.tensor([-1.0, 1.0]), slope=0.5), [-0.5, 1.0])
        self.assertEqual(tn.softmax(x=x, axis=0).shape, (2, 2))

    def test_overloads_take_what_is_donated(self):
        given = lambda: tn.donate(tn.arange(4))
        self.assert_list(tn.roll(given(), 1, 0), [3, 0, 1, 2])
        self.assert_list(tn.roll(given(), (1,), (0,)), [3, 0, 1, 2])
        self.assertEqual([p.tolist() for p in tn.split(given(), [1, 3])], [[0], [1, 2, 3]])

    def test_overloads(self):
        self.assert_list(tn.arange(3), [0, 1, 2])
        self.assert_list(tn.arange(1, 7, 2), [1, 3, 5])
        self.assertEqual(tn.arange(3, dtype="float32").dtype, tn.float32)
        x = tn.arange(6)
        self.assertEqual([p.tolist() for p in tn.split(x, 4)], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual([p.tolist() for p in tn.split(x, [1, 5])], [[0], [1, 2, 3, 4, 5]])
        self.assert_list(tn.roll(x, 1, 0), [5, 0, 1, 2, 3, 4])
        image, weights = tn.ones((1, 3, 3, 1)), tn.ones((2, 2, 1, 1))
        self.assertEqual(tn.conv2d(image, weights).shape, (1, 2, 2, 1))
        self.assertEqual(tn.conv2d(image, weights, tn.ones(1), stride=2, padding="same").shape, (1, 2, 2, 1))
        self.assertEqual(tn.conv2d(image, weights, None).shape, (1, 2, 2, 1))
        self.assertEqual(tn.layer_norm(tn.ones((2, 3))).shape, (2, 3))

    def test_results_with_names(self):
        top = tn.topk(tn.tensor([1.0, 3.0, 2.0]), 2)
        self.assert_list(top.values, [3.0, 2.0])
        self.assert_list(top.indices, [1, 2])
        values, indices = top
        self.assertEqual(len(tn.sgd_momentum_update(tn.ones(2), tn.zeros(2), tn.ones(2), 0.1)), 2)

    def test_wrong_arguments_are_type_errors_that_say_what_is_right(self):
        x = tn.ones((2, 2))
        for call, words in [
            (lambda: tn.softmax(), "'x' is missing"),
            (lambda: tn.softmax(x, 0, 1), "too many positional arguments; it is softmax(x, axis=-1)"),
            (lambda: tn.softmax(x, axes=0), "no argument 'axes'"),
            (lambda: tn.softmax(x, x=x), "given twice"),
            (lambda: tn.softmax(x, "last"), "softmax(): axis must be an int, not str"),
            (lambda: tn.sum(x, keepdims=1), "keepdims must be True or False"),
            (lambda: tn.add(x, "1"), "add(): b must be a Tensor"),
            (lambda: tn.add(x, None), "not None"),
            (lambda: tn.add(x, object()), "not object"),
            (lambda: tn.mse_loss(x, x, reduction=1), "must be a str"),
            (lambda: tn.reshape(x, "ab"), "list or tuple of ints"),
            (lambda: tn.Tensor(), "made by tenure.tensor()"),
        ]:
            with self.assertRaisesRegex(TypeError, re.escape(words)):
                call()
        with self.assertRaisesRegex(ValueError, "there are 'mean', 'sum', 'none'"):
            tn.mse_loss(x, x, reduction="most")
        with self.assertRaises(OverflowError):
            tn.softmax(x, 2**40)
        with self.assertRaises(OverflowError):
            tn.add(x, 2**70)

    def test_of_several_overloads_the_one_that_lacks_least_complains(self):
        n = tn.tensor([0, 1])
        for call, words in [(lambda: tn.bincount(n), "'length' is missing"), (lambda: tn.arange(), "'stop' is missing"),
                            (lambda: tn.bincount(n, tn.ones(2)), "length must be an int, not Tensor"),
                            (lambda: tn.layer_norm(n, n), "'bias' is missing")]:
            with self.assertRaisesRegex(TypeError, words):
                call()

    def test_a_number_that_is_too_deep_or_long_for_shapes(self):
        with self.assertRaises(tn.ShapeError):
            tn.zeros([1] * 9)
        with self.assertRaises(tn.ShapeError):
            tn.zeros((2**62, 2**62))


class Numbers(TestCase):
    def test_agree_with_numpy(self):
        random = np.random.default_rng(0)
        a = random.standard_normal((4, 3)).astype("float32")
        b = random.standard_normal((4, 3)).astype("float32")
        x, y = tn.tensor(a), tn.tensor(b)
        for ours, theirs in [
            (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x // y, a // b), (x % y, a % b),
            (abs(x) ** 2.0, abs(a) ** 2), (-x, -a), (x @ y.T, a @ b.T), (x < y, a < b), (x == x, a == a),
            (tn.exp(x), np.exp(a)), (tn.maximum(x, y), np.maximum(a, b)), (tn.where(x > 0, x, y), np.where(a > 0, a, b)),
            (x.mean(1), a.mean(1)), (2 - x, 2 - a), (1 / y, 1 / b), (3.0 * x, 3 * a), (2**x, 2**a),
        ]:
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=2e-6, atol=1e-6)

    def test_fourier_transforms_agree_with_numpy(self):
        random = np.random.default_rng(1)
        for n in (1, 2, 15, 16, 37, 94, 128, 1000):
            pairs = random.standard_normal((2, n, 2))
            numbers = pairs[..., 0] + 1j * pairs[..., 1]
            for norm in ("backward", "ortho", "forward"):
                for ours, theirs in [
                    (tn.fft(tn.tensor(pairs), norm=norm), np.fft.fft(numbers, norm=norm)),
                    (tn.ifft(tn.tensor(pairs), n + 3, norm=norm), np.fft.ifft(numbers, n + 3, norm=norm)),
                    (tn.rfft(tn.tensor(numbers.real), axis=0, norm=norm), np.fft.rfft(numbers.real, axis=0, norm=norm)),
                    (tn.rfft2(tn.tensor(numbers.real), norm=norm), np.fft.rfft2(numbers.real, norm=norm)),
                    (tn.fft2(tn.tensor(pairs), (3, 5), norm), np.fft.fft2(numbers, (3, 5), norm=norm)),
                ]:
                    ours = ours.numpy()
                    np.testing.assert_allclose(ours[..., 0] + 1j * ours[..., 1], theirs, atol=1e-11)
                np.testing.assert_allclose(tn.irfft(tn.tensor(pairs), 2 * n, norm=norm).numpy(),
                                           np.fft.irfft(numbers, 2 * n, norm=norm), atol=1e-11)
            np.testing.assert_allclose(tn.fftfreq(n, 0.1).numpy(), np.fft.fftfreq(n, 0.1), rtol=1e-6)
            np.testing.assert_array_equal(tn.fftshift(tn.arange(n), 0).numpy(), np.fft.fftshift(np.arange(n)))

    def test_operators_with_numbers_keep_the_type(self):
        self.assertEqual((tn.tensor([1, 2]) + 1).dtype, tn.int64)
        self.assertEqual((tn.tensor([1, 2]) + 1.5).dtype, tn.float32)
        self.assertEqual((tn.ones(2, "float16") * 2).dtype, tn.float16)
        self.assert_list(tn.tensor([1, 2]) << 2, [4, 8])
        self.assert_list(~tn.tensor([True, False]), [False, True])

    def test_operators_decline_what_they_do_not_know(self):
        x = tn.ones(2)
        with self.assertRaises(TypeError):
            x + "a"
        with self.assertRaises(TypeError):
            [] @ x
        self.assertFalse(x == "a")
        with self.assertRaises(TypeError):
            x < "a"

    def test_numpy_leaves_operators_to_tensors(self):
        a = np.ones(2, "float32")
        self.assertIsInstance(a + tn.ones(2), tn.Tensor)
        self.assertIsInstance(tn.ones(2) * a, tn.Tensor)
        self.assertIsInstance(np.float32(2) * tn.ones(2), tn.Tensor)
        with self.assertRaises(TypeError):
            np.add(a, tn.ones(2))

    def test_one_number_is_a_number(self):
        x = tn.tensor(2.5)
        self.assertEqual((float(x), int(x), bool(x), x.item()), (2.5, 2, True, 2.5))
        self.assertEqual(f"{x:.2f}", "2.50")
        self.assertEqual([10, 20, 30][tn.tensor(1)], 20)
        with self.assertRaises(tn.ShapeError):
            bool(tn.ones(2))
        with self.assertRaises(TypeError):
            [1][tn.tensor(1.0)]
        self.assertTrue(math.isnan(tn.tensor(math.nan).item()))

    def test_assignment_changes_the_object_and_not_its_views(self):
        x = tn.ones(4)
        other, view = x, x[:2]
        x += 1
        self.assertIs(x, other)
        self.assert_list(other, [2.0] * 4)
        self.assert_list(view, [1.0, 1.0])
        with self.assertRaises(tn.ShapeError):
            x += tn.ones((3, 4))
        self.assert_list(x, [2.0] * 4)


class Errors(TestCase):
    def test_every_error_of_cpp_has_a_class(self):
        found = 0
        for header in sorted((ROOT / "tenure").rglob("*.h")):
            folder = header.relative_to(ROOT / "tenure").parts[0]
            for name in re.findall(r"^class (\w+)(?: final)? : public (?:Error|ValueError) \{", header.read_text(),
                                   re.MULTILINE):
                if folder != "planner" or name == "BudgetError":  # plans of other programs are not here
                    found += 1
                    self.assertTrue(issubclass(getattr(tn, name, object), tn.TenureError), name)
        self.assertGreater(found, 20)
        with self.assertRaises(ValueError) as caught:
            tn.inv(tn.zeros((2, 2)))
        self.assertIsInstance(caught.exception, tn.MatrixError)
        self.assertEqual((caught.exception.op, caught.exception.matrix), ("inv", 0))

    def test_are_what_python_users_expect(self):
        x = tn.ones((2, 3))
        with self.assertRaises(ValueError) as caught:
            line = here(1)
            x @ x
        self.assertIsInstance(caught.exception, tn.ShapeError)
        self.assertIsInstance(caught.exception, tn.TenureError)
        self.assertEqual(caught.exception.op, "matmul")
        self.assertEqual(caught.exception.shapes, [(2, 3), (2, 3)])
        self.assertIn(line, str(caught.exception))
        with self.assertRaises(IndexError) as caught:
            x[5]
        self.assertIsInstance(caught.exception, tn.IndexError)
        self.assertEqual((caught.exception.index, caught.exception.size), (5, 2))
        with self.assertRaises(TypeError):
            tn.bitwise_and(x, x)
        with self.assertRaises(ValueError):
            tn.dropout(x, 2.0)

    def test_name_lines_of_python(self):
        line, x = here(), tn.ones(2)
        self.assertEqual(x.created, line)
        gone = here(1)
        x.dispose()
        with self.assertRaises(RuntimeError) as caught:
            used = here(1)
            tn.exp(
                x)
        error = caught.exception
        self.assertIsInstance(error, tn.DisposedError)
        self.assertEqual((error.created, error.disposed, error.used), (line, gone, used))

    def test_lines_of_the_package_are_passed_over(self):
        made = []

        def f():
            made.append((here(), tn.ones(1).created))

        tn.tidy(f)
        self.assertEqual(made[0][0], made[0][1])
        line, value = here(), tn.tidy(tn.ones, 2)
        self.assertEqual(value.created, line)


class Pooling(TestCase):
    def test_ceil_mode_counts_padding_as_torch_does(self):
        def expected(x, kernel, stride, padding):
            n = x.shape[1]
            windows = -(-(n + 2 * padding - kernel) // stride) + 1
            windows -= (windows - 1) * stride >= n + padding
            padded = np.pad(x, ((0, 0), (padding, padding + kernel), (0, 0)))
            ends = [min(o * stride + kernel, n + 2 * padding) for o in range(windows)]
            return np.stack([padded[:, o * stride:end].sum(1) / (end - o * stride) for o, end in enumerate(ends)], 1)

        x = np.random.default_rng(0).standard_normal((2, 7, 3))
        for kernel, stride, padding in ((3, 2, 1), (3, 3, 0), (2, 3, 1), (4, 3, 2), (5, 4, 2)):
            made = tn.avg_pool1d(tn.tensor(x), kernel, stride=stride, padding=padding, ceil_mode=True, count_padding=True)
            np.testing.assert_allclose(made.numpy(), expected(x, kernel, stride, padding), rtol=1e-12, err_msg=f"{kernel} {stride}")
            square = x[:, :, None, :] * np.ones((1, 1, 7, 1))
            both = tn.avg_pool2d(tn.tensor(square), kernel, stride=stride, padding=padding, ceil_mode=True,
                                 count_padding=True, channels="last")
            self.assertEqual(both.shape[1:3], (made.shape[1],) * 2)
        gradient = tn.grad(lambda x: tn.sum(tn.avg_pool1d(x, 3, stride=2, padding=1, ceil_mode=True, count_padding=True)))
        self.assertAlmostEqual(gradient(tn.ones((1, 6, 1)))[0, 5, 0].item(), 1 / 3 + 1 / 2, 6)


if __name__ == "__main__":
    unittest.main()
