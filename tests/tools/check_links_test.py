import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_links  # noqa: E402

ABOVE = {"below": [], "above": ["below"], "beside": ["below"]}


class CheckLinksTest(unittest.TestCase):
    """Of folders as sources, which a compiler makes object files of."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        (self.root / "lists").mkdir()

    def write(self, folder, *sources):
        objects = []
        for number, text in enumerate(sources):
            file = self.root / f"{folder}_{number}.cpp"
            file.write_text(text, encoding="utf-8")
            objects.append(str(file.with_suffix(".o")))
            compiler = os.environ.get("CXX", "c++")
            subprocess.run([compiler, "-c", "-fPIC", "-o", objects[-1], str(file)], check=True)
        listing = self.root / "lists" / f"{folder}.txt"
        listing.write_text("\n".join(objects) + "\n", encoding="utf-8")

    def problems(self, arrows=ABOVE):
        folders = check_links.read_folders(self.root / "lists")
        found = list(check_links.violations(folders, arrows))
        names = check_links.demangled([symbol for _, symbol, _, _ in found])
        return [(folder, name, owner) for (folder, _, owner, _), name in zip(found, names)]

    def test_accepts_what_lies_below_and_what_is_of_no_folder(self):
        self.write("below", "int low() { return 1; }")
        self.write("above", "int low(); int puts(const char*); int high() { return low() + puts(0); }")
        self.assertEqual(self.problems(), [])

    def test_finds_a_function_that_is_declared_below_and_defined_above(self):
        self.write("below", "int high(); int low() { return high(); }")
        self.write("above", "int high() { return 1; }")
        self.assertEqual(self.problems(), [("below", "high()", "above")])

    def test_finds_what_folders_beside_each_other_share(self):
        self.write("above", "extern int state; int read() { return state; }")
        self.write("beside", "int state = 1;")
        self.assertEqual(self.problems(), [("above", "state", "beside")])

    def test_finds_a_class_whose_functions_are_defined_above(self):
        self.write("below", "struct Door { virtual ~Door(); }; void close(Door*) {} Door door;")
        self.write("above", "struct Door { virtual ~Door(); }; Door::~Door() = default;")
        self.assertIn(("below", "vtable for Door", "above"), self.problems())

    def test_accepts_templates_that_each_folder_makes_for_itself(self):
        text = "template <class T> T twice(T x) { return x + x; } "
        self.write("below", text + "int low() { return twice(1); }")
        self.write("above", text + "int high() { return twice(2); }")
        self.assertEqual(self.problems(), [])

    def test_accepts_what_the_wiring_defines(self):
        self.write("below", "int ask(); int low() { return ask(); }")
        self.write("above", "int high() { return 1; }")
        self.write("wiring", "int high(); int ask() { return high(); }")
        self.assertEqual(self.problems(), [])

    def test_does_not_take_what_is_private_to_an_object_file_for_a_definition(self):
        self.write("below", "int helper(); int low() { return helper(); }")
        self.write("above", "static int helper() { return 1; } int high() { return helper(); }")
        self.assertEqual(self.problems(), [])  # the linker would say so

    def test_exit_status(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.write("base", "int low() { return 1; }")
            self.write("memory", "int low(); int high() { return low(); }")
            self.assertEqual(check_links.main([str(self.root / "lists")]), 0)
            self.write("base", "int high(); int low() { return high(); }")
            self.assertEqual(check_links.main([str(self.root / "lists")]), 1)
        self.assertEqual(output.getvalue(), "base needs high() of memory, in base_0.o\n")


if __name__ == "__main__":
    unittest.main()
