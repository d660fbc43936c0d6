"""What ends while something else goes on: interpreters, threads, processes, buffers."""

import array
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tenure as tn
from support import TestCase


class Processes(unittest.TestCase):
    def run_python(self, code, timeout=120):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True,
                              env=dict(os.environ), timeout=timeout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_threads_compute_while_the_interpreter_ends(self):
        """Daemons that come back from C++ when there is no interpreter any more."""
        for _ in range(5):
            self.run_python("""
import threading, time, numpy as np, tenure as tn
x = tn.ones((300, 300))
def work():
    while True:
        y = tn.tanh(x @ x + 1)
        tn.asarray(np.ones(100000, 'float32')) + 1
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""")

    def test_threads_of_the_library_call_python_while_the_interpreter_ends(self):
        for _ in range(5):
            self.run_python("""
import time, tenure as tn
def make(i):
    time.sleep(0.001)
    return tn.full(10, float(i))
walks = [iter(tn.data.from_function(10000, make).prefetch(4)) for _ in range(3)]
for walk in walks: next(walk)
""")

    def test_tensors_outlive_their_threads(self):
        out = self.run_python("""
import threading, tenure as tn
made = []
def work():
    with tn.scope('thread'):
        made.append(tn.ones(1000).keep())
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(x.sum().item() for x in made), tn.memory().tensors)
""")
        self.assertEqual(out.split(), ["4000.0", "4"])

    def test_a_child_of_fork_finds_no_lock_of_its_parents_threads(self):
        """While threads let go arrays, which is what the list of objects is for, children do so too."""
        out = self.run_python("""
import os, signal, threading, numpy as np, tenure as tn
stop = threading.Event()
def work():
    array = np.ones(50000, 'float32')
    while not stop.is_set():
        tn.exp(tn.asarray(array) + 1)
        tn.tensor(np.ones(50000, 'float32'))
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
good = 0
for _ in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for _ in range(5): tn.asarray(np.ones(50000, 'float32')) + 1
        os._exit(0 if (tn.ones(100) + 1).sum().item() == 200 else 3)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for t in threads: t.join()
print(good)
""", 300)
        self.assertEqual(out.strip(), "40")

    def test_a_child_of_fork_ends_as_a_program(self):
        """Not by os._exit(): what the module does at the end must not wait for threads of the parent."""
        self.run_python("""
import os, sys, threading, tenure as tn
x, stop = tn.ones((200, 200)), threading.Event()
def work():
    while not stop.is_set(): x @ x
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for _ in range(10):
    if os.fork() == 0:
        stop.set()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
stop.set()
for t in threads: t.join()
""")

    def test_subinterpreters_are_refused(self):
        out = self.run_python("""
import _xxsubinterpreters as interpreters, tenure as tn
inner = interpreters.create()
for _ in range(2):
    try:
        interpreters.run_string(inner, 'import tenure')
        print('imported')
    except interpreters.RunFailedError as error:
        print('ImportError' in str(error), 'main interpreter' in str(error))
interpreters.destroy(inner)
print((tn.ones(3) + 1).tolist())
""")
        self.assertEqual(out.splitlines(), ["True True", "True True", "[2.0, 2.0, 2.0]"])


class Buffers(TestCase):
    def test_memory_cannot_change_size_while_a_tensor_holds_it(self):
        for owner, grow in [(bytearray(b"12345678"), lambda o: o.extend(b"9")),
                            (array.array("f", [1.0, 2.0]), lambda o: o.append(3.0)),
                            (np.ones(4, "float32"), lambda o: o.resize(8))]:
            tensor = tn.asarray(owner)
            before = tensor.tolist()
            with self.assertRaises((BufferError, ValueError)):
                grow(owner)
            self.assertEqual(tensor.tolist(), before)
            del tensor

    def test_a_view_that_is_released_early(self):
        view = memoryview(np.ones(4, "float32"))
        tensor = tn.asarray(view)
        try:
            view.release()
        except BufferError:
            pass  # it is held
        self.assertEqual(tensor.tolist(), [1.0] * 4)
        gone = memoryview(bytearray(8))
        gone.release()
        with self.assertRaises((ValueError, TypeError, BufferError)):
            tn.asarray(gone)
        x = tn.ones(4)
        exported = memoryview(x)
        x.dispose()
        self.assertEqual(exported.tolist(), [1.0] * 4)
        exported.release()
        with self.assertRaises(ValueError):
            exported.tolist()

    def test_a_mapped_file_that_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            np.save(path, np.arange(1000, dtype="float32"))
            tensor = tn.asarray(np.load(path, mmap_mode="r"))
            np.save(path + ".new.npy", np.zeros(1, "float32"))
            os.replace(path + ".new.npy", path)
            self.assertEqual(tensor.sum().item(), 499500.0)
            del tensor

    def test_a_capsule_in_wrong_hands(self):
        class Twice:
            """Gives one capsule to everybody."""

            def __init__(self, x):
                self.capsule = x.__dlpack__()

            def __dlpack__(self, **options):
                return self.capsule

            def __dlpack_device__(self):
                return (1, 0)

        twice = Twice(tn.ones(3))
        first = tn.from_dlpack(twice)
        with self.assertRaises(ValueError):
            tn.from_dlpack(twice)
        with self.assertRaises(Exception):
            np.from_dlpack(twice)
        self.assertEqual(first.tolist(), [1.0] * 3)
        del first, twice


if __name__ == "__main__":
    unittest.main()
