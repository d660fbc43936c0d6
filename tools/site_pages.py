#!/usr/bin/env python3
"""Renders the documentation as a static site, and checks its links.

usage: site_pages.py ROOT OUT [--ops FILE] [--reference FOLDER]

Pages are docs/**/*.md, README.md, CONTRIBUTING.md, CHANGELOG.md and examples/README.md. The lists
of docs/README.md are the navigation: a page that is in none of them is an error, and so is a link
to a page, heading or file that does not exist, or one that is called by a page's file name instead of
its title. `--ops` adds a page from the Markdown that `tenure ops --markdown` prints. `--reference` is
the folder within OUT that Doxygen has filled: it gets a start page, which lists what tenure/tenure.h
includes, and each of its pages a way back.

Needs cmark-gfm.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
LINK_TEXT = re.compile(r'<a href="[^"]*">([^<]*\.md)</a>')
SECTION = re.compile(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', re.S)
LINK = re.compile(r'(<a href|<img src)="([^"]*)"')
CODE = re.compile(r'<code class="language-(?:cpp|c\+\+)">(.*?)</code>', re.S)
FENCE = re.compile(r"^(\s*```+)(\w\S*)[ \t]+\S.*$", re.M)
TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>R&quot;\(.*?\)&quot;|&quot;(?:\\.|(?!&quot;).)*&quot;|'(?:\\.|[^'\\])+')"
    r"|(?P<directive>^[ \t]*#\s*\w+)"
    r"|\b(?P<keyword>auto|bool|break|case|catch|char|class|const|constexpr|continue|double|else|enum"
    r"|false|float|for|if|inline|int|long|namespace|new|nullptr|operator|private|public|return"
    r"|static|static_cast|struct|switch|template|this|throw|true|try|typename|using|void|while)\b"
    r"|\b(?P<number>\d[\w.]*)",
    re.S | re.M,
)
PYTHON_CODE = re.compile(r'<code class="language-python">(.*?)</code>', re.S)
PYTHON_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<string>\b[rbf]?&quot;&quot;&quot;.*?&quot;&quot;&quot;|&quot;(?:\\.|(?!&quot;)[^\n])*&quot;|'(?:\\.|[^'\\\n])*')"
    r"|\b(?P<keyword>and|as|assert|class|def|del|elif|else|except|finally|for|from|if|import|in|is|lambda|not|or|pass"
    r"|raise|return|try|while|with|yield|None|True|False)\b"
    r"|\b(?P<number>\d[\w.]*)",
    re.S | re.M,
)


REFERENCE = "reference.html"
BACK = 'class="way-back"'


class SiteError(Exception):
    """The documentation cannot become a site; one line for each reason."""


@dataclass
class Page:
    source: PurePosixPath  # within the tree
    target: str  # within the site
    title: str = ""
    body: str = ""
    anchors: set = field(default_factory=set)
    headings: list = field(default_factory=list)  # (anchor, text as HTML) of the second level


def find_pages(root):
    """Source -> page."""
    docs = sorted((root / "docs").rglob("*.md"))
    others = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"]
    sources = [PurePosixPath(path.relative_to(root)) for path in docs]
    sources += [PurePosixPath(path) for path in others if (root / path).exists()]
    return {source: Page(source, target_of(source)) for source in sources}


def target_of(source):
    if source.parts[0] == "docs":
        within = PurePosixPath(*source.parts[1:])
        return "index.html" if str(within) == "README.md" else str(within.with_suffix(".html"))
    if source.name == "README.md":
        return f"{source.parent.name or 'readme'}.html"
    return f"{source.stem.lower()}.html"


def to_html(markdown):
    # Words after the language are for doc_blocks.py.
    plain = FENCE.sub(r"\1\2", markdown)
    run = subprocess.run(
        ["cmark-gfm", "--extension", "table", "--extension", "autolink"],
        input=plain, capture_output=True, text=True, check=True,
    )
    return run.stdout


def anchor_of(heading):
    """As code hosts make them: lower case, words joined by hyphens."""
    text = html.unescape(re.sub(r"<[^>]*>", "", heading)).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", text).strip())


def marked(token):
    return f'<span class="{token.lastgroup}">{token[0]}</span>'


def colored(body):
    """Blocks of C++ and Python with their tokens marked."""
    body = CODE.sub(lambda match: f'<code class="cpp">{TOKEN.sub(marked, match[1])}</code>', body)
    return PYTHON_CODE.sub(lambda match: f'<code class="python">{PYTHON_TOKEN.sub(marked, match[1])}</code>', body)


def render(page, markdown):
    def with_anchor(match):
        level, text = int(match[1]), match[2]
        if level == 1 and not page.title:
            page.title = html.unescape(re.sub(r"<[^>]*>", "", text))
        anchor = anchor_of(text)
        while anchor in page.anchors:
            anchor += "-1"
        page.anchors.add(anchor)
        if level == 2:
            page.headings.append((anchor, text))
        return f'<h{level} id="{anchor}">{text}</h{level}>'

    body = HEADING.sub(with_anchor, to_html(markdown))
    page.body = colored(body).replace("<table>", '<div class="table"><table>')
    page.body = page.body.replace("</table>", "</table></div>")


def resolve_links(page, pages, root, out):
    """Points links at the site; copies files that are linked to. Returns what is wrong."""
    problems = []

    def resolve(match):
        attribute, target = match[1], html.unescape(match[2])
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            return match[0]
        source = PurePosixPath(normpath(page.source.parent / path)) if path else page.source
        linked = pages.get(source)
        if linked:
            if anchor and anchor not in linked.anchors:
                problems.append(f"{page.source}: {source} has no heading '{anchor}'")
            destination = linked.target
        elif (root / source).is_file():
            destination = f"files/{source}"
            (out / destination).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / source, out / destination)
        else:
            problems.append(f"{page.source}: there is no {source}")
            return match[0]
        relative = relpath(destination, PurePosixPath(page.target).parent)
        return f'{attribute}="{relative}{"#" + anchor if anchor else ""}"'

    for name in LINK_TEXT.findall(page.body):
        problems.append(f"{page.source}: a link says '{name}', a file's name, instead of a title")
    page.body = LINK.sub(resolve, page.body)
    return problems


def navigation(pages):
    """The groups of docs/README.md: title and pages."""
    index = pages[PurePosixPath("docs/README.md")]
    groups = []
    for part in re.split(r"<h2[^>]*>", index.body)[1:]:
        title, _, rest = part.partition("</h2>")
        links = [link for item in re.findall(r"<li>(.*?)</li>", rest, re.S)
                 for link in re.findall(r'<a href="([^"#]*)"', item)]
        by_target = {page.target: page for page in pages.values()}
        listed = [by_target[link] for link in dict.fromkeys(links) if link in by_target]
        groups.append((title, listed))
    missing = set(pages) - {page.source for _, listed in groups for page in listed} - {index.source}
    if missing:
        raise SiteError("\n".join(f"docs/README.md does not list {page}" for page in sorted(missing)))
    return groups


def nav_html(page, groups, reference):
    here = PurePosixPath(page.target).parent
    parts = []
    for title, listed in groups:
        items = []
        for other in listed:
            current = ' aria-current="page"' if other is page else ""
            name = html.escape(other.title)
            items.append(f'<li><a href="{relpath(other.target, here)}"{current}>{name}</a></li>')
            if other is page:
                items += [f'<li class="sub"><a href="#{anchor}">{text}</a></li>'
                          for anchor, text in page.headings]
        parts.append(f"<h2>{title}</h2><ul>{''.join(items)}</ul>")
    if reference:
        current = ' aria-current="page"' if page.target == REFERENCE else ""
        parts.append(f'<ul><li><a href="{relpath(REFERENCE, here)}"{current}>The reference</a></li></ul>')
    return "".join(parts)


def plain(body):
    """HTML as the text that a reader sees, in one line."""
    joined = re.sub(r"</?(?:a|code|em|span|strong)\b[^>]*>", "", body)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", joined)).split())


def sections(page):
    """What the search finds: each heading of a page with the text below it."""
    parts = SECTION.split(page.body)
    texts = [("", "", parts[0])] + list(zip(parts[1::3], parts[2::3], parts[3::3]))
    for anchor, heading, body in texts:
        text = plain(body)
        if not text and not heading:
            continue
        is_title = plain(heading) == page.title
        yield {
            "url": page.target + (f"#{anchor}" if anchor and not is_title else ""),
            "title": page.title,
            "heading": "" if is_title else plain(heading),
            "text": text,
        }


def sentence_of(header, name):
    """What a header says of the thing that it is named after, or else of the first that it declares."""
    stem = name.removesuffix(".h").replace("_", "").removesuffix("ops").removesuffix("s")
    said = []  # how well the name fits, and the first sentence
    for comment, declared in re.findall(r"((?:^///.*\n)+)(?=((?:.*\n){1,3}))", header, re.M):
        words = re.search(r"(?:class|struct)\s+(\w+)|(\w+)\s*\(", declared)
        thing = (words[1] or words[2]).lower().replace("_", "") if words else ""
        paragraph = comment.split("\n///\n", maxsplit=1)[0].replace("\n///", "").removeprefix("///")
        sentence = re.split(r"(?<=[.:])\s", paragraph.strip(), maxsplit=1)[0]
        fits = 2 if thing == stem else 1 if stem and stem in thing else 0
        said.append((fits, re.sub(r":$", ".", sentence)))
    return max(said, key=lambda each: each[0])[1] if said else ""


def reference_page(root, out, reference):
    """The start of the reference: what tenure/tenure.h includes, by folder."""
    linked = {}  # header -> its page, as Doxygen has titled it
    for path in (out / reference).rglob("*.html"):
        title = re.search(r"<title>[^<]*?([\w/.-]+\.h) File Reference</title>", path.read_text(encoding="utf-8", errors="replace"))
        if title:
            linked[title[1]] = path.relative_to(out)
    umbrella = (root / "tenure/tenure.h").read_text(encoding="utf-8")
    page = Page(PurePosixPath("docs/reference.md"), REFERENCE, "The reference")
    lines = ["# The reference", "", "What `#include \"tenure/tenure.h\"` brings, header by header, made from "
             "the headers themselves. The guides beside this say how it goes together; this says what each "
             "call takes, returns and throws.", ""]
    lines += [f"- [{text}]({reference}/{name})" for text, name in
              [("All classes", "annotated.html"), ("All headers", "files.html")] if (out / reference / name).exists()]
    folder = ""
    for header in re.findall(r'#include "(tenure/[^"]+)"', umbrella):
        if header.split("/")[1] != folder:
            folder = header.split("/")[1]
            lines += ["", f"## {folder}", "", "| header | |", "| --- | --- |"]
        name = header.removeprefix("tenure/")
        target = linked.get(header) or linked.get(name) or linked.get(PurePosixPath(header).name)
        link = f"[`{name}`]({target})" if target else f"`{name}`"
        text = (root / header).read_text(encoding="utf-8")
        sentence = sentence_of(text, PurePosixPath(header).name).replace("|", "\\|")
        lines.append(f"| {link} | {sentence} |")
    render(page, "\n".join(lines) + "\n")
    return page


def add_way_back(out, reference):
    """A line on top of each page of Doxygen's that leads to the documentation; its first page, which
    is empty, goes there by itself."""
    forward = f'<meta http-equiv="refresh" content="0; url=../{REFERENCE}"/>'
    first = out / reference / "index.html"
    if first.exists() and forward not in first.read_text(encoding="utf-8"):
        first.write_text(first.read_text(encoding="utf-8").replace("<head>", f"<head>{forward}", 1), encoding="utf-8")
    for path in (out / reference).rglob("*.html"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if BACK in text:
            continue
        here = path.relative_to(out).parent
        bar = (f'<p {BACK} style="margin:0;padding:6px 12px;font:14px sans-serif">'
               f'<a href="{relpath("index.html", here)}">Tenure</a> &rsaquo; '
               f'<a href="{relpath(REFERENCE, here)}">The reference</a></p>')
        path.write_text(re.sub(r"(<body[^>]*>)", lambda match: match[1] + bar, text, count=1), encoding="utf-8")


def build(root, out, ops=None, reference=None):
    pages = find_pages(root)
    out.mkdir(parents=True, exist_ok=True)
    for page in pages.values():
        render(page, (root / page.source).read_text(encoding="utf-8"))
    if ops:
        page = pages[PurePosixPath("docs/ops.md")] = Page(PurePosixPath("docs/ops.md"), "ops.html")
        render(page, "# All ops\n\n" + ops.read_text(encoding="utf-8"))
    problems = [line for page in pages.values() for line in resolve_links(page, pages, root, out)]
    if problems:
        raise SiteError("\n".join(problems))
    listed = {source: page for source, page in pages.items() if page.target != "ops.html"}
    groups = navigation(listed)
    if ops:
        groups[-1][1].insert(0, page)

    shown = list(pages.values())
    if reference:
        shown.append(reference_page(root, out, reference))
        add_way_back(out, reference)
    template = (root / "docs/site/page.html").read_text(encoding="utf-8")
    for page in shown:
        here = PurePosixPath(page.target).parent
        values = {
            "title": html.escape(page.title),
            "home": relpath("index.html", here),
            "style": relpath("style.css", here),
            "root": relpath(".", here) + "/",
            "nav": nav_html(page, groups, reference),
            "body": page.body,
        }
        path = out / page.target
        path.parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)
        path.write_text(text, encoding="utf-8")
    for name in ["style.css", "search.js"]:
        shutil.copyfile(root / "docs/site" / name, out / name)
    index = [section for page in shown for section in sections(page)]
    text = json.dumps(index, ensure_ascii=True, separators=(",", ":"))
    (out / "search-index.js").write_text(f"window.searchIndex = {text};\n", encoding="utf-8")
    return len(pages)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ops", type=Path)
    parser.add_argument("--reference")
    options = parser.parse_args(arguments)
    try:
        count = build(options.root, options.out, options.ops, options.reference)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} pages, {options.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
