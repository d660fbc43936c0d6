"""The notebooks of examples/python/ hold what a run of them shows; see notebooks.py."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import notebooks

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))


def made_of(*cells, tags=()):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {"tags": list(tags)}, "execution_count": None,
         "outputs": [], "source": [cell]} for i, cell in enumerate(cells)]}


class Notebooks(unittest.TestCase):
    def test_outputs_are_those_of_a_run(self):
        found = sorted((ROOT / "examples/python").glob("*.ipynb"))
        self.assertGreaterEqual(len(found), 5)
        for path in found:
            with self.subTest(notebook=path.name):
                self.assertEqual(notebooks.check(path), [])

    def test_they_are_well_formed(self):
        for path in (ROOT / "examples/python").glob("*.ipynb"):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5), path)
            ids = [cell["id"] for cell in notebook["cells"]]
            self.assertEqual(len(set(ids)), len(ids), path)
            self.assertTrue("".join(notebook["cells"][0]["source"]).startswith("# "), path)
            for cell in notebook["cells"]:
                self.assertLess(max((len(line) for line in cell["source"]), default=0), 140, path)


class Runner(unittest.TestCase):
    def run_of(self, notebook, then=None):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.ipynb"
            path.write_text(notebooks.text_of(notebook), encoding="utf-8")
            return then(path) if then else notebooks.run(path)

    def test_cells_share_a_namespace_and_show_their_last_expression(self):
        ran = self.run_of(made_of("x = 1\nprint('a')", "x += 1\nx", "class A:\n    _repr_html_ = lambda s: '<b>'\nA();"
                                  "A()", "x;\nNone"))
        outputs = [cell["outputs"] for cell in ran["cells"]]
        self.assertEqual(outputs[0], [{"output_type": "stream", "name": "stdout", "text": ["a\n"]}])
        self.assertEqual(outputs[1][0]["data"], {"text/plain": ["2"]})
        self.assertEqual(outputs[2][0]["data"]["text/html"], ["<b>"])
        self.assertEqual(outputs[3], [])

    def test_what_differs_is_told(self):
        def refresh_and_break(path):
            notebooks.main(["refresh", str(path)])
            self.assertEqual(notebooks.check(path), [])
            path.write_text(path.read_text().replace('"41"', '"42"'))
            return notebooks.check(path)

        self.assertIn('-       "42"', self.run_of(made_of("40 + 1"), refresh_and_break))

    def test_errors_are_expected_or_told(self):
        self.assertRegex(self.run_of(made_of("1 / 0"), notebooks.check)[0], r"In\[1\] raises ZeroDivisionError")
        self.assertEqual(self.run_of(made_of("1"), notebooks.check)[1:2], ["+++ of a run"])
        tagged = made_of("1 / 0", "1", tags=["raises-exception"])
        self.assertEqual(self.run_of(tagged, notebooks.check)[0], "In[2] does not raise")
        with self.assertRaises(SystemExit):
            self.run_of(made_of("1 / 0"), lambda path: notebooks.main(["refresh", str(path)]))


if __name__ == "__main__":
    unittest.main()
