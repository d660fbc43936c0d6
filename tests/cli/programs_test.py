import json
import tempfile
import unittest
from pathlib import Path

from command import PROGRAM, run


class ProgramsTest(unittest.TestCase):
    """What the commands say of a compiled training."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.path = str(Path(cls.scratch.name) / "train.tenure")
        result = run("profile", "-o", cls.path, "--", PROGRAM, "train")
        assert result.returncode == 0, result.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def top(self, *options):
        result = run("top", self.path, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_peak_is_made_of_layers(self):
        scopes = self.top("--by", "scope")
        peak = scopes[scopes.index("What made the peak"):scopes.index("Which ops")]
        self.assertRegex(peak, r"KiB +\d+ % .* hidden\n")
        self.assertRegex(self.top("--by", "category"), r"KiB +\d+ % .* saved for backward\n")
        document = json.loads(self.top("--json"))
        for by in ["op", "line", "scope", "category"]:
            self.assertEqual(sum(group["bytes"] for group in document["peak"][by]),
                             document["peak_bytes"])
            self.assertFalse(any("training step" in group["name"]
                                 for group in document["peak"][by]))

    def test_what_is_saved_is_told_by_layer(self):
        text = self.top("--saved")
        self.assertRegex(text, r"Saved for backward by training step at program.cpp:\d+, by layer")
        saved = json.loads(self.top("--json"))["plans"][0]["saved"]
        self.assertTrue(all(layer["bytes"] > 0 and layer["buffers"] > 0 for layer in saved))
        self.assertIn("hidden", [layer["scope"] for layer in saved])

    def test_steps_are_predicted_beside_measured(self):
        text = self.top("--steps")
        table = text[text.index("The steps of training step"):]
        self.assertRegex(table, r"predicted +measured")
        self.assertIn("out/kernel", table)
        plan = json.loads(self.top("--steps", "--json"))["plans"][0]
        self.assertEqual(plan["predicted"], plan["measured"])
        self.assertEqual(plan["runs"], 5)
        self.assertGreater(plan["mean_ns"], 0)
        for step in plan["steps"]:
            self.assertTrue(step["origin"]["op"])
            self.assertGreater(step["measured_ns"], 0)
        self.assertIn("saved for backward", [each["category"] for each in plan["buffers"]])

    def test_what_is_computed_twice_is_marked(self):
        path = str(Path(self.scratch.name) / "tight.tenure")
        self.assertEqual(run("profile", "-o", path, "--", PROGRAM, "tight").returncode, 0)
        (plan,) = json.loads(run("top", path, "--steps", "--json").stdout)["plans"]
        again = [step["origin"]["op"] for step in plan["steps"] if step["again"]]
        self.assertTrue(again)
        self.assertTrue(any(buffer["again"] for buffer in plan["buffers"]))
        text = run("top", path, "--steps").stdout
        steps = text[text.index("The steps of"):text.index("The buffers in")]
        self.assertEqual(steps.count("again: "), len(again))
        self.assertIn("again: ", text[text.index("The buffers in"):])

    def test_less_memory_has_a_price(self):
        self.assertRegex(self.top("--at", "70%"), r"At 70 % of the peak of training step")
        answer = json.loads(self.top("--at", "70", "--json"))["plans"][0]["what_if"]
        self.assertEqual(answer["fits"], answer["peak"] <= answer["budget"])
        little = json.loads(self.top("--at", "1", "--json"))["plans"][0]["what_if"]
        self.assertFalse(little["fits"])
        self.assertIn("the least that is known to suffice", self.top("--at", "1"))
        self.assertTrue(little["computed_again"])
        for wrong in ["0", "101", "x", "-3", "60%%"]:
            result = run("top", self.path, f"--at={wrong}")
            self.assertEqual(result.returncode, 2, wrong)
            self.assertIn("percentage of the peak", result.stderr)


if __name__ == "__main__":
    unittest.main()
