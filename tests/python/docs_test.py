"""The Python blocks of the documentation, and the examples, run and print what they should."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text printed\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Pages(unittest.TestCase):
    def test_blocks_print_what_pages_say(self):
        found = 0
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for code, expected in BLOCK.findall(page.read_text(encoding="utf-8")):
                found += 1
                with self.subTest(page=page.name, block=code.splitlines()[:4]):
                    program = f"exec(compile({code!r}, 'example.py', 'exec'), {{'__name__': 'example'}})"
                    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout.splitlines(), expected.splitlines())
        self.assertGreater(found, 4)

    def run_example(self, name, *arguments):
        done = subprocess.run([sys.executable, str(ROOT / "examples/python" / name), *arguments], capture_output=True,
                              text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_examples_print_what_is_expected(self):
        examples = [path for path in (ROOT / "examples/python").glob("*.py") if path.name != "mnist.py"]
        self.assertGreater(len(examples), 2)
        for example in examples:
            with self.subTest(example=example.name):
                expected = (example.parent / "expected" / f"{example.stem}.txt").read_text()
                self.assertEqual(self.run_example(example.name), expected)

    def test_mnist_learns_within_its_budget(self):
        printed = self.run_example("mnist.py", "", "1", "50", "320")  # a few digits, and one epoch
        self.assertRegex(printed, r"budget [\d.]+ MiB: the step takes [\d.]+ MiB instead of [\d.]+ MiB, and \d+ % more time")
        self.assertRegex(printed, r"epoch 1/1  5 batches in ")
        self.assertRegex(printed, r"accuracy on 80 digits it has not seen: [\d.]+ %")


if __name__ == "__main__":
    unittest.main()
