"""Checkers of types know the package: mypy accepts what runs, and refuses what does not."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tenure as tn

GOOD = """
import tenure as tn

x: tn.Tensor = tn.tensor([[1.0, 2.0]])
y: tn.Tensor = tn.softmax(x @ x.T + 1, axis=-1)
z: tn.Tensor = y.sum(0, keepdims=True)
values, indices = tn.topk(x, 1)
image = tn.conv2d(tn.ones((1, 3, 3, 1)), tn.ones((2, 2, 1, 1)), stride=2, padding="same")
n: int = tn.memory().bytes
shape: tuple[int, ...] = x.shape
"""
BAD = [
    "tn.softmax(tn.ones(2), axis='last')",
    "tn.softmax()",
    "tn.conv2d(tn.ones(2), tn.ones(2), strides=2)",
    "tn.mse_loss(tn.ones(2), tn.ones(2), reduction='most')",
    "tn.no_such_op(1)",
    "tn.ones(2).no_such_method()",
    "s: str = tn.ones(2).size",
]


@unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
class Types(unittest.TestCase):
    def check(self, folder, name, text):
        path = os.path.join(folder, name)
        Path(path).write_text(text)
        packages = str(Path(tn.__file__).resolve().parents[1])
        return subprocess.run(["/usr/bin/mypy", "--cache-dir", os.path.join(folder, "cache"), path],
                              capture_output=True, text=True, env=dict(os.environ, MYPYPATH=packages), timeout=300)

    def test_what_runs_is_accepted_and_what_does_not_is_refused(self):
        exec(compile(GOOD, "good", "exec"), {})
        with tempfile.TemporaryDirectory() as folder:
            done = self.check(folder, "good.py", GOOD)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            done = self.check(folder, "bad.py", "import tenure as tn\n" + "\n".join(BAD) + "\n")
            lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
            self.assertEqual(lines, set(range(2, 2 + len(BAD))), done.stdout)


if __name__ == "__main__":
    unittest.main()
