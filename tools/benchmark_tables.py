#!/usr/bin/env python3
"""Tables of docs/benchmarks.md, made of the files that `./dev bench --json` writes.

benchmark_tables.py [--write PAGE | --check PAGE] [FILE...]

Without files it takes those of bench/figures, by their names. A column is a machine, its instruction set and a number of threads; what a later file has takes the
place of an earlier one's. In a page, what stands between `<!-- table GROUP -->`, or `<!-- behind -->`,
and `<!-- end -->` is made of the files. --check fails where a page has something else.
"""

import argparse
import json
import pathlib
import re
import sys

OTHERS = ("libtorch", "oneDNN", "PyTorch")  # what stands beside a figure else is a limit, or Tenure itself
FIGURES = pathlib.Path(__file__).resolve().parents[1] / "bench" / "figures"
BLOCK = re.compile(r"(<!-- (behind|table ([\w ]+)) -->\n).*?(<!-- end -->)", re.S)


class Figures:
    def __init__(self, files):
        self.columns = []  # machines and sets in the order in which they come, few threads first
        self.rows = {}  # (group, name, unit): {column: (value, {peer: ratio})}
        for file in files:
            self.read(json.loads(pathlib.Path(file).read_text()))

    def read(self, report):
        machine = report["machine"]
        fresh = set()
        for figure in report["figures"]:
            column = (machine["name"], machine["simd"], figure["threads"])
            if column not in self.columns:
                self.columns.append(column)
                order = list(dict.fromkeys(c[:2] for c in self.columns))
                self.columns.sort(key=lambda c: (order.index(c[:2]), c[2]))
            row = self.rows.setdefault((figure["group"], figure["name"], figure["unit"]), {})
            key = (column, figure["group"], figure["name"], figure["unit"])
            if key not in fresh:
                fresh.add(key)
                row[column] = (figure["value"], {})
            if figure["peer"] is not None:
                row[column][1][figure["peer"]] = figure["ratio"]

    def group(self, name):
        return {row[1:]: cells for row, cells in self.rows.items() if row[0] == name}


def number(value):
    """Three digits, or all before the point."""
    size = abs(value)
    if size >= 100 or size == int(size):
        return f"{value:.0f}"
    if size < 0.01:
        return f"{value:.1g}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def heading(column):
    machine, simd, threads = column
    return f"{machine}, {simd}, {threads} thread{'s' if threads > 1 else ''}"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def table(figures, group):
    rows = figures.group(group)
    if not rows:
        raise SystemExit(f"benchmark_tables.py: no figures of the group {group}")
    columns = [c for c in figures.columns if any(c in cells for cells in rows.values())]
    peers = []
    for cells in rows.values():
        for _, ratios in cells.values():
            peers += [peer for peer in ratios if peer not in peers]

    def cell(cells, column):
        if column not in cells:
            return ""
        value, ratios = cells[column]
        shown = [f"{ratios[p]:.2f}" if p in ratios else "-" for p in peers]
        while shown and shown[-1] == "-":
            shown.pop()
        return " ".join(([] if value is None else [number(value)]) + ([f"({', '.join(shown)})"] if shown else []))

    made = [
        [f"{name}, {unit}" if unit else name] + [cell(cells, column) for column in columns]
        for (name, unit), cells in rows.items()
    ]
    said = f"In parentheses: {', '.join(peers)}.\n\n" if peers else ""
    return said + markdown([""] + [heading(c) for c in columns], made)


def behind(figures):
    """Every row that is below a peer in some column."""
    made = []
    for (group, name, _), cells in figures.rows.items():
        peers = []
        for _, ratios in cells.values():
            peers += [p for p in ratios if p not in peers and p.startswith(OTHERS)]
        for peer in peers:
            ratios = [cells.get(c, (0, {}))[1].get(peer) for c in figures.columns]
            shown = ["" if r is None else "-" if round(r, 2) >= 1 else f"{r:.2f}" for r in ratios]
            if any(s not in ("", "-") for s in shown):
                made.append([f"{group}: {name}", peer] + shown)
    return markdown(["", "peer"] + [heading(c) for c in figures.columns], made)


def renewed(page, figures):
    def block(match):
        made = behind(figures) if match[2] == "behind" else table(figures, match[3])
        return match[1] + "\n" + made + "\n" + match[4]

    return BLOCK.sub(block, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path)
    parser.add_argument("--check", metavar="PAGE", type=pathlib.Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    figures = Figures(options.files or sorted(FIGURES.glob("*.json")))
    page = options.write or options.check
    if page is None:
        for group in dict.fromkeys(row[0] for row in figures.rows):
            print(f"## {group}\n\n{table(figures, group)}")
        return
    text = page.read_text()
    new = renewed(text, figures)
    if options.write:
        page.write_text(new)
    elif new != text:
        sys.exit(f"{page} differs from its figures; --write {page} makes its tables anew")


if __name__ == "__main__":
    main()
