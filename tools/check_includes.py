#!/usr/bin/env python3
"""Checks the structure of tenure/: include directions, header guards, file sizes, that namespaces
are folders, and that headers tell where what they declare is defined.

usage: check_includes.py [ROOT]

Prints one `file:line: problem` for each violation and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Folder -> the folders right below it. A folder may include itself and whatever can be reached
# along these arrows; each folder's CMakeLists.txt links exactly the folders named here.
ARROWS = {
    "base": [],
    "memory": ["base"],
    "planner": ["base"],
    "tensor": ["memory"],
    "ops": ["tensor"],
    "kernels": ["ops"],
    "eager": ["kernels", "planner"],
    "graph": ["kernels", "planner"],
    "autograd": ["eager", "graph"],
    "check": ["autograd"],
    "nn": ["autograd", "data", "io"],
    "data": ["io", "kernels"],
    "io": ["ops"],
    "profile": ["memory", "graph"],
}

# What a device has below kernels/ is its own: others reach it through ops/core/backend.h, and
# tenure/wiring.cpp has the table.
DEVICES = ("cpu", "cuda")

# A folder's namespace has its name; `tenure::memory()` is a function for users.
NAMESPACES = {"memory": "mem"}

MAX_LINES = 800
SOURCES = {".h", ".cpp", ".cu"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMESPACE = re.compile(r"^namespace tenure::([\w:]+) \{")
FOLDER = re.compile(r'tenure_folder\(\s*(\w+)(?:\s+ALONE\s+"[^"]*")?\s*(?:DEPENDS([^)]*))?\)')
SOURCE = re.compile(r"(?:\w+/)?\w+\.cpp\b")  # in a comment, with its folder or without
STANDARD = re.compile(r"[a-z_]+|sanitizer/\w+\.h")  # The latter come with the compiler.


def reachable(folder, arrows=ARROWS):
    """The folders that `folder` may include, itself among them."""
    seen, pending = set(), [folder]
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            pending += arrows[current]
    return seen


def device_of(parts):
    """The device that a path below tenure/ is of, or None."""
    is_of_device = len(parts) > 3 and parts[1] == "kernels" and parts[2] in DEVICES
    return parts[2] if is_of_device else None


def include_problem(folder, device, is_public_header, bracket, target):
    """What is wrong with one include of a file in `folder` (None: the root), or None."""
    if target.startswith("tenure/"):
        parts = target.split("/")
        if folder is None:  # The umbrella header sees everything.
            return None
        if len(parts) == 2:
            return f'"{target}" is for users; include the header that declares what is needed'
        allowed = reachable(folder)
        if parts[1] not in allowed:
            return f'{folder}/ may not include "{target}"; allowed: {", ".join(sorted(allowed))}'
        if device_of(parts) not in (None, device):
            return f'"{target}" is a device\'s own; go through tenure/ops/core/backend.h'
        return None
    if bracket == '"':
        return f'"{target}" must be spelled from the root: "tenure/..."'
    if is_public_header and not STANDARD.fullmatch(target):
        return (
            f"<{target}> in an installed header; these include the standard library alone "
            "(internal headers end in -inl.h)"
        )
    return None


def namespace_problem(path, rooms, names):
    """What is wrong with namespace tenure::`names` in a file below the folders `rooms`, or None.

    What is for users is in `tenure`, the rest in the namespace of its folder. Within that a name is
    that of a room on the way to the file, or of a header beside it.
    """
    first, *inner = names.split("::")
    if first not in {NAMESPACES.get(folder, folder) for folder in ARROWS}:
        return f"tenure::{first} is no folder of tenure/"
    for name in inner:
        headers = (path.with_name(f"{name}.h"), path.with_name(f"{name}-inl.h"))
        is_here = name in rooms[1:] or any(header.exists() for header in headers)
        if name != "HWY_NAMESPACE" and not is_here:
            return f"{name} is neither a folder above this file nor a header beside it"
    return None


def check_source(root, path):
    relative = path.relative_to(root)
    folder = relative.parts[1] if len(relative.parts) > 2 else None
    if folder is not None and folder not in ARROWS:
        yield relative, 1, f"{folder}/ has no line in ARROWS of tools/check_includes.py"
        return

    device = device_of(relative.parts)
    is_internal = path.name.endswith("-inl.h")  # These have toggle guards instead.
    is_public_header = path.suffix == ".h" and not is_internal
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        yield relative, MAX_LINES + 1, f"{len(lines)} lines; at most {MAX_LINES}"
    if is_public_header and "#pragma once" not in lines:
        yield relative, 1, "no #pragma once"
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            if problem := include_problem(folder, device, is_public_header, *match.groups()):
                yield relative, number, problem
        if folder is not None and (match := NAMESPACE.match(line)):
            if problem := namespace_problem(path, relative.parts[1:-1], match.group(1)):
                yield relative, number, problem


def check_links(root, path):
    for name, depends in FOLDER.findall(path.read_text(encoding="utf-8")):
        expected = sorted(ARROWS.get(name, []))
        if sorted(depends.split()) != expected:
            yield path.relative_to(root), 1, f"{name} must link: {' '.join(expected) or 'nothing'}"


def check_definitions(root, library):
    """A reader of a header finds its sources: by its own name, or by what its comments say."""
    named = {}  # folder -> the sources that comments of its headers name
    for path in library.rglob("*.h"):
        for line in path.read_text(encoding="utf-8").splitlines():
            named.setdefault(path.parent, set()).update(SOURCE.findall(line.partition("//")[2]))
    everywhere = set().union(*named.values())
    for path in sorted(library.rglob("*.cpp")):
        headers = (path.with_suffix(".h"), path.with_name(f"{path.stem}-inl.h"))
        name, full = path.name, f"{path.parent.name}/{path.name}"
        if any(header.exists() for header in headers):
            continue
        if name not in named.get(path.parent, ()) and full not in everywhere:
            yield path.relative_to(root), 1, (
                f"has no header of its name, and no header says that {full} defines what it declares"
            )


def check_tree(root):
    """All violations below root/tenure, as (file, line, problem)."""
    library = Path(root) / "tenure"
    problems = []
    for path in sorted(library.rglob("*")):
        if path.suffix in SOURCES:
            problems += check_source(Path(root), path)
        elif path.name == "CMakeLists.txt":
            problems += check_links(Path(root), path)
    return problems + list(check_definitions(Path(root), library))


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check_tree(root)
    for file, line, problem in problems:
        print(f"{file}:{line}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
