import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_includes  # noqa: E402


class CheckIncludesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def write(self, path, text, alone=False):
        """A source gets a header of its name, unless it is to be alone."""
        file = self.root / "tenure" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        header = file.with_suffix(".h")
        if file.suffix == ".cpp" and not alone and not header.exists():
            header.write_text("#pragma once\n", encoding="utf-8")

    def problems(self):
        return [f"{file}:{line}: {text}" for file, line, text in check_includes.check_tree(self.root)]

    def assert_only_problem(self, start):
        problems = self.problems()
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(start), problems[0])

    def test_accepts_includes_along_the_arrows(self):
        self.write("base/units.h", "#pragma once\n#include <cstddef>\n")
        self.write("memory/pool.h", '#pragma once\n#include "tenure/base/units.h"\n')
        self.write("ops/add.cpp", '#include <hwy/highway.h>\n#include "tenure/memory/pool.h"\n')
        self.write("tenure.h", '#pragma once\n#include "tenure/ops/add.h"\n')
        self.assertEqual(self.problems(), [])

    def test_rejects_an_include_against_the_arrows(self):
        self.write("memory/pool.cpp", '// first\n#include "tenure/tensor/tensor.h"\n')
        self.assert_only_problem(
            'tenure/memory/pool.cpp:2: memory/ may not include "tenure/tensor/tensor.h"; '
            "allowed: base, memory"
        )

    def test_rejects_eager_and_graph_including_each_other(self):
        self.write("eager/run.cpp", '#include "tenure/graph/ir.h"\n')
        self.write("graph/ir.cpp", '#include "tenure/eager/run.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_rejects_what_is_a_devices_own_outside_its_folder(self):
        include = '#include "tenure/kernels/cpu/move/copy.h"\n'
        self.write("wiring.cpp", include)
        self.write("kernels/cpu/gemm/gemm.cpp", include)
        self.assertEqual(self.problems(), [])
        self.write("graph/run/execute.cpp", include)
        self.write("kernels/parallel.cpp", include)
        self.write("kernels/cuda/move/copy.cpp", include)
        problems = self.problems()
        self.assertEqual(len(problems), 3, problems)
        self.assertIn("a device's own", problems[0])

    def test_rejects_the_umbrella_header_inside_the_library(self):
        self.write("nn/layer.cpp", '#include "tenure/tenure.h"\n')
        self.assert_only_problem("tenure/nn/layer.cpp:1:")

    def test_rejects_a_header_without_guard(self):
        self.write("base/units.h", "#include <cstddef>\n")
        self.assert_only_problem("tenure/base/units.h:1: no #pragma once")

    def test_accepts_toggle_guards_and_libraries_in_internal_headers(self):
        self.write("kernels/cpu/loop-inl.h", "#ifdef TOGGLE\n#endif\n#include <hwy/highway.h>\n")
        self.assertEqual(self.problems(), [])

    def test_rejects_a_library_in_an_installed_header(self):
        self.write("base/text.h", "#pragma once\n#include <fmt/format.h>\n")
        self.assert_only_problem("tenure/base/text.h:2: <fmt/format.h>")

    def test_rejects_a_relative_include(self):
        self.write("base/text.cpp", '#include "text.h"\n')
        self.assert_only_problem("tenure/base/text.cpp:1:")

    def test_rejects_a_long_file(self):
        self.write("base/long.cpp", "\n" * 801)
        self.assert_only_problem("tenure/base/long.cpp:801:")

    def test_rejects_an_unknown_folder(self):
        self.write("misc/a.h", "#pragma once\n")
        self.assert_only_problem("tenure/misc/a.h:1:")

    def test_rejects_links_that_differ_from_the_arrows(self):
        self.write("tensor/CMakeLists.txt", "tenure_folder(tensor DEPENDS memory graph)\n")
        self.assert_only_problem("tenure/tensor/CMakeLists.txt:1: tensor must link: memory")

    def test_rejects_a_source_that_no_header_names(self):
        self.write("graph/ir/program.h", '#pragma once\n#include "tenure/graph/ir/infer.cpp"\n')
        self.write("graph/ir/infer.cpp", "", alone=True)
        self.assert_only_problem("tenure/graph/ir/infer.cpp:1: has no header of its name")

    def test_rejects_a_source_that_only_headers_elsewhere_name_without_its_folder(self):
        self.write("graph/run/cache.h", "#pragma once\n/// In infer.cpp.\nvoid f();\n")
        self.write("graph/ir/infer.cpp", "", alone=True)
        self.assert_only_problem("tenure/graph/ir/infer.cpp:1:")

    def test_accepts_a_source_that_a_comment_of_a_header_beside_it_names(self):
        self.write("graph/ir/program.h", "#pragma once\nvoid f();  // in infer.cpp\n")
        self.write("graph/ir/infer.cpp", "", alone=True)
        self.assertEqual(self.problems(), [])

    def test_accepts_a_source_that_a_header_elsewhere_names_with_its_folder(self):
        self.write("ops/shape_ops.h", "#pragma once\n// Views are in shape/views.cpp.\n")
        self.write("ops/shape/views.cpp", "", alone=True)
        self.assertEqual(self.problems(), [])

    def test_accepts_a_source_with_an_internal_header(self):
        self.write("kernels/cpu/loop-inl.h", "")
        self.write("kernels/cpu/loop.cpp", "", alone=True)
        self.assertEqual(self.problems(), [])

    def test_accepts_namespaces_of_folders_rooms_and_headers(self):
        self.write("memory/a.h", "#pragma once\nnamespace tenure {\nnamespace tenure::mem {\n")
        self.write("memory/b.h", "#pragma once\nnamespace tenure::ops {\n")  # declares
        self.write("kernels/cpu/sort/keys.h", "#pragma once\nnamespace tenure::kernels::sort {\n")
        self.write("kernels/cpu/sort/radix.cpp", "namespace tenure::kernels::keys::HWY_NAMESPACE {\n")
        self.assertEqual(self.problems(), [])

    def test_rejects_a_namespace_that_is_no_folder(self):
        self.write("memory/a.h", "#pragma once\nnamespace tenure::memory {\n")
        self.assert_only_problem("tenure/memory/a.h:2: tenure::memory is no folder of tenure/")

    def test_rejects_an_inner_namespace_that_is_neither_room_nor_header(self):
        self.write("kernels/cpu/sort/keys.h", "#pragma once\nnamespace tenure::kernels::sorting {\n")
        self.assert_only_problem("tenure/kernels/cpu/sort/keys.h:2: sorting is neither a folder above")

    def test_exit_status(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.write("base/units.h", "#pragma once\n")
            self.assertEqual(check_includes.main([str(self.root)]), 0)
            self.write("base/units.h", "")
            self.assertEqual(check_includes.main([str(self.root)]), 1)
        self.assertIn("tenure/base/units.h:1:", output.getvalue())

    def test_the_arrows_have_no_cycle(self):
        for folder, below in check_includes.ARROWS.items():
            for lower in below:
                self.assertNotIn(folder, check_includes.reachable(lower))


if __name__ == "__main__":
    unittest.main()
