import json
import os
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import run


class TeachingTest(unittest.TestCase):
    def test_demos_measure_what_they_say(self):
        result = run("demo", "--json")
        self.assertEqual(result.returncode, 0, result.stdout)
        document = json.loads(result.stdout)
        self.assertEqual(len(document["demos"]), 6)
        for demo in document["demos"]:
            for fact in demo["facts"]:
                self.assertEqual(fact["measured"], fact["expected"], demo["name"])
        self.assertIn("Will it fit?", run("demo", "fit").stdout)
        self.assertEqual(run("demo", "fitt").returncode, 2)
        self.assertIn("fit", run("demo", "fitt").stderr)

    def test_doctor(self):
        result = run("doctor", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertIn("right", document["computing"]["value"])
        self.assertIn("works", document["recording"]["value"])
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            broken = run("doctor", XDG_RUNTIME_DIR=folder)
            self.assertEqual(broken.returncode, 1)
            self.assertIn("not safe", broken.stdout)

    @unittest.skipUnless(platform.machine() == "x86_64", "names of another architecture's sets")
    def test_doctor_says_what_there_is_of_cuda(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("doctor", "--json", TENURE_CUDA_LIBRARIES=folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        if found["CUDA"]["value"].startswith("not in this build"):
            return
        self.assertEqual(found["GPU"]["value"], "none found; ops run on the CPU")
        for library, name in [("driver", "libcuda.so.1"), ("NVRTC", "libnvrtc.so.13"),
                              ("cuBLASLt", "libcublasLt.so.13"), ("cuDNN", "libcudnn.so.9")]:
            self.assertEqual(found[f"CUDA {library}"]["value"], "none")
            self.assertIn("install", found[f"CUDA {library}"]["advice"])
            self.assertIn(f"{folder}/{name}", found[f"CUDA {library}"]["advice"])

    def test_doctor_says_which_instruction_set_is_used(self):
        def used(**environment):
            result = run("doctor", "--json", **environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)["SIMD"]["value"], result.stderr

        native = used(TENURE_MAX_ISA="native")
        self.assertIn(native[0], ["SSE4", "AVX2", "AVX-512"])
        self.assertEqual(used(TENURE_MAX_ISA="avx512"), native)
        self.assertTrue(used(TENURE_MAX_ISA="sse4")[0].startswith("SSE4"))
        if native[0] != "SSE4":
            self.assertEqual(
                used(TENURE_MAX_ISA="sse4"), (f"SSE4, by TENURE_MAX_ISA; the CPU has {native[0]}", "")
            )
        value, said = used(TENURE_MAX_ISA="AVX3\033[31m")
        self.assertEqual(value, native[0])
        self.assertEqual(said.count("TENURE_MAX_ISA is ignored"), 1)
        self.assertNotIn("\033", said)

    def test_doctor_follows_no_link(self):
        with tempfile.TemporaryDirectory() as folder:
            victim = Path(folder) / "victim"
            victim.write_text("mine")
            with subprocess.Popen(["true"]) as process:
                process.wait()
            for pid in range(process.pid, process.pid + 3000):  # the doctor will have one of these numbers
                os.symlink(victim, Path(folder) / f"tenure-doctor-{pid}")
            self.assertEqual(run("doctor", TMPDIR=folder).returncode, 0)
            self.assertEqual(victim.read_text(), "mine")

    def test_every_command_helps_with_examples(self):
        listed = run("completions", "bash").stdout
        for command in ["profile", "report", "top", "leaks", "diff", "export", "watch", "demo", "doctor",
                        "ops", "plan", "completions", "man"]:
            result = run(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:\n  ", result.stdout)
            self.assertIn("tenure " + command, result.stdout.split("Examples:")[1])
            self.assertIn(f"    {command})\n      words=", listed)

    def test_completions_are_scripts(self):
        for shell in ["bash", "zsh", "fish"]:
            result = run("completions", shell)
            self.assertEqual(result.returncode, 0)
            self.assertIn("leaks", result.stdout)
        checked = subprocess.run(["bash", "-n"], input=run("completions", "bash").stdout, text=True)
        self.assertEqual(checked.returncode, 0)
        self.assertEqual(run("completions", "tcsh").returncode, 2)

    def test_man_has_every_section(self):
        text = run("man").stdout
        for section in [".SH NAME", ".SH COMMANDS", ".SS leaks", ".SH EXIT STATUS", ".SH ENVIRONMENT"]:
            self.assertIn(section, text)


if __name__ == "__main__":
    unittest.main()
