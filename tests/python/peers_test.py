"""The pages of docs/python/: another framework's calls beside ours, both of them run and compared.

A table whose head names a framework and Tenure, `| NumPy | Tenure |`, has in each row as many pieces of code on
the left as on the right: pairs. Both sides start from the page's blocks `python numpy setup` and `python tenure
setup`, anew for each row. What an expression gives, or what a statement assigns to, must be equal. A row whose
left or right cell has no code, and a third column, are for readers. A block `python numpy` must print what the
page says that the block of ours after it prints. Where the framework cannot be imported, our side runs alone.
In tables `| there | here |`, which compare more than calls, the names of ours must exist.
"""

import ast
import contextlib
import importlib
import io
import os
import re
import unittest
import warnings
from pathlib import Path

import numpy as np

import tenure as tn

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
FRAMEWORKS = {"NumPy": "numpy", "PyTorch": "torch", "TensorFlow": "tensorflow", "JAX": "jax"}
ROW = re.compile(r"^\|(.*)\|$")
CODE = re.compile(r"`([^`]+)`")
BLOCK = re.compile(r"^```python (\w+)( setup)?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PAIR = re.compile(r"^```python (\w+)\n(.*?)^```\n.*?^```python\n.*?^```\n```text printed\n(.*?)^```\n",
                  re.MULTILINE | re.DOTALL)


def importable(module):
    try:
        importlib.import_module(module)
        return True
    except ImportError:
        return False


def cells_of(line):
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", ROW.match(line)[1])]


def pairs_of(page):
    """(framework, their code, our code, line) for each pair of a page."""
    framework = None
    for number, line in enumerate(page.splitlines(), 1):
        if not ROW.match(line):
            framework = None
            continue
        cells = cells_of(line)
        if framework is None:
            framework = FRAMEWORKS.get(cells[0], "") if cells[1:2] == ["Tenure"] else ""
        elif framework and not set(line) <= set("|- "):
            theirs, ours = CODE.findall(cells[0]), CODE.findall(cells[1])
            if theirs and ours:
                if len(theirs) != len(ours):
                    raise AssertionError(f"line {number}: {len(theirs)} calls beside {len(ours)}")
                yield from ((framework, a, b, number) for a, b in zip(theirs, ours))


def result_of(code, setup):
    """What the last expression of the code gives, or the variable that its last statement changes."""
    namespace = {}
    exec(setup, namespace)
    body = ast.parse(code)
    last = body.body[-1]
    with contextlib.redirect_stdout(io.StringIO()):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(body.body[:-1], []), "example.py", "exec"), namespace)
            return eval(compile(ast.Expression(last.value), "example.py", "eval"), namespace)
        exec(compile(body, "example.py", "exec"), namespace)
    target = getattr(last, "target", None) or (last.targets[0] if isinstance(last, ast.Assign) else None)
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return namespace[target.id] if isinstance(target, ast.Name) else None


def plain(value):
    """Numbers of either side as NumPy has them."""
    if isinstance(value, tn.Variable):
        value = value.value
    if isinstance(value, tn.Tensor):
        return value if value.is_symbolic else value.numpy()
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (int, float, bool)) for v in value):
        return [plain(v) for v in value]
    return value


def differs(theirs, ours):
    """What is different, or None."""
    if isinstance(theirs, list) or isinstance(ours, list) and not isinstance(theirs, np.ndarray):
        if not isinstance(ours, list) or len(theirs) != len(ours):
            return f"{theirs} beside {ours}"
        return next((found for a, b in zip(theirs, ours) if (found := differs(a, b))), None)
    if isinstance(theirs, (np.ndarray, np.generic)) or isinstance(ours, np.ndarray):
        theirs, ours = np.asarray(theirs), np.asarray(ours)
        if theirs.shape != ours.shape or theirs.dtype.kind.replace("u", "i") != ours.dtype.kind.replace("u", "i"):
            return f"{theirs.dtype}{theirs.shape} beside {ours.dtype}{ours.shape}"
        return None if np.allclose(theirs, ours, rtol=1e-4, atol=1e-5, equal_nan=True) else f"{theirs} beside {ours}"
    if isinstance(theirs, (int, float, str, bool, tuple)):
        return None if theirs == ours or (isinstance(theirs, float) and np.isclose(theirs, ours)) else f"{theirs} beside {ours}"
    return None  # models, generators: that they run is all


class Peers(unittest.TestCase):
    def check(self, name, framework, least):
        text = (ROOT / "docs/python" / f"{name}.md").read_text(encoding="utf-8")
        setups = {module: code for module, is_setup, code in BLOCK.findall(text) if is_setup}
        has_peer = importable(framework)
        found = 0
        for module, theirs, ours, line in pairs_of(text):
            found += 1
            with self.subTest(page=name, line=line, code=ours), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertEqual(module, framework)
                value = plain(result_of(ours, setups["tenure"]))
                if has_peer:
                    self.assertIsNone(differs(plain(result_of(theirs, setups[framework])), value), theirs)
        self.assertGreaterEqual(found, least)
        for module, code, expected in PAIR.findall(text):
            if has_peer and module == framework:
                printed = io.StringIO()
                with self.subTest(page=name, block=code.splitlines()[:4]), contextlib.redirect_stdout(printed):
                    exec(compile(code, "example.py", "exec"), {"__name__": "example"})
                self.assertEqual(printed.getvalue().splitlines(), expected.splitlines())
        return text

    def test_numpy(self):
        self.check("numpy", "numpy", 60)

    def test_pytorch(self):
        text = self.check("pytorch", "torch", 60)
        self.assertEqual(len(PAIR.findall(text)), text.count("```python torch\n"))

    def test_tensorflow(self):
        self.check("tensorflow", "tensorflow", 40)

    def test_jax(self):
        self.check("jax", "jax", 40)

    def test_names_exist(self):
        found = 0
        for path in (ROOT / "docs/python").glob("*.md"):
            for line in path.read_text(encoding="utf-8").splitlines():
                for code in CODE.findall(cells_of(line)[1]) if ROW.match(line) else []:
                    for name in re.findall(r"\b(?:tn|nn)(?:\.\w+)+", code):
                        found += 1
                        owner, *rest = name.split(".")
                        value = {"tn": tn, "nn": tn.nn}[owner]
                        for part in rest:
                            self.assertTrue(hasattr(value, part), f"{path.name}: {name}")
                            value = getattr(value, part)
        self.assertGreater(found, 200)

    def test_what_differs_is_seen(self):
        for theirs, ours in [(np.ones(2), np.ones(3)), (np.ones(2), np.ones(2, "int64")), (1.5, 1.6), ((2, 3), (3, 2)),
                             ([np.ones(1)], [np.zeros(1)]), (np.ones(1), [np.ones(1)]), ("a", "b")]:
            self.assertIsNotNone(differs(theirs, ours), (theirs, ours))
        self.assertEqual(result_of("x[0] = 2", "x = [1]"), [2])
        self.assertEqual(result_of("y = x; y += 1", "x = 1"), 2)
        table = "| NumPy | Tenure |\n| --- | --- |\n| `a \\| b`, `c` | `d`, `e` | more |\n| words | `f` |\n"
        self.assertEqual([pair[:3] for pair in pairs_of(table)], [("numpy", "a | b", "d"), ("numpy", "c", "e")])
        with self.assertRaises(AssertionError):
            list(pairs_of("| NumPy | Tenure |\n| --- | --- |\n| `a`, `b` | `c` |\n"))


if __name__ == "__main__":
    unittest.main()
