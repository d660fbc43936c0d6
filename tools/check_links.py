#!/usr/bin/env python3
"""Checks that each folder of tenure/ links against what lies below it alone.

usage: check_links.py LISTS

LISTS is a directory with a file for each folder, FOLDER.txt, which names the folder's object files
(and headers that are precompiled), one a line; a build writes it: build/PRESET/object_lists. What an object file needs is defined by
its own folder, by one below it (the arrows of check_includes.py), by tenure/wiring.cpp, which says
who does what lower folders need of upper ones, or outside of the library.

Prints `FOLDER needs SYMBOL of FOLDER, in OBJECT` for each violation and exits with 1 if there is
any.
"""

import subprocess
import sys
from pathlib import Path

from check_includes import ARROWS, reachable

WIRING = "wiring"

# Object files of a part of a folder that is compiled in another way: its list, and the folder.
PARTS = {"cuda": "kernels"}


def symbols_of(objects):
    """What object files need and what they define for others, as {symbol: object file} each."""
    needed, defined = {}, {}
    listing = subprocess.run(
        ["nm", "--format=posix", "--print-file-name", *objects],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for line in listing.splitlines():
        file, _, rest = line.rpartition(": ")
        name, kind = rest.split()[:2]
        if kind in "Uvw":
            needed.setdefault(name, file)
        elif kind.isupper() or kind == "u":  # others are private to the object file
            defined.setdefault(name, file)
    return needed, defined


def read_folders(lists):
    """{folder: what symbols_of() says of its object files}"""
    folders = {}
    for listing in sorted(Path(lists).glob("*.txt")):
        files = listing.read_text(encoding="utf-8").split()
        needed, defined = symbols_of([file for file in files if file.endswith(".o")])
        folder = folders.setdefault(PARTS.get(listing.stem, listing.stem), ({}, {}))
        folder[0].update(needed)
        folder[1].update(defined)
    return folders


def violations(folders, arrows=ARROWS):
    """What folders need of others that do not lie below them: (folder, symbol, owner, object)."""
    owners = {}
    for folder, (_, defined) in folders.items():
        for symbol in defined:
            owners.setdefault(symbol, set()).add(folder)
    for folder, (needed, _) in folders.items():
        if folder == WIRING:
            continue
        allowed = reachable(folder, arrows) | {WIRING}
        for symbol, file in sorted(needed.items()):
            found = owners.get(symbol, set())
            if found and not found & allowed:
                yield folder, symbol, min(found), file


def demangled(symbols):
    return subprocess.run(
        ["c++filt"], input="\n".join(symbols), check=True, capture_output=True, text=True
    ).stdout.splitlines()


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    found = list(violations(read_folders(arguments[0])))
    for (folder, _, owner, file), name in zip(found, demangled([item[1] for item in found])):
        print(f"{folder} needs {name} of {owner}, in {Path(file).name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
