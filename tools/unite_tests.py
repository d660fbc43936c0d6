#!/usr/bin/env python3
"""Says which sources of a test program can be compiled as one.

usage: unite_tests.py SOURCE...

Prints `SOURCE:GROUP` for each. Sources of one group are included into one unit, where what is in an
anonymous namespace of one is seen by the next: two of a group mention no name that the other
defines, so that no call can come to mean something else.
"""

import re
import sys
from pathlib import Path

MOST = 4

# What stands at the beginning of a line stands in a namespace, or is a macro.
DEFINITIONS = [
    re.compile(r"^#define\s+(\w+)", re.M),
    re.compile(r"^(?:struct|class|union|enum(?: class)?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)?(\w+)", re.M),
    re.compile(r"^using\s+(\w+)\s*=", re.M),
    # A function: a type, then the name before the parenthesis. A variable: before =, { or ;.
    re.compile(r"^(?!TEST|INSTANTIATE|return\b|using\b|namespace\b|struct\b|class\b|enum\b|template\b)"
               r"[A-Za-z_\[][\w:<>,&*\s\[\]]*?[\s&*](\w+)\s*(?:\(|=|\{|;|\[)", re.M),
]
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def defined(text):
    return {match.group(1) for pattern in DEFINITIONS for match in pattern.finditer(text)}


def groups(texts):
    """One number per text; equal ones may share a unit."""
    texts = [COMMENTS.sub("", text) for text in texts]
    names = [defined(text) for text in texts]
    words = [set(re.findall(r"\w+", text)) for text in texts]
    members = []
    result = []
    for i in range(len(texts)):
        def fits(group):
            return len(group) < MOST and all(
                names[i].isdisjoint(words[j]) and names[j].isdisjoint(words[i]) for j in group)

        group = next((g for g, group in enumerate(members) if fits(group)), len(members))
        if group == len(members):
            members.append([])
        members[group].append(i)
        result.append(group)
    return result


def main(sources):
    texts = [Path(source).read_text(encoding="utf-8") for source in sources]
    for source, group in zip(sources, groups(texts)):
        print(f"{source}:{group}")


if __name__ == "__main__":
    main(sys.argv[1:])
