"""Where fit() tells of its progress: a terminal, a file, the cell of a notebook."""

import re
import sys

from .._tenure._nn import _Stream


def _write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


class _Cell:
    """A terminal in a cell: what follows a '\\r' takes the place of the line that stands there."""

    MOST_LINES = 200

    def __init__(self, display, html):
        self._lines, self._html = [""], html
        self._handle = display(html(""), display_id=True)

    def write(self, text):
        for part in re.findall(r"[\r\n]|[^\r\n]+", text.replace("\033[K", "")):
            if part == "\n":
                self._lines.append("")
            else:
                self._lines[-1] = "" if part == "\r" else self._lines[-1] + part
        del self._lines[: -self.MOST_LINES]
        from .. import _html

        shown = self._lines if self._lines[-1] else self._lines[:-1]
        self._handle.update(self._html(_html.box(*(_html.pre(line) for line in shown))))


def _cell():
    """That of the notebook that runs this; None elsewhere. IPython is there already, or is not asked for."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import HTML, display

    return _Cell(display, HTML)


def output(progress):
    """(how C++ tells of it, the stream that it goes to or None) for 'auto', 'bar', 'lines' or 'none'."""
    if progress == "none":
        return progress, None
    if progress in ("auto", "bar") and (cell := _cell()) is not None:
        return "bar", _Stream(cell.write)
    if sys.stdout is None:
        return "none", None
    if progress == "auto":
        progress = "bar" if sys.stdout.isatty() else "lines"
    return progress, _Stream(_write)
