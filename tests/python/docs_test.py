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
        for page in sorted((ROOT / "docs").rglob("*.md")):
            for code, expected in BLOCK.findall(page.read_text(encoding="utf-8")):
                found += 1
                with self.subTest(page=page.name, block=code.splitlines()[:4]):
                    program = f"exec(compile({code!r}, 'example.py', 'exec'), {{'__name__': 'example'}})"
                    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout.splitlines(), expected.splitlines())
        self.assertGreater(found, 4)

    def test_examples_print_what_is_expected(self):
        examples = sorted((ROOT / "examples/python").glob("*.py"))
        self.assertGreater(len(examples), 1)
        for example in examples:
            done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, (example.parent / "expected" / f"{example.stem}.txt").read_text())


if __name__ == "__main__":
    unittest.main()
