import json
import os
import subprocess
import unittest

COMMAND = os.environ.get("TENURE_COMMAND", "tenure")


def run(*arguments, columns="80"):
    environment = dict(os.environ, COLUMNS=columns)
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=environment)


class CommandTest(unittest.TestCase):
    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^tenure \d+\.\d+\.\d+\n$")

    def test_help_teaches_with_examples(self):
        for arguments in [["--help"], []]:
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:", result.stdout)
            self.assertIn("tenure ops add", result.stdout)

    def test_unknown_options_and_subcommands_are_usage_errors(self):
        for arguments in [["--nonsense"], ["nonsense"], ["nonsense", "--help"], ["ops", "--nonsense"],
                          ["ops", "--json", "--markdown"]]:
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, "")
            self.assertNotEqual(result.stderr, "")


class OpsTest(unittest.TestCase):
    def test_json_has_every_fact_of_an_op(self):
        result = run("ops", "--json")
        self.assertEqual(result.returncode, 0)
        ops = {op["name"]: op for op in json.loads(result.stdout)["ops"]}
        self.assertGreater(len(ops), 50)
        add = ops["add"]
        self.assertEqual(add["signature"], "add(a, b)")
        self.assertEqual(add["memory"]["kind"], "allocates")
        self.assertEqual(add["memory"]["reuses"], [0, 1])
        self.assertFalse(add["memory"]["workspace"])
        self.assertIn("float32", add["dtypes"])
        self.assertEqual(add["tolerance_ulp"], 0.5)
        self.assertEqual(ops["transpose"]["memory"]["kind"], "view")
        self.assertEqual(ops["reshape"]["memory"]["kind"], "view_or_copy")

    def test_branches_loops_and_what_waits_for_sizes_are_ops_like_all_others(self):
        names = ["cond", "while_loop", "scan", "gradient", "with_sizes"]
        result = run("ops", "--json", *names)
        self.assertEqual(result.returncode, 0, result.stderr)
        ops = {op["name"]: op for op in json.loads(result.stdout)["ops"]}
        self.assertEqual(sorted(ops), sorted(names))
        for op in ops.values():
            self.assertNotEqual(op["doc"], "")
            self.assertEqual(op["memory"]["text"], "allocates; takes a workspace")
            self.assertIsNone(op["outputs"])  # as many as the call gives
        self.assertEqual(ops["cond"]["dtypes"], ["bool"])
        self.assertEqual(ops["scan"]["saves"], "all inputs")

    def test_names_select(self):
        result = run("ops", "--json", "mul", "add")
        self.assertEqual([op["name"] for op in json.loads(result.stdout)["ops"]], ["add", "mul"])

    def test_unknown_name_suggests_the_nearest(self):
        result = run("ops", "sigmiod")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertIn("sigmoid", result.stderr)
        self.assertNotIn("transpose", result.stderr)

    def test_table_fits_the_width_and_is_plain_in_a_pipe(self):
        for columns in ["60", "80", "140"]:
            result = run("ops", columns=columns)
            self.assertEqual(result.returncode, 0)
            self.assertNotIn("\033", result.stdout)
            self.assertIn("add(a, b)", result.stdout)
            self.assertIn("allocates; in place in a moved input 0 or 1", run("ops", "add").stdout)
            too_long = [line for line in result.stdout.splitlines() if len(line) > int(columns)]
            self.assertEqual(too_long, [])

    def test_markdown_rows_have_all_columns(self):
        result = run("ops", "--markdown")
        rows = [line for line in result.stdout.splitlines() if line.startswith("|")]
        self.assertGreater(len(rows), 50)
        for row in rows:
            self.assertEqual(row.replace("\\|", "").count("|"), 7, row)


if __name__ == "__main__":
    unittest.main()
