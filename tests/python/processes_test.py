"""Programs as a whole: how they end, forks, recordings, what an import takes."""

import os
import subprocess
import sys
import tempfile
import unittest


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
