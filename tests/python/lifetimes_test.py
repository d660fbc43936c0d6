"""Who holds what, and for how long: references, temporaries, scopes, budgets, leaks, threads."""

import functools
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

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
class Temporaries(TestCase):
    def setUp(self):
        self.a, self.b, self.c = tn.ones((64, 64)), tn.ones((64, 64)), tn.ones(64)

    def tearDown(self):
        del self.a, self.b, self.c

    def test_a_chain_allocates_once(self):
        a, b, c = self.a, self.b, self.c
        warm = tn.tanh(a @ b + c)
        before = tn.memory().allocations
        result = tn.tanh(a @ b + c)
        made = tn.memory().allocations - before
        # The product, and what the kernel packs; not the sum, nor the tanh.
        before = tn.memory().allocations
        product = a @ b
        self.assertEqual(made, tn.memory().allocations - before)
        del warm, result, product

    def test_each_kind_of_temporary(self):
        x = self.a
        for i, f in enumerate([lambda: tn.exp(x + 1), lambda: -(x + 1), lambda: (x + 1) * 2, lambda: 2 - (x + 1),
                  lambda: (x + 1).tanh(), lambda: tn.relu(x=x + 1), lambda: ((x + 1) * 2 - 3) / 4,
                  lambda: tn.exp(tn.exp(tn.exp(x))),
                  lambda: [tn.exp(y * 2) for y in [x]][0], lambda: (x + 1) if x.size else x]):
            f()
            n, result = self.allocations(f)
            self.assertEqual(n, 1, i)

    def test_in_generators_loops_and_handlers(self):
        def generator(x):
            while True:
                yield tn.exp(x + 1)

        steps = generator(self.a)
        next(steps)
        self.assertEqual(self.allocations(lambda: next(steps))[0], 1)

        def handler(x):
            try:
                raise KeyError
            except KeyError:
                with tn.scope():
                    for _ in range(1):
                        return ((x + 1) * 2).keep()

        handler(self.a)
        self.assertEqual(self.allocations(lambda: handler(self.a))[0], 1)
        del steps

    def test_what_has_a_name_is_never_overwritten(self):
        """Every way in which somebody else may hold an operand."""
        x = tn.ones(100)
        held = [tn.ones(100)]
        pair = (tn.ones(100), tn.ones(100))
        table = {"x": tn.ones(100)}
        bound = functools.partial(tn.exp, tn.ones(100))
        objects = np.empty(2, object)
        objects[:] = [tn.ones(100), tn.ones(100)]

        class Holder:
            x = tn.ones(100)

        def closure():
            return y + 1, tn.exp(y), -y

        y = tn.ones(100)
        import operator

        for f in [lambda: x + 1, lambda: tn.exp(x), lambda: -x, lambda: x * x, lambda: x.exp(), closure,
                  lambda: held[0] + 1, lambda: tn.exp(held[0]), lambda: tn.exp(*held), lambda: tn.exp(*pair[:1]),
                  lambda: tn.add(*pair), lambda: table["x"] * 2, lambda: tn.exp(**table), bound, bound,
                  lambda: list(map(tn.exp, held)), lambda: list(map(operator.neg, pair)),
                  lambda: operator.add(*pair), lambda: functools.reduce(operator.add, pair), lambda: sum(held),
                  lambda: objects + 1, lambda: -objects, lambda: Holder.x + 1, lambda: tn.exp(Holder.x),
                  lambda: [z + 1 for z in held], lambda: sorted(held, key=lambda z: float((z * 2)[0]))]:
            f()
        for tensor in [x, y, *held, *pair, table["x"], *bound.args, *objects, Holder.x]:
            self.assertEqual(tensor.tolist(), [1.0] * 100)
        del bound, Holder

    def test_what_a_weak_reference_sees_is_not_computed_in(self):
        watches = []

        def watched():
            x = tn.ones(10)
            watches.append(weakref.ref(x))
            return x

        self.assertEqual(tn.exp(watched()).size, 10)

    def test_bytecode_is_understood(self):
        """The depth of the stack is what the compiler says, in all of a large library."""
        import ast
        import inspect
        import types

        def codes(code):
            yield code
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    yield from codes(constant)

        checked = 0
        for module in (ast, inspect, subprocess, tempfile, unittest.case, functools):
            for code in codes(compile(inspect.getsource(module), module.__file__, "exec")):
                depths = tn._operators.stack_depths(code).values()
                self.assertGreaterEqual(min(depths), 0)
                self.assertLessEqual(max(depths), code.co_stacksize)
                checked += 1
        self.assertGreater(checked, 500)


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


