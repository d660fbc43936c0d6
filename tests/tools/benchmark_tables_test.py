import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import benchmark_tables  # noqa: E402


def figure(name, value, peer=None, ratio=None, threads=2, group="matmul"):
    return {"group": group, "name": name, "threads": threads, "unit": "us", "value": value, "peer": peer,
            "peer_value": None, "ratio": ratio}


class BenchmarkTablesTest(unittest.TestCase):
    def figures(self, *reports):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, (machine, simd, list_) in enumerate(reports):
                file = Path(folder) / f"{i}.json"
                file.write_text(json.dumps({"machine": {"name": machine, "simd": simd}, "figures": list_}))
                files.append(file)
            return benchmark_tables.Figures(files)

    def test_the_page_has_the_figures_that_were_measured(self):
        page = (ROOT / "docs" / "benchmarks.md").read_text()
        files = sorted(benchmark_tables.FIGURES.glob("*.json"))
        self.assertGreater(len(files), 0)
        self.assertEqual(benchmark_tables.renewed(page, benchmark_tables.Figures(files)), page)
        self.assertIn("<!-- behind -->", page)

    def test_a_row_has_a_cell_for_each_machine_and_the_ratios_to_its_peers(self):
        figures = self.figures(("A", "AVX2", [figure("x", 12.34, "oneDNN", 0.9), figure("x", 12.34, "copy", 0.5)]),
                               ("B", "AVX-512", [figure("x", None, "copy", 1.25, threads=1), figure("y", 123.4)]))
        self.assertEqual(benchmark_tables.table(figures, "matmul"), """In parentheses: oneDNN, copy.

|  | A, AVX2, 2 threads | B, AVX-512, 1 thread | B, AVX-512, 2 threads |
|---|--:|--:|--:|
| x, us | 12.3 (0.90, 0.50) | (-, 1.25) |  |
| y, us |  |  | 123 |
""")

    def test_behind_are_rows_below_a_peer_but_not_below_a_limit(self):
        figures = self.figures(("A", "AVX2", [figure("x", 1, "oneDNN", 1.2), figure("x", 1, "copy", 0.5),
                                              figure("y", 1, "libtorch, out=", 0.994),
                                              figure("z", 1, "libtorch", 0.996)]),
                               ("B", "AVX2", [figure("x", 1, "oneDNN", 0.8)]))
        rows = benchmark_tables.behind(figures).splitlines()[2:]
        self.assertEqual(rows, ["| matmul: x | oneDNN | - | 0.80 |", "| matmul: y | libtorch, out= | 0.99 |  |"])

    def test_what_is_measured_again_takes_the_place_of_what_was(self):
        figures = self.figures(("A", "AVX2", [figure("x", 1, "oneDNN", 1.2)]),
                               ("A", "AVX2", [figure("x", 2, "libtorch", 3.0)]))
        self.assertIn("| x, us | 2 (3.00) |", benchmark_tables.table(figures, "matmul"))

    def test_a_page_keeps_what_is_not_between_marks(self):
        figures = self.figures(("A", "AVX2", [figure("x", 1)]))
        page = "before\n\n<!-- table matmul -->\nold\n<!-- end -->\nafter\n"
        new = benchmark_tables.renewed(page, figures)
        self.assertTrue(new.startswith("before\n\n<!-- table matmul -->\n\n|") and new.endswith("<!-- end -->\nafter\n"))
        self.assertEqual(benchmark_tables.renewed(new, figures), new)
        with self.assertRaises(SystemExit):
            benchmark_tables.renewed("<!-- table none -->\n<!-- end -->", figures)
