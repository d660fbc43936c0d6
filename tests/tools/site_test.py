import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import site_pages  # noqa: E402


@unittest.skipUnless(shutil.which("cmark-gfm"), "there is no cmark-gfm")
class SiteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"
        self.out = Path(folder.name) / "site"
        (self.root / "docs/more").mkdir(parents=True)
        shutil.copytree(ROOT / "docs/site", self.root / "docs/site")
        self.write("docs/README.md", "# Index\n\n## Pages\n\n- [a](a.md)\n- [b](more/b.md)\n")
        self.write("docs/a.md", "# A\n\n## One `thing`!\n\n[b](more/b.md#two)\n")
        self.write("docs/more/b.md", "# B\n\n## Two\n\n[a](../a.md#one-thing), [c](../c.txt)\n")
        self.write("docs/c.txt", "file")

    def write(self, path, text):
        (self.root / path).write_text(text, encoding="utf-8")

    def build(self, **options):
        return site_pages.build(self.root, self.out, **options)

    def read(self, path):
        return (self.out / path).read_text(encoding="utf-8")

    def problems(self):
        with self.assertRaises(site_pages.SiteError) as caught:
            self.build()
        return str(caught.exception)

    def test_links_lead_from_page_to_page(self):
        self.assertEqual(self.build(), 3)
        self.assertIn('href="more/b.html#two"', self.read("a.html"))
        self.assertIn('href="../a.html#one-thing"', self.read("more/b.html"))
        self.assertIn('href="../files/docs/c.txt"', self.read("more/b.html"))
        self.assertEqual(self.read("files/docs/c.txt"), "file")

    def test_every_page_has_the_navigation(self):
        self.build()
        self.assertIn('<a href="../a.html">A</a>', self.read("more/b.html"))
        self.assertIn('<a href="more/b.html" aria-current="page">'.replace("more/", ""),
                      self.read("more/b.html"))

    def test_a_link_to_nothing_is_named(self):
        self.write("docs/a.md", "# A\n\n[x](missing.md) [y](more/b.md#three) [z](#four)\n")
        problems = self.problems()
        self.assertIn("docs/a.md: there is no docs/missing.md", problems)
        self.assertIn("docs/a.md: docs/more/b.md has no heading 'three'", problems)
        self.assertIn("docs/a.md: docs/a.md has no heading 'four'", problems)

    def test_a_page_outside_the_navigation_is_named(self):
        self.write("docs/lost.md", "# Lost\n")
        self.assertIn("does not list docs/lost.md", self.problems())

    def test_code_is_escaped_and_colored(self):
        self.write("docs/a.md", '# A\n\n## One thing\n\n```cpp throws\nreturn "<b>";  // <i>\n```\n')
        self.build()
        page = self.read("a.html")
        self.assertIn('<span class="keyword">return</span>', page)
        self.assertIn('<span class="string">&quot;&lt;b&gt;&quot;</span>', page)
        self.assertIn('<span class="comment">// &lt;i&gt;</span>', page)

    def test_the_page_of_ops(self):
        ops = self.root / "ops.md"
        self.write("ops.md", "## Some\n\n| op |\n| --- |\n| relu |\n")
        self.build(ops=ops, reference="reference")
        self.assertIn("<td>relu</td>", self.read("ops.html"))
        self.assertIn('href="../reference/index.html"', self.read("more/b.html"))

    def test_the_documentation_of_this_tree(self):
        self.assertGreater(site_pages.build(ROOT, self.out), 20)


if __name__ == "__main__":
    unittest.main()