class Threads(TestCase):
    def test_share_tensors(self):
        x = tn.ones((256, 256))
        errors = []

        def work():
            try:
                for _ in range(20):
                    y = tn.tanh(x @ x + 1)
                    array = tn.tensor(np.ones(30000, "float32"))
                    (array + 1).numpy()
                    del y
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            gc.collect()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_handles_may_change_while_others_compute(self):
        """x += 1 and donate(x) on one thread, products of x on others."""
        x, errors, stop = tn.ones((200, 200)), [], threading.Event()

        def read():
            while not stop.is_set():
                try:
                    for y in (x @ x, x + x, tn.exp(x), tn.concat([x, x])):
                        y.shape
                except tn.EmptyTensorError:
                    pass  # it was donated just then
                except Exception as error:
                    errors.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            x += 1
            x[0] = 1.0
            try:
                x = tn.mul(tn.donate(x), 0.5)
            except tn.DonationError:
                pass  # another thread had it in hand
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_large_ops_let_others_run(self):
        """While a product is computed, another thread counts."""
        x = tn.ones((768, 768))
        count, stop = [0], threading.Event()

        def counter():
            while not stop.is_set():
                count[0] += 1
                time.sleep(0)  # gives the lock up, and gets it when the other thread does

        previous = sys.getswitchinterval()
        sys.setswitchinterval(100)  # nobody is made to give the lock up
        thread = threading.Thread(target=counter)
        try:
            thread.start()
            # It may have no core while one product is computed, which takes a millisecond or two.
            before = count[0]
            for _ in range(1000):
                y = x @ x
                if count[0] > before:
                    break
            self.assertGreater(count[0], before)
        finally:
            stop.set()
            sys.setswitchinterval(previous)
            thread.join()
        del y


class Processes(unittest.TestCase):
    def run_python(self, code):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True,
                              env=dict(os.environ), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_an_interpreter_ends_with_live_tensors(self):
        self.run_python("""
import atexit, threading, numpy as np, tenure as tn
x = tn.ones(100000); a = x.numpy(); b = tn.asarray(np.ones(10)); c = x.__dlpack__()
class Late:
    def __del__(self): self.x + 1
late = Late(); late.x = tn.ones(3); late.me = late
atexit.register(lambda: print((x + 1).sum().item()))
@tn.function
def f(x): return x * 2
f(x); v = tn.Variable(x); s = tn.scope(); s.__enter__(); t = tn.GradientTape(); t.__enter__()
y = tn.exp(v)
""")

    def test_fork(self):
        out = self.run_python("""
import os, sys, tenure as tn
x = tn.ones((300, 300)); x @ x
child = os.fork()
if child == 0:
    y = (x @ x).sum().item()
    os._exit(0 if y == 300**3 else 3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
""")
        self.assertEqual(out.strip(), "0")

    def test_a_recording_names_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "run.tenure")
            script = os.path.join(folder, "train.py")
            with open(script, "w") as file:
                file.write(f"import tenure as tn\nwith tn.profile({recording!r}):\n    x = tn.ones(12345)\n"
                           "    y = tn.exp(x)\n")
            subprocess.run([sys.executable, script], check=True, env=dict(os.environ), timeout=120)
            with open(recording, "rb") as file:
                self.assertIn(b"train.py", file.read())

    def test_import_takes_few_modules(self):
        """Which is what its time is made of; `./dev bench python` has that."""
        out = self.run_python("import sys, tenure\nprint(*sys.modules)")
        self.assertEqual({"numpy", "inspect", "dataclasses", "dis", "ast", "pickle", "subprocess"} & set(out.split()), set())


if __name__ == "__main__":
    unittest.main()
