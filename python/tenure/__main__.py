"""`python -m tenure`: the tenure command, which is installed beside the package."""

import os
import shutil
import signal
import sys
from pathlib import Path


def find_command():
    """Its path, or None."""
    beside = Path(__file__).resolve().parent / "bin" / "tenure"
    return str(beside) if beside.exists() else shutil.which("tenure")


def main():
    command = find_command()
    # The console script of the package itself is no command to go on to.
    if command is None or os.path.realpath(command) == os.path.realpath(sys.argv[0]):
        sys.exit("tenure: the command was not built with this package (TENURE_BUILD_CLI=ON does)")
    # Python ignores it, and what it becomes would: `python -m tenure ops | head` ends quietly, as commands do.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
