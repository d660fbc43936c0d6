import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import doc_blocks  # noqa: E402
from doc_blocks import Block, DocumentError, extract  # noqa: E402


def page(text):
    """A document in which ''' stands for a fence, so that this file needs no escapes."""
    return textwrap.dedent(text).lstrip("\n").replace("'''", "```")


class ExtractTest(unittest.TestCase):
    def test_finds_cpp_blocks_with_their_lines(self):
        blocks = extract(
            "README.md",
            page("""
                # Title
                '''cpp
                auto x = ones({2});
                auto y = x;
                '''
                '''bash
                ls
                '''
                '''cpp
                int main() {}
                '''
                """),
        )
        self.assertEqual([block.line for block in blocks], [3, 10])
        self.assertEqual(blocks[0].code, "auto x = ones({2});\nauto y = x;")
        self.assertEqual([block.has_main for block in blocks], [False, True])
        self.assertEqual([block.program for block in blocks], ["README", "README_line10"])

    def test_an_output_belongs_to_the_block_before_it(self):
        text = "'''cpp\nf();\n'''\n\n'''text output\n6\n'''\n"
        (block,) = extract("a.md", page(text))
        self.assertEqual((block.expected, block.expected_line), ("6", 6))

    def test_an_output_elsewhere_is_refused(self):
        for text in (
            "'''text output\n6\n'''\n",
            "'''cpp\nf();\n'''\nwords\n'''text output\n6\n'''\n",
            "'''cpp\nf();\n'''\n'''bash\nls\n'''\n'''text output\n6\n'''\n",
        ):
            with self.assertRaisesRegex(DocumentError, r"^a\.md:\d+: an output must"):
                extract("a.md", page(text))

    def test_plain_text_blocks_are_left_alone(self):
        (block,) = extract("a.md", page("'''cpp\nf();\n'''\n'''text\n6\n'''\n"))
        self.assertIsNone(block.expected)

    def test_attributes(self):
        (block,) = extract("a.md", page("'''cpp throws\nf();\n'''\n"))
        self.assertTrue(block.throws)
        with self.assertRaisesRegex(DocumentError, r"^a\.md:1: unknown attribute 'skip'"):
            extract("a.md", page("'''cpp skip\nf();\n'''\n"))
        with self.assertRaisesRegex(DocumentError, r"^a\.md:1: a block with main"):
            extract("a.md", page("'''cpp throws\nint main() {}\n'''\n"))

    def test_an_open_block_is_refused(self):
        with self.assertRaisesRegex(DocumentError, r"^a\.md:2: .* never closed"):
            extract("a.md", page("words\n'''cpp\nf();\n"))

    def test_a_block_in_a_list_loses_its_indent(self):
        (block,) = extract("a.md", page("- item\n  '''cpp\n  if (a)\n    f();\n  '''\n"))
        self.assertEqual(block.code, "if (a)\n  f();")


class CopyTest(unittest.TestCase):
    def test_files_and_output_are_written(self):
        text = page("""
            words

            **`main.cpp`**

            '''cpp
            int main() {}
            '''

            **`CMakeLists.txt`**
            '''cmake
            project(a)
            '''

            '''sh
            ls
            '''
            """)
        self.assertEqual(doc_blocks.shown_files("a.md", text),
                         {"main.cpp": "int main() {}\n", "CMakeLists.txt": "project(a)\n"})
        with tempfile.TemporaryDirectory() as scratch:
            source, out = Path(scratch) / "a.md", Path(scratch) / "out"
            source.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(DocumentError, "no output"):
                doc_blocks.copy(source, out)
            source.write_text(text.replace("int main() {}\n```\n", "int main() {}\n```\n```text output\n1\n```\n"),
                              encoding="utf-8")
            doc_blocks.copy(source, out)
            self.assertEqual(sorted(file.name for file in out.iterdir()), ["CMakeLists.txt", "main.cpp", "output.txt"])
            self.assertEqual((out / "output.txt").read_text(encoding="utf-8"), "1\n")


class GenerateTest(unittest.TestCase):
    def test_blocks_without_main_share_a_program(self):
        blocks = [Block("docs/a.md", 3, "#include <map>\nf();"), Block("docs/a.md", 9, "g();", True)]
        sources = doc_blocks.programs(blocks)
        self.assertEqual(list(sources), ["docs_a"])
        source = sources["docs_a"]
        self.assertLess(source.index("#include <map>"), source.index("static void block_3()"))
        self.assertIn('#line 3 "docs/a.md"\n\nf();', source)
        self.assertIn("{3, block_3, false},", source)
        self.assertIn("{9, block_9, true},", source)

    def test_a_block_with_main_is_taken_as_it_is(self):
        sources = doc_blocks.programs([Block("README.md", 5, "int main() {}")])
        self.assertEqual(sources, {"README_line5": '#line 5 "README.md"\nint main() {}\n'})

    def test_unchanged_sources_are_not_written_again(self):
        with tempfile.TemporaryDirectory() as scratch:
            root, out = Path(scratch), Path(scratch) / "out"
            (root / "README.md").write_text(page("'''cpp\nf();\n'''\n"), encoding="utf-8")
            doc_blocks.generate(root, out)
            before = (out / "README.cpp").stat().st_mtime_ns
            doc_blocks.generate(root, out)
            self.assertEqual((out / "README.cpp").stat().st_mtime_ns, before)
            self.assertEqual((out / "programs.txt").read_text(encoding="utf-8"), "README\n")


class CheckTest(unittest.TestCase):
    def check(self, expected, script):
        block = Block("docs/a.md", 10, "f();", expected=expected, expected_line=14)
        return doc_blocks.check_block(block, [sys.executable, "-c", script])

    def test_trailing_whitespace_does_not_matter(self):
        self.assertIsNone(self.check("1\n2", r"print('1  \n2\n\n')"))

    def test_a_different_output_is_reported_with_its_place(self):
        failure = self.check("1\n2", r"print('1\n3')")
        self.assertTrue(failure.startswith("docs/a.md:10: "), failure)
        self.assertIn("--- docs/a.md:14", failure)
        self.assertIn("-2\n+3", failure)

    def test_places_are_counted_within_the_block(self):
        self.assertIsNone(self.check("created example.cpp:3", "print('created a.md:12')"))

    def test_a_failing_block_is_reported_with_what_it_said(self):
        failure = self.check(None, "import sys; sys.exit('did not throw')")
        self.assertIn("docs/a.md:10: exit status 1", failure)
        self.assertIn("did not throw", failure)


if __name__ == "__main__":
    unittest.main()
