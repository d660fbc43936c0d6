#!/usr/bin/env python3
"""Makes the C++ blocks of the documentation compile, run and print what the page says.

usage: doc_blocks.py generate ROOT OUT   writes one program per document, plus one per block that
                                         has its own main; lists them in OUT/programs.txt
       doc_blocks.py check ROOT BIN      runs every block with the programs built in BIN
       doc_blocks.py copy PAGE OUT       writes the files that a page shows, and the output of its
                                         first block, into OUT

In README.md, CONTRIBUTING.md and docs/**/*.md:

    ```cpp           compiled and run; without `int main`, as the body of a function that sees
                     tenure/tenure.h, common standard headers and `using namespace tenure`
    ```cpp throws    must throw a tenure::Error, whose text counts as its output
    ```text output   directly after a cpp block: exactly what the block prints

A line **`main.cpp`** by itself before a block of any language says that this is the file main.cpp.

Where a block prints a place in its own source, the page shows it as `example.cpp:N`, N being the
line within the block: the page can then be edited without renumbering its outputs.
"""

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(\s*)(```+)\s*([^`]*)$")
INCLUDE = re.compile(r"^\s*#\s*include\b")
TITLE = re.compile(r"\*\*`([\w.-]+)`\*\*")
MAIN = re.compile(r"\bint\s+main\s*\(")
TIMEOUT_SECONDS = 300


class DocumentError(Exception):
    """A document breaks the rules above; the text starts with document:line."""


@dataclass
class Block:
    document: str  # relative to the root
    line: int  # of the first line of code
    code: str
    throws: bool = False
    expected: str | None = None
    expected_line: int = 0

    @property
    def has_main(self):
        return MAIN.search(self.code) is not None

    @property
    def program(self):
        name = re.sub(r"\W", "_", self.document.removesuffix(".md"))
        return f"{name}_line{self.line}" if self.has_main else name

    @property
    def place(self):
        return f"{self.document}:{self.line}"


def documents(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in pages if page.exists()]


def fences(name, text):
    """Yields (info string, first line of the content, content, number of the line after)."""
    opening = None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if opening is None:
            if match:
                indent, ticks, info = match.groups()
                opening = (len(indent), ticks, info.strip(), number + 1)
                content = []
        elif match and match.group(2) == opening[1] and not match.group(3).strip():
            yield opening[2], opening[3], "\n".join(content), number + 1
            opening = None
        else:
            indent = opening[0]
            content.append(line[indent:] if not line[:indent].strip() else line)
    if opening is not None:
        raise DocumentError(f"{name}:{opening[3] - 1}: this block is never closed")


def extract(name, text):
    """The C++ blocks of one document, with the outputs that follow them."""
    lines = text.splitlines()
    blocks = []
    previous_end = None  # of the cpp block whose output may come next
    for info, line, content, end in fences(name, text):
        language, *attributes = info.split() or [""]
        if language == "cpp":
            unknown = [word for word in attributes if word != "throws"]
            if unknown:
                raise DocumentError(f"{name}:{line - 1}: unknown attribute '{unknown[0]}'")
            block = Block(name, line, content, throws="throws" in attributes)
            if block.throws and block.has_main:
                raise DocumentError(f"{name}:{line - 1}: a block with main cannot be `throws`")
            blocks.append(block)
            previous_end = end
        elif language == "text" and attributes == ["output"]:
            between = lines[previous_end - 1 : line - 2] if previous_end else ["no block"]
            if any(text_line.strip() for text_line in between):
                raise DocumentError(f"{name}:{line - 1}: an output must directly follow its block")
            blocks[-1].expected = content
            blocks[-1].expected_line = line
            previous_end = None
        else:
            previous_end = None
    return blocks


def extract_all(root):
    return [
        block
        for page in documents(root)
        for block in extract(str(page.relative_to(root)), page.read_text(encoding="utf-8"))
    ]


def line_directive(block):
    return f'#line {block.line} "{block.document}"'


def function_source(block):
    body = "\n".join("" if INCLUDE.match(line) else line for line in block.code.split("\n"))
    return (
        f"static void block_{block.line}() {{\n"
        f"using namespace tenure;\n{line_directive(block)}\n{body}\n}}\n"
    )


