import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ["bash", "env", "dirname", "readlink", "sed", "mkdir", "cat", "chmod", "sha256sum"]

CMAKE = r"""
printf '%s|' "$@" >>"$LOG"; printf 'cache=%s\n' "${CCACHE_DISABLE:-on}" >>"$LOG"
mkdir -p build/run/examples/bin build/run/bin
printf '#!/usr/bin/env bash\necho "trained $*, recording $TENURE_PROFILE"\n' \
  >build/run/examples/bin/12_mnist
printf '#!/usr/bin/env bash\necho "$*"\n' >build/run/bin/tenure
chmod +x build/run/examples/bin/12_mnist build/run/bin/tenure
"""


class DevTest(unittest.TestCase):
    """./dev in surroundings that nobody has: what it calls is written down instead of done."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "a path with spaces"
        self.bin = Path(scratch.name) / "bin"
        self.log = Path(scratch.name) / "log"
        (self.root / "tools").mkdir(parents=True)
        self.bin.mkdir()
        for name in ["dev", "tools/fetch_mnist"]:
            shutil.copy(ROOT / name, self.root / name)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.tool("cmake", CMAKE)
        self.tool("dpkg-query", "echo 'install ok installed'")

    def tool(self, name, body):
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def dev(self, *arguments, **environment):
        return subprocess.run(
            [self.root / "dev", *arguments],
            env={"PATH": str(self.bin), "LOG": str(self.log), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_the_picture_is_of_a_run(self):
        (self.root / "viewer/node_modules").mkdir(parents=True)
        self.tool("node", 'printf "node %s\\n" "$*" >>"$LOG"')
        run = self.dev("picture", HOME="/proc/nowhere")
        self.assertEqual(run.returncode, 0, run)
        lines = self.log.read_text().splitlines()
        self.assertIn("--target|example_12_mnist|tenure_cli|", "".join(lines))
        self.assertEqual(lines[-1], "node viewer/tests/picture.mjs report.html docs/report-page.png tab=sites")

    def test_run_builds_what_it_runs(self):
        # No home, no such locale, no terminal, no network.
        run = self.dev("run", LC_ALL="xx_XX.UTF-8", HOME="/proc/nowhere")
        self.assertEqual(run.returncode, 0, run)
        builds = [line for line in self.log.read_text().splitlines() if "--build" in line]
        self.assertEqual(
            builds,
            ["--build|--preset|run|--target|example_12_mnist|tenure_cli|cache=1"],
        )
        steps = re.findall(r"^\[(\d)/6, \d+ s\] (\w+)", run.stderr, re.MULTILINE)
        self.assertEqual(
            [step[1] for step in steps],
            ["packages", "configuring", "building", "fetching", "training", "the"],
        )
        self.assertEqual([step[0] for step in steps], list("123456"))
        self.assertIn("trained build/data/mnist, recording build/mnist.tenure", run.stdout)
        self.assertIn("report build/mnist.tenure -o report.html", run.stdout)

    def test_missing_packages_are_named(self):
        self.tool("dpkg-query", "exit 1")
        run = self.dev("run")
        self.assertEqual(run.returncode, 1, run)
        self.assertRegex(run.stderr, r"sudo apt-get install --no-install-recommends g\+\+ .*libhwy")
        self.assertFalse(self.log.exists(), "nothing is built")

    def test_a_failing_build_ends_it(self):
        self.tool("cmake", '[[ $1 != --build ]] || { echo "no room" >&2; exit 3; }')
        run = self.dev("run")
        self.assertEqual(run.returncode, 3, run)
        self.assertIn("no room", run.stderr)
        self.assertNotIn("training", run.stderr)


if __name__ == "__main__":
    unittest.main()
