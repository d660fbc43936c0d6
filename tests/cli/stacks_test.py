import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import COMMAND, PROGRAM, run

HEADINGS = ["calls that created it", "calls that disposed it", "calls that used it"]


def said(program=PROGRAM, **environment):
    """What the program says of a tensor that was used too late: first itself, then its child."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}
    result = subprocess.run([program, "disposed"], capture_output=True, text=True,
                            env={**variables, **environment})
    return result.returncode, result.stdout, result.stderr


class StacksTest(unittest.TestCase):
    """Call stacks in the errors of a program that nobody records."""

    def test_errors_say_calls_where_they_are_asked_for(self):
        status, text, problems = said(TENURE_STACKS="1")
        self.assertEqual((status, problems), (0, ""))
        for heading in HEADINGS:
            self.assertEqual(text.count(heading), 2, f"{heading}, here and in the child: {text}")
        self.assertRegex(text, r"calls that created it\n    make_one.*\n(    .*\n)*    main")
        self.assertRegex(text, r"calls that used it\n    use_it")
        self.assertNotIn("tenure::", text)
        self.assertNotIn("std::", text)

    def test_and_nowhere_else(self):
        for environment in [{}, {"TENURE_STACKS": "0"}, {"TENURE_STACKS": ""}]:
            status, text, problems = said(**environment)
            self.assertEqual((status, problems), (0, ""))
            self.assertIn("after its data was disposed", text)
            self.assertNotIn("calls", text)

    def test_without_names_the_rest_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = Path(folder) / "stripped"
            shutil.copy(PROGRAM, stripped)
            subprocess.run(["strip", stripped], check=True)
            for text in [said(stripped, TENURE_STACKS="1")[1],
                         said(TENURE_STACKS="1", PATH=folder)[1]]:
                self.assertEqual(text.count("after its data was disposed"), 2)
                self.assertRegex(text, r"calls that created it\n    \d+ without names")
                self.assertNotIn("+0x", text)

    def test_a_recording_has_them_too(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, arguments, environment in [("flag", ["--stacks"], {}),
                                                 ("variable", [], {"TENURE_STACKS": "1"})]:
                file = str(Path(folder) / name)
                result = run("profile", "-o", file, *arguments, "--", PROGRAM, "disposed", **environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("calls that created it", result.stdout)
                self.assertIn("make_one", run("top", file, "--by", "calls").stdout)

    def test_a_leak_through_a_helper_names_who_called_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "helper")
            for options in [[], ["--stacks"]]:
                result = run("profile", "-o", file, *options, "--", PROGRAM, "helper")
                expected = r"train grows 1.00 KiB a step at program.cpp:\d+, called by keep_one"
                self.assertRegex(result.stdout.splitlines()[-1], expected)
                self.assertRegex(run("leaks", file).stdout, r"called by\s+keep_one")
                grows, = json.loads(run("leaks", "--json", file).stdout)["loops"][0]["growing"]
                self.assertTrue(grows["callers"][0].startswith("keep_one"))
                copy = Path(folder) / "copy"
                shutil.copy(PROGRAM, copy)
                run("profile", "-o", file, *options, "--", copy, "helper")
                copy.unlink()
                self.assertIn("who called it has no name", run("leaks", file).stdout)

    def test_a_fork_may_be_the_first_use_of_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            for variable in [{"TENURE_STACKS": "1"}, {"TENURE_PROFILE": folder + "/own"}]:
                result = subprocess.run([COMMAND, "profile", "-o", folder + "/its", "--", PROGRAM, "steady"],
                                        env={**os.environ, **variable}, capture_output=True, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)
