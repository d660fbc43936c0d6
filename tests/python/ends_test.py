"""What ends while something else goes on: interpreters, threads, processes, buffers."""

import array
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import tenure as tn
from support import TestCase


FOREIGN = """
try:
    import numpy
    foreign = lambda count: numpy.ones(count, 'float32')
except ImportError:
    import array
    foreign = lambda count: array.array('f', [1.0]) * count
"""


class Processes(unittest.TestCase):
    def run_python(self, code, timeout=120):
        # Since 3.12 a fork beside threads is a warning.
        command = [sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), timeout=timeout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_threads_compute_while_the_interpreter_ends(self):
        """Daemons that come back from C++ when there is no interpreter any more."""
        for _ in range(5):
            self.run_python(FOREIGN + """
import threading, time, tenure as tn
x = tn.ones((300, 300))
def work():
    while True:
        y = tn.tanh(x @ x + 1)
        tn.asarray(foreign(100000)) + 1
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
        out = self.run_python(FOREIGN + """
import os, signal, threading, tenure as tn
stop = threading.Event()
def work():
    held = foreign(50000)
    while not stop.is_set():
        tn.exp(tn.asarray(held) + 1)
        tn.tensor(foreign(50000))
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
good = 0
for _ in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for _ in range(5): tn.asarray(foreign(50000)) + 1
        os._exit(0 if (tn.ones(100) + 1).sum().item() == 200 else 3)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for t in threads: t.join()
print(good)
""", 300)
        self.assertEqual(out.strip(), "40")

    def test_a_command_whose_reader_ends(self):
        """`python -m tenure ops 2>&1 | head`: it ends by the signal for that, or says that it could not write."""
        direct = Path(tn.__file__).resolve().parent / "bin" / "tenure"
        for command in ([sys.executable, "-m", "tenure"], [str(direct)]):
            for arguments in (["ops"], ["nonsense"], ["top", "absent.tenure"], ["--help"]):
                reading, writing = os.pipe()
                os.close(reading)
                # Python ignores the signal, and so does what it starts, unless told otherwise.
                done = subprocess.run([*command, *arguments], stdout=writing, stderr=writing, restore_signals=False,
                                      env=dict(os.environ), timeout=120)
                os.close(writing)
                self.assertNotEqual(done.returncode, -signal.SIGABRT, (command, arguments))

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
        """The package and, which takes no line of Python, the extension; before and after the main one has it."""
        extension = str(next(Path(tn.__file__).parent.glob("_tenure*.so")))
        out = self.run_python(f"""
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    run = lambda inner, code: interpreters.exec(inner, code).formatted
else:
    import _xxsubinterpreters as interpreters
    def run(inner, code):
        try:
            interpreters.run_string(inner, code)
        except interpreters.RunFailedError as error:
            return str(error)
inner = interpreters.create()
direct = '''
from importlib import machinery as m, util as u
spec = u.spec_from_loader("_tenure", m.ExtensionFileLoader("_tenure", {extension!r}))
spec.loader.exec_module(u.module_from_spec(spec))'''
for _ in range(2):
    for code in ('import tenure', direct):
        said = run(inner, code)
        print('ImportError' in said, 'subinterpreters' in said)
    import tenure as tn
interpreters.destroy(inner)
print((tn.ones(3) + 1).tolist())
""", 60)
        self.assertEqual(out.splitlines(), ["True True"] * 4 + ["[2.0, 2.0, 2.0]"])

    def test_it_is_imported_again(self):
        """As a program does that forgets modules and takes new ones: one library, whatever its names."""
        self.run_python("""
import importlib, sys, tenure as tn
x = tn.ones(3)
for name in [name for name in sys.modules if name.startswith('tenure')]: del sys.modules[name]
import tenure as again
assert again is not tn and again.Tensor is tn.Tensor and again.nn.Dense is tn.nn.Dense
assert (again.ones(3) + x).tolist() == [2.0] * 3
importlib.reload(again), importlib.reload(again._tenure)
assert again.ShapeError is tn.ShapeError and again.nn.Dense(3, 2)(x).shape == (2,)
""")


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
