"""What pip installs: a wheel that has the package and the command, and works without the tree."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import tenure as tn

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "python/tools"))
import build_backend  # noqa: E402


class Wheel(unittest.TestCase):
    def test_is_whole(self):
        package = Path(tn.__file__).resolve().parent
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TENURE_PYTHON_PACKAGE"] = str(package)
            name = build_backend.build_wheel(folder)
            self.assertRegex(name, r"^tenure-[\d.]+-cp\d+-cp\d+-linux_\w+\.whl$")
            with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
                names = wheel.namelist()
                wheel.extractall(os.path.join(folder, "site"))
                for entry in wheel.infolist():
                    os.chmod(os.path.join(folder, "site", entry.filename), entry.external_attr >> 16 or 0o644)
            for wanted in ("tenure/__init__.py", "tenure/nn/__init__.py", "tenure/py.typed", "tenure/_functions.pyi"):
                self.assertIn(wanted, names)
            environment = dict(os.environ, PYTHONPATH=os.path.join(folder, "site"))
            out = subprocess.check_output(
                [sys.executable, "-c", "import tenure as tn; print((tn.ones(3) + 1).tolist(), tn.__file__)"],
                env=environment, text=True)
            self.assertTrue(out.startswith(f"[2.0, 2.0, 2.0] {folder}"), out)
            if "tenure/bin/tenure" in names:
                out = subprocess.check_output([sys.executable, "-m", "tenure", "ops", "tanh"], env=environment, text=True)
                self.assertIn("tanh(x)", out)

    def test_versions_agree(self):
        cmake = re.search(r"^  VERSION ([\d.]+)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertEqual((build_backend.version(), tn.__version__), (cmake, cmake))

    def test_symbols_are_hidden(self):
        extension = next(Path(tn.__file__).resolve().parent.glob("_tenure*.so"))
        symbols = subprocess.check_output(["nm", "-D", "--defined-only", str(extension)], text=True)
        names = [line.split()[-1] for line in symbols.splitlines()]
        self.assertIn("PyInit__tenure", names)
        self.assertEqual([n for n in names if "tenure" in n and n != "PyInit__tenure"], [])


if __name__ == "__main__":
    unittest.main()
