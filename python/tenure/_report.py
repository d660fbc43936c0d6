"""Recordings and their pages."""

import os

from ._show import html_by
from ._tenure import Profile, ProfileError


class Report:
    """A recording of memory, to look at: in a notebook it is the report page, in a cell of its own. With the
    History of a training the page has its curves, too."""

    def __init__(self, file, history=None):
        self.file = os.fspath(file)
        self.history = history

    def _run(self, *arguments, writes=None):
        """What the command prints; `writes` is a file that it must have made."""
        import subprocess

        from .__main__ import find_command

        command = find_command()
        if command is None:
            raise FileNotFoundError("the tenure command was not built with this package (TENURE_BUILD_CLI=ON does)")
        done = subprocess.run([command, *arguments], capture_output=True, text=True)
        # With status 3 a recording is cut off, and what is left of it is shown, or it is none at all.
        is_shown = os.path.exists(writes) if writes else done.stdout != ""
        if done.returncode not in (0, 3) or not is_shown:
            raise ProfileError(done.stderr.strip() or f"tenure {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def page(self):
        """The page, as HTML that stands alone."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = self.save(os.path.join(folder, "report.html"))
            with open(path, encoding="utf-8") as page:
                return page.read()

    def save(self, path):
        """Writes the page into a file, for a browser; gives the path."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            more = []
            if self.history is not None:
                more = ["--picture", os.path.join(folder, "history.svg")]
                self.history.plot().save(more[1])
            self._run("report", self.file, *more, "-o", os.fspath(path), writes=path)
        return path

    def top(self):
        """What made the peak, and which ops allocated, as text."""
        return self._run("top", self.file)

    def __str__(self):
        return self.top()

    def __repr__(self):
        return f"<report of {self.file}>"

    _repr_html_ = html_by("of_report")


class Recording(Profile):
    """What tenure.profile() gives: records within its `with`, and can be looked at afterwards."""

    def __init__(self, file="run.tenure", stacks=False):
        file = os.fspath(file) or "run.tenure"
        super().__init__(file, stacks)
        self.file = file.replace("%p", str(os.getpid()))

    def report(self, history=None):
        """The Report of what was recorded; with the History of a training, of its curves, too."""
        return Report(self.file, history)

    def __repr__(self):
        return f"<recording {self.file}>"

    def _repr_html_(self):
        return self.report()._repr_html_() if os.path.exists(self.file) else None


def report(file, history=None):
    """A recording to look at: `tn.report("run.tenure")` as the last line of a notebook's cell is its page. With
    the History of a training, the page has its curves, too."""
    found = Report(file, history)
    if not os.path.exists(found.file):
        raise FileNotFoundError(f"there is no recording {found.file}")
    return found
