import json
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
        self.write("docs/a.md", '# A\n\n## One thing\n\n```python torch\nreturn "<b>", \'c\'  # <i> for\n```\n')
        self.build()
        page = self.read("a.html")
        self.assertIn('<span class="keyword">return</span> <span class="string">&quot;&lt;b&gt;&quot;</span>', page)
        self.assertIn('<span class="comment"># &lt;i&gt; for</span>', page)

    def test_the_page_of_ops(self):
        ops = self.root / "ops.md"
        self.write("ops.md", "## Some\n\n| op |\n| --- |\n| relu |\n")
        self.write_reference("Class List", "annotated.html")
        self.build(ops=ops, reference="reference")
        self.assertIn("<td>relu</td>", self.read("ops.html"))
        self.assertIn('href="../reference.html"', self.read("more/b.html"))

    def test_the_reference_has_a_start_and_a_way_back(self):
        self.write_reference("tenure/memory/budget.h File Reference", "budget_8h.html")
        self.write_reference("Class List", "annotated.html")
        self.write_reference("Deep", "more/deep.html")
        self.write_reference("Main Page", "index.html")
        for _ in range(2):  # a second build adds nothing
            self.build(reference="reference")
        start = self.read("reference.html")
        self.assertIn('href="reference/budget_8h.html"', start)
        self.assertIn("<td>A limit.</td>", start)
        self.assertIn('href="reference/annotated.html"', start)
        self.assertIn("<code>nn/fit.h</code>", start)
        self.assertIn('<a class="home" href="index.html">', start)
        self.assertEqual(self.read("reference/index.html").count('content="0; url=../reference.html"'), 1)
        for page, back in [("budget_8h.html", "../"), ("more/deep.html", "../../")]:
            text = self.read(f"reference/{page}")
            self.assertEqual(text.count("way-back"), 1)
            self.assertIn(f'<body class="x"><p class="way-back"', text)
            self.assertIn(f'href="{back}index.html"', text)
            self.assertIn(f'href="{back}reference.html"', text)

    def write_reference(self, title, name):
        page = self.out / "reference" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f'<html><head><title>Tenure: {title}</title></head><body class="x"><p>words</p></body></html>', encoding="utf-8")
        for header, text in [("tenure.h", '#include "tenure/memory/budget.h"\n#include "tenure/nn/fit.h"\n'),
                             ("memory/budget.h", "#pragma once\n/// Books of it.\nstruct Books;\n/// A limit:\n///\n///     Budget b;\n///\n/// on\n/// bytes. It has two sentences.\nclass Budget;\n/// Another.\nint x;\n"),
                             ("nn/fit.h", "struct Fit;\n")]:
            path = self.root / "tenure" / header
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def test_a_link_says_a_title(self):
        self.write("docs/a.md", "# A\n\n## One thing\n\n[more/b.md](more/b.md)\n")
        self.assertIn("docs/a.md: a link says 'more/b.md', a file's name, instead of a title", self.problems())

    def test_the_search_knows_every_section(self):
        self.write("docs/a.md", "# A\n\nBefore.\n\n## One `thing`!\n\nWords with <b> & \"more\".\n\n```cpp\nrelu(x);\n```\n")
        self.build()
        text = self.read("search-index.js")
        index = json.loads(text.removeprefix("window.searchIndex = ").rstrip().removesuffix(";"))
        found = {section["url"]: section for section in index}
        self.assertEqual(found["a.html"], {"url": "a.html", "title": "A", "heading": "", "text": "Before."})
        self.assertEqual(found["a.html#one-thing"]["heading"], "One thing!")
        self.assertEqual(found["a.html#one-thing"]["text"], 'Words with & "more". relu(x);')
        self.assertIn("more/b.html#two", found)
        for page, root in [("a.html", "./"), ("more/b.html", "../")]:
            self.assertIn(f'data-root="{root}"', self.read(page))
            self.assertIn(f'src="{root}search.js"', self.read(page))

    def test_the_documentation_of_this_tree(self):
        self.assertGreater(site_pages.build(ROOT, self.out), 20)


if __name__ == "__main__":
    unittest.main()