def document_source(blocks):
    """One program with a function per block; its argument is the line of the block to run."""
    includes = {
        line.strip()
        for block in blocks
        for line in block.code.split("\n")
        if INCLUDE.match(line)
    }
    table = "\n".join(
        f"      {{{block.line}, block_{block.line}, {str(block.throws).lower()}}},"
        for block in blocks
    )
    return "\n".join(
        [
            '#include "tests/docs/block_main.h"',
            *sorted(includes),
            "",
            *(function_source(block) for block in blocks),
            "int main(int argc, char** argv) {",
            f"  return run_block(argc, argv, {{\n{table}\n  }});",
            "}",
            "",
        ]
    )


def programs(blocks):
    """Program name -> its source."""
    sources, wrapped = {}, {}
    for block in blocks:
        if block.has_main:
            sources[block.program] = f"{line_directive(block)}\n{block.code}\n"
        else:
            wrapped.setdefault(block.program, []).append(block)
    for name, of_document in wrapped.items():
        sources[name] = document_source(of_document)
    return sources


def shown_files(name, text):
    """The files that a page shows: {name: content}."""
    lines = text.splitlines()
    files = {}
    for _, line, content, _ in fences(name, text):
        before = [each for each in lines[: line - 2] if each.strip()]
        title = TITLE.fullmatch(before[-1].strip()) if before else None
        if title:
            files[title[1]] = content + "\n"
    return files


def copy(page, out):
    text = page.read_text(encoding="utf-8")
    files = shown_files(str(page), text)
    outputs = [block.expected for block in extract(str(page), text) if block.expected is not None]
    if not files or not outputs:
        raise DocumentError(f"{page}: it shows no files, or no output")
    out.mkdir(parents=True, exist_ok=True)
    for name, content in {**files, "output.txt": outputs[0] + "\n"}.items():
        (out / name).write_text(content, encoding="utf-8")


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generate(root, out):
    out.mkdir(parents=True, exist_ok=True)
    sources = programs(extract_all(root))
    for name, source in sources.items():
        write_if_changed(out / f"{name}.cpp", source)
    write_if_changed(out / "programs.txt", "".join(f"{name}\n" for name in sources))


def normalized(text):
    return [line.rstrip() for line in text.rstrip().split("\n")]


def places_within_block(block, output):
    """`output` with places in the document turned into places in the block."""
    own_place = re.compile(rf"\b{re.escape(Path(block.document).name)}:(\d+)")
    return own_place.sub(lambda m: f"example.cpp:{int(m[1]) - block.line + 1}", output)


def check_block(block, command):
    """What is wrong with the run of one block, or None."""
    with tempfile.TemporaryDirectory() as scratch:  # A block may write files.
        try:
            run = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"{block.place}: did not end within {TIMEOUT_SECONDS} s"
    if run.returncode != 0:
        return f"{block.place}: exit status {run.returncode}\n{run.stdout}{run.stderr}"
    if block.expected is None:
        return None
    expected = normalized(block.expected)
    actual = normalized(places_within_block(block, run.stdout))
    if actual == expected:
        return None
    page = f"{block.document}:{block.expected_line}"
    difference = difflib.unified_diff(expected, actual, page, "printed", lineterm="")
    return f"{block.place}: the output is not what the page says\n" + "\n".join(difference)


def check(root, binaries):
    blocks = extract_all(root)
    failures = []
    for block in blocks:
        command = [str(binaries.resolve() / block.program)]
        if not block.has_main:
            command.append(str(block.line))
        if failure := check_block(block, command):
            failures.append(failure)
    print(*failures, sep="\n\n", end="\n" if failures else "")
    print(f"{len(blocks) - len(failures)} of {len(blocks)} blocks are right")
    return 1 if failures else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", choices=["generate", "check", "copy"])
    parser.add_argument("root", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            return check(options.root, options.folder)
        if options.command == "copy":
            copy(options.root, options.folder)
            return 0
        generate(options.root, options.folder)
        return 0
    except DocumentError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
