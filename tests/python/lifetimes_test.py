"""Who holds what, and for how long: references, donations, scopes, budgets, leaks."""

import gc
import os
import sys
import unittest
import weakref

import tenure as tn
from support import TestCase, here

ROOT = os.environ.get("TENURE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

class References(TestCase):
    def test_the_last_reference_frees_at_once(self):
        before = tn.memory().bytes
        x = tn.ones(1000)
        y = x
        del x
        self.assertEqual(tn.memory().bytes, before + 4000)
        del y
        self.assertEqual(tn.memory().bytes, before)

    def test_dispose_frees_under_every_name(self):
        x = tn.ones(1000)
        view, other = x[:10], x
        before = tn.memory().bytes
        x.dispose()
        x.dispose()
        self.assertTrue(other.is_disposed)
        self.assertEqual(tn.memory().bytes, before)  # the view holds it
        self.assertEqual([h.kind for h in tn.holders(x)], ["view"])
        view.dispose()
        self.assertEqual(tn.memory().bytes, before - 4000)
        self.assertIn("disposed", repr(x))

    def test_weak_references(self):
        x = tn.ones(2)
        watch = weakref.ref(x)
        self.assertIs(watch(), x)
        del x
        self.assertIsNone(watch())


@unittest.skipUnless(tn._operators.IS_KNOWN, "frames of this version of Python are not known")
class Donation(TestCase):
    def test_computes_in_place_and_uses_up(self):
        x = tn.ones(1000)
        n, y = self.allocations(lambda: tn.exp(tn.donate(x)))
        self.assertEqual(n, 0)
        with self.assertRaises(tn.EmptyTensorError):
            x + 1
        self.assertAlmostEqual(y[0].item(), 2.7182818, 5)

    def test_is_refused_loudly(self):
        x = tn.ones(1000)
        view = x[:5]
        with self.assertRaises(ValueError) as caught:
            tn.exp(tn.donate(x))
        self.assertIsInstance(caught.exception, tn.DonationError)
        self.assertIn("view", str(caught.exception))
        self.assertEqual(x.sum().item(), 1000)
        with self.assertRaises(TypeError):
            tn.donate(3)
        gone = tn.ones(3)
        gone.dispose()
        with self.assertRaisesRegex(tn.DisposedError, "lifetimes_test.py:(?s:.)*by dispose"):
            tn.exp(tn.donate(gone))
        del view


class Scopes(TestCase):
    def test_dispose_what_was_made(self):
        with tn.scope("step"):
            x = tn.ones(10)
            kept = tn.ones(10).keep()
            self.assertEqual(x.scope, "step")
        self.assertTrue(x.is_disposed)
        self.assertFalse(kept.is_disposed)
        with self.assertRaises(tn.DisposedError) as caught:
            x + 1
        self.assertIn("scope", str(caught.exception))

    def test_tidy_lets_results_out(self):
        made = []

        def f(n, scale=1.0):
            a = tn.ones(n)
            made.append(a)
            return {"x": [a * scale, (a + 1,)], "n": n}

        result = tn.tidy(f, 3, scale=2.0)
        self.assertTrue(made[0].is_disposed)
        self.assertEqual(result["x"][0].tolist(), [2.0] * 3)
        self.assertEqual(result["x"][1][0].tolist(), [2.0] * 3)
        self.assertEqual(tn.tidy(lambda: 5), 5)

    def test_exceptions_leave_tidily(self):
        made = []

        def f():
            made.append(tn.ones(3))
            raise KeyError("mine")

        try:
            tn.tidy(f)
            self.fail("nothing was raised")
        except KeyError as error:
            self.assertEqual(error.__traceback__.tb_next.tb_next.tb_frame.f_code.co_name, "f")
        self.assertTrue(made[0].is_disposed)

    def test_are_entered_once_at_a_time(self):
        scope = tn.scope()
        with scope:
            with self.assertRaises(ValueError):
                scope.__enter__()
        with scope:
            pass
        with self.assertRaises(ValueError):
            scope.escape(tn.ones(1))


class Budgets(TestCase):
    def test_refuse_and_name_the_holders(self):
        with tn.budget("request", "64 KiB") as budget:
            line, x = here(), tn.ones(8 * 1024)
            self.assertEqual(budget.used, 32 * 1024)
            with self.assertRaises(MemoryError) as caught:
                tn.ones(16 * 1024)
            error = caught.exception
            self.assertIsInstance(error, tn.OutOfMemory)
            self.assertEqual((error.requested, error.budget, error.limit, error.cause),
                             (64 * 1024, "request", 64 * 1024, "budget"))
            self.assertIn(("ones", line, 1, 32 * 1024), error.largest)
            self.assertIn(line, str(error))
            x.dispose()
            y = tn.ones(16 * 1024)
        self.assertEqual(y.sum().item(), 16 * 1024)
        self.assertEqual(budget.peak, 64 * 1024)  # what it was, also after the block
        with self.assertRaisesRegex(ValueError, "outside of its `with`"):
            budget.used
        with self.assertRaisesRegex(ValueError, "outside of its `with`"):
            tn.budget("new", 1).peak

    def test_sizes_in_words(self):
        for words, limit in [("1 KiB", 1024), ("1.5 MiB", 1572864), ("10", 10), ("2kB", 2000), (77, 77)]:
            self.assertEqual(tn.budget("b", words).limit, limit)
        for wrong in ("", "KiB", "1 Kib", "-1 KiB", "nan", "1e300 GiB"):
            with self.assertRaises(ValueError):
                tn.budget("b", wrong)
        with self.assertRaises(ValueError):
            tn.budget("b", -1)
        with self.assertRaises(TypeError):
            tn.budget("b", 1.5)


class Leaks(TestCase):
    def test_are_named_by_their_line(self):
        guard, held = tn.LeakGuard("loop", patience=16), []
        with self.assertRaises(tn.LeakError) as caught:
            for _ in range(500):
                line, x = here(), tn.ones(10)
                held.append(x)
                guard.mark()
        self.assertIn(line, str(caught.exception))
        self.assertNotIn("cycle", str(caught.exception))
        self.assertEqual(caught.exception.growing[0][:2], ("ones", line))
        del x

    def test_cycles_are_told_apart(self):
        gc.collect()
        gc.disable()
        try:
            guard = tn.LeakGuard("loop", patience=16)
            with self.assertRaisesRegex(tn.LeakError, "held by a reference cycle"):
                for _ in range(500):
                    node = {"x": tn.ones(10)}
                    node["self"] = node
                    guard.mark()
        finally:
            gc.enable()
        del node
        gc.collect()

    def test_a_steady_loop_passes(self):
        guard = tn.LeakGuard()
        for _ in range(300):
            tn.exp(tn.ones(10) + 1)
            guard.mark()
        self.assertEqual(guard.iterations, 300)

    def test_mixed_calls_leave_nothing(self):
        """What `./dev bench python` shows for ten million calls."""
        sys.path.insert(0, os.path.join(ROOT, "bench", "python"))
        import steady

        made, growth, resident = steady.run(200_000)
        self.assertGreaterEqual(made, 200_000)
        self.assertEqual(set(growth.values()), {0}, growth)
        self.assertLess(resident, 2**20)


if __name__ == "__main__":
    unittest.main()
