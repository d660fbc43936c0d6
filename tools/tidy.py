#!/usr/bin/env python3
"""Runs clang-tidy over the library, the command and the examples, one process per core.

usage: tidy.py BUILD_DIR [--all]

Without --all, only what changed since the branch left main (on main: since the last commit),
uncommitted changes included. A changed header is checked through the source of the same name or,
where there is none, through the first source that includes it.

Each source is looked at by itself or, where the build unites some, together with these: fifteen take
as long as one.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDERS = ("tenure/", "cli/", "examples/")


def git(*arguments):
    """The output of a git command, or None where it fails."""
    run = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def base_commit():
    """The commit that changes are counted from, or None where there is no history."""
    head = git("rev-parse", "--verify", "HEAD")
    for branch in ("origin/main", "main"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return base
    return git("rev-parse", "--verify", "HEAD~1")


def changed_files(base):
    tracked = git("diff", "--name-only", "--diff-filter=d", base) or ""
    untracked = git("ls-files", "--others", "--exclude-standard") or ""
    return {*tracked.splitlines(), *untracked.splitlines()}


def source_for_header(header, sources):
    same_name = str(Path(header).with_suffix(".cpp"))
    if same_name in sources:
        return same_name
    include = f'#include "{header}"'
    return next((source for source in sources if include in Path(source).read_text()), None)


def select(sources, changed):
    headers = [file for file in changed if file.endswith(".h") and file.startswith(FOLDERS)]
    through_headers = {source_for_header(header, sources) for header in headers}
    return [source for source in sources if source in changed or source in through_headers]


def without_precompiled_headers(build_dir):
    """A folder with the build's commands as Clang can take them: it cannot read GCC's headers, and
    each source shall include what it uses."""
    entries = json.loads((build_dir / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = re.sub(r" -include \S*cmake_pch\.hxx", "", entry["command"])
    folder = build_dir / "tidy"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def compiled_sources(build_dir):
    root = Path.cwd()
    entries = json.loads((build_dir / "compile_commands.json").read_text())
    made = root / build_dir  # what unites sources lies where they do, but in the build's folder
    files = {Path(entry["file"]) for entry in entries if "cmake_pch" not in entry["file"]}
    chosen = set()
    for file in files:
        top = made if file.is_relative_to(made) else root
        if file.is_relative_to(top) and str(file.relative_to(top)).startswith(FOLDERS):
            chosen.add(str(file.relative_to(root)))
    return sorted(file for file in chosen if Path(file).exists())


def gcc_headers():
    """GCC's own header folder: omp.h is there. Searched last, so Clang's intrinsics win."""
    return subprocess.check_output(["g++", "-print-file-name=include"], text=True).strip()


def tidy(build_dir, source):
    command = [
        "clang-tidy", "-p", str(build_dir), "--quiet", "--warnings-as-errors=*",
        f"--header-filter=^{re.escape(str(Path.cwd()))}/({'|'.join(FOLDERS)})",
        f"--extra-arg=-idirafter{gcc_headers()}", "--extra-arg=-Wno-unknown-warning-option",
        "--extra-arg=-Wno-unused-command-line-argument", source,
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    chatter = re.compile(r"^\d+ warnings?.* generated\.$|^Suppressed |^Use -header-filter")
    errors = [line for line in run.stderr.splitlines() if not chatter.match(line)]
    return run.returncode, run.stdout + "\n".join(errors)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build_dir", type=Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args(arguments)

    sources = compiled_sources(options.build_dir)
    base = None if options.all else base_commit()
    chosen = select(sources, changed_files(base)) if base else sources
    commands = without_precompiled_headers(options.build_dir)
    print(f"clang-tidy: {len(chosen)} of {len(sources)} sources", flush=True)

    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, output in pool.map(lambda source: tidy(commands, source), chosen):
            if status != 0:
                failed = True
                print(output, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
