import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import COMMAND, PROGRAM, run

PLACE = re.compile(r"[\w.]+\.(?:cpp|h):\d+")


class TerminalTest(unittest.TestCase):
    """What the commands print into terminals of any width, into files that are full, and for shells."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        for way in ["leak", "held", "refused", "train", "loop", "carried"]:
            run("profile", "-o", cls.path(way), "--", PROGRAM, way)
        run("profile", "-o", cls.path("demo"), "--", COMMAND, "demo")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def path(cls, way):
        return str(cls.folder / f"{way}.tenure")

    def commands(self):
        for way in ["leak", "held", "demo"]:
            yield ["top", self.path(way)]
            yield ["top", self.path(way), "--by", "scope", "--budget", "20KiB"]
            yield ["leaks", self.path(way)]
        for way in ["train", "loop"]:
            yield ["top", self.path(way), "--steps", "--saved", "--at", "60%"]
            yield ["top", self.path(way), "--by", "op"]
        yield ["leaks", self.path("carried")]
        yield ["top", self.path("refused")]
        yield ["holders", self.path("refused")]
        yield ["diff", self.path("leak"), self.path("demo")]

    def test_no_width_loses_a_line_of_source(self):
        for command in self.commands():
            wide = run(*command, COLUMNS="140").stdout
            places = sorted(PLACE.findall(wide))
            for columns in [60, 48]:
                narrow = run(*command, COLUMNS=str(columns)).stdout
                self.assertEqual(sorted(PLACE.findall(narrow)), places, (command, columns))
                if columns == 60 and command[0] == "top":
                    longer = [line for line in narrow.splitlines() if len(line) > columns]
                    self.assertEqual(longer, [], command)

    def test_what_is_alike_at_the_end_is_one_entry(self):
        text = run("top", self.path("held")).stdout
        text = text[text.index("Live at the end"):]
        self.assertRegex(text, r"30\.00 KiB  activation  30 x float32\[256\]")
        self.assertRegex(text, r"user part 0, part 1, part 2 and 2 more, made by ones at program\.cpp:\d+")
        self.assertRegex(text, r"8\.00 KiB  activation  4 x float32\[512\]")
        self.assertRegex(text, r"16\.00 KiB  activation  float32\[64, 64\]\n +user weights, made by full at program")
        self.assertLess(text.index("30 x"), text.index("weights"))
        self.assertIn("and 1 more", run("top", self.path("held"), "-n", "2").stdout)

    def test_numbers_that_make_no_sense_are_refused(self):
        leak = self.path("leak")
        for wrong in ["-3", "-1", "1.5", "99999999999999999999999", "x", "", "nan"]:
            for command in [["top", leak, "-n"], ["leaks", leak, "--rows"], ["diff", leak, leak, "-n"],
                            ["watch", "1", "--count"], ["watch", "1", "--interval"], ["watch"],
                            ["plan", "-", "--effort"], ["plan", "-", "--seed"], ["top", leak, "--budget"],
                            ["profile", "--capacity"]]:
                if wrong == "1.5" and command[-1] in ["--interval", "--budget", "--capacity"]:
                    continue
                after = ["--", PROGRAM, "steady"] if command[0] == "profile" else []
                result = run(*command[:-1], f"{command[-1]}={wrong}" if command[-1].startswith("--") else command[-1],
                             *([] if command[-1].startswith("--") else [wrong]), *after)
                self.assertEqual(result.returncode, 2, (command, wrong, result.stdout, result.stderr))
                self.assertEqual(result.stdout, "")
        for wrong in ["-1", "0", "nan", "inf", "x", ""]:
            for given in [["--deadline", wrong], [f"--deadline={wrong}"]]:
                result = run("plan", "-", *given)
                self.assertEqual(result.returncode, 2, (given, result.stderr))
        self.assertEqual(run("top", leak, "-n", "0").returncode, 0)

    def test_an_output_that_is_full_is_said(self):
        leak = self.path("leak")
        for command in [["top", leak], ["top", leak, "--json"], ["leaks", leak], ["diff", leak, leak], ["ops"],
                        ["ops", "relu"], ["--help"], ["top", "--help"], ["--version"], ["man"],
                        ["completions", "bash"], ["demo", "fit"], ["doctor"], ["report", leak, "-o", "-"],
                        ["export", leak, "-o", "-"]]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn("No space left on device", result.stderr, command)

    def completions(self, *words):
        """What bash offers for the last of these words."""
        script = run("completions", "bash").stdout + (
            'COMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\n_tenure\nprintf "%s\\n" "${COMPREPLY[@]}"\n')
        result = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True,
                                cwd=self.folder)
        return result.stdout.split()

    def test_bash_offers_names_and_values(self):
        self.assertEqual(self.completions("tenure", "ops", "soft"), ["softplus", "softsign", "softmax", "softmax_gradient"])
        self.assertEqual(self.completions("tenure", "ops", "add", "matm"), ["matmul"])
        self.assertLessEqual({"op", "line", "scope", "category", "device"},
                             set(self.completions("tenure", "top", "x.tenure", "--by", "")))
        self.assertEqual(self.completions("tenure", "diff", "--by", "s"), ["scope"])
        self.assertEqual(self.completions("tenure", "export", "--format", "p"), ["pprof"])
        self.assertEqual(self.completions("tenure", "completions", ""), ["bash", "zsh", "fish"])
        self.assertIn("graph-loop", self.completions("tenure", "demo", "gra"))
        self.assertEqual(self.completions("tenure", "top", "le"), ["leak.tenure"])
        self.assertEqual(self.completions("tenure", "report", "-o", "le"), ["leak.tenure"])
        self.assertEqual(self.completions("tenure", "holders", "x.tenure", "--at", ""), ["peak", "end"])
        self.assertIn("--interval", self.completions("tenure", "watch", "--"))
        self.assertIn("profile", self.completions("tenure", "pro"))

    def test_other_shells_get_them_too(self):
        self.assertIn("'--by[", run("completions", "zsh").stdout)
        self.assertIn(":value:(op line scope category)'", run("completions", "zsh").stdout)
        fish = run("completions", "fish").stdout
        self.assertIn("-x -a 'op line scope category'", fish)
        (ops,) = [line for line in fish.splitlines() if "from ops'" in line and " -f " in line]
        self.assertIn("softmax", ops)


if __name__ == "__main__":
    unittest.main()
