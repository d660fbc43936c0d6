import base64
import gzip
import json
import shutil
import struct
import subprocess
import unittest
import zlib
from pathlib import Path

from command import COMMAND, PROGRAM, run
from recordings import RecordingCase


class AnswersTest(RecordingCase):
    """What the commands say of recordings."""

    def test_top_answers(self):
        document = self.json_of("top", self.path("steady"))
        self.assertEqual(document["peak"]["scope"][0]["name"], "model")
        ops = {op["op"]: op for op in document["ops"]}
        self.assertEqual(ops["matmul"]["allocated"], 20)
        self.assertEqual(ops["relu"]["in_place"], 20)
        self.assertEqual(ops["relu"]["allocated"], 0)
        self.assertEqual(max(level for _, level in document["timeline"]), document["peak_bytes"])
        text = run("top", self.path("steady"), "--by", "scope", "--budget", "20KiB").stdout
        for words in ["Which ops allocated", "it does not fit", "matmul at program.cpp"]:
            self.assertIn(words, text)
        self.assertFalse([line for line in text.splitlines() if len(line) > 110])

    def test_leaks_says_so_by_its_status(self):
        steady = run("leaks", self.path("steady"))
        self.assertEqual(steady.returncode, 0, steady.stdout)
        self.assertIn("steady", steady.stdout)
        leak = run("leaks", self.path("leak"))
        self.assertEqual(leak.returncode, 1)
        self.assertIn("ones at program.cpp:", leak.stdout)
        document = self.json_of("leaks", self.path("leak"))
        self.assertEqual(document["verdict"], "grows")
        (growing,) = document["loops"][0]["growing"]
        self.assertEqual(growing["bytes_per_step"], 1024)
        self.assertEqual(growing["origin"]["op"], "ones")

    def test_a_leak_that_starts_late_is_named_everywhere(self):
        late = run("leaks", self.path("late"))
        self.assertEqual(late.returncode, 1, late.stdout)
        self.assertIn("+16.00 KiB", late.stdout)
        self.assertRegex(late.stdout, r"held\s+by\s+slice\s+at\s+program\.cpp:")
        last = self.results["late"].stdout.splitlines()[-1]
        self.assertRegex(last, r"^train grows 16\.00 KiB a step at program\.cpp:\d+( in leak_late)?(, called by main( at program\.cpp:\d+)?)?, held by slice at "
                               r"program\.cpp:\d+, since step 1001")
        (loop,) = self.json_of("leaks", self.path("late"))["loops"]
        self.assertEqual(loop["judgement"], last)
        growing = loop["growing"][0]
        self.assertEqual((growing["since_step"], growing["bytes_per_step"]), (1001, 16384))
        self.assertEqual(growing["holders"][0]["origin"]["op"], "slice")
        self.assertEqual(self.results["steady"].stdout.splitlines()[-1],
                         "train is steady: no line holds more and more")

    def test_a_leak_without_step_marks_is_found(self):
        unmarked = run("leaks", self.path("unmarked"))
        self.assertEqual(unmarked.returncode, 1, unmarked.stdout)
        self.assertIn("without step marks", unmarked.stdout)
        (loop,) = self.json_of("leaks", self.path("unmarked"))["loops"]
        self.assertFalse(loop["marked"])
        growing = loop["growing"][0]
        self.assertEqual(growing["origin"]["op"], "ones")
        self.assertGreater(growing["bytes"], 900 * 16384)
        self.assertRegex(self.results["unmarked"].stdout.splitlines()[-1],
                         r"^the program grew by 15\.\d+ MiB at program\.cpp:\d+( in leak_late)?(, called by main( at program\.cpp:\d+)?)?, held by slice at ")

    def test_a_refusal_says_who_asked_and_who_held(self):
        document = self.json_of("top", self.path("refused"))
        (refusal,) = document["refusals"]
        self.assertEqual((refusal["cause"], refusal["budget"], refusal["limit"]), ("budget", "request", 65536))
        self.assertEqual((refusal["requested_bytes"], refusal["used_bytes"]), (65536, 32768))
        self.assertEqual(refusal["origin"]["op"], "full")
        self.assertEqual(Path(refusal["origin"]["file"]).name, "program.cpp")
        self.assertEqual(sorted(holder["origin"]["op"] for holder in refusal["holders"]), ["ones", "zeros"])
        (budget,) = document["budgets"]
        self.assertEqual((budget["peak_bytes"], budget["refusals"]), (32768, 1))
        text = run("top", self.path("refused")).stdout
        for words in ["Refused, and who held what was there", "full at program.cpp:", "by budget request", "50 %"]:
            self.assertIn(words, text)

    def test_holders_that_are_alike_are_one_entry(self):
        text = run("holders", self.path("taped"), "--at", "end").stdout
        self.assertRegex(text, r"matmul at program.cpp:\d+\s+4 x float32\[64, 64\]")
        self.assertRegex(text, r"\n +\d+ x tape, made by matmul at program.cpp:\d+")
        lines = [line for line in text.splitlines() if "tape, made by" in line]
        self.assertEqual(len(lines), len(set(lines)), text)
        for storage in self.json_of("holders", self.path("taped"), "--at", "end")["held"]:
            self.assertNotIn(" x ", storage["tensor"])

    def test_holders_tells_who_shares_a_storage(self):
        (refusal,) = self.json_of("top", self.path("refused"))["refusals"]
        document = self.json_of("holders", self.path("refused"), "--by", "slice", "--at", str(refusal["seconds"]))
        (storage,) = document["held"]
        self.assertEqual(storage["origin"]["op"], "zeros")
        self.assertEqual([(holder["kind"], holder["origin"]["op"]) for holder in storage["holders"]],
                         [("user", "zeros"), ("view", "slice")])
        text = run("holders", self.path("refused"), "--at", str(refusal["seconds"])).stdout
        self.assertIn("view, made by slice at program.cpp:", text)
        self.assertEqual(run("holders", self.path("refused"), "--at", "never").returncode, 2)

    def test_holders_has_all_that_top_counts(self):
        train = self.folder / "train.tenure"
        run("profile", "-o", str(train), "--", PROGRAM, "train")
        for file in [str(train), self.path("steady"), self.path("late"), self.path("taped")]:
            document = self.json_of("holders", file)
            self.assertEqual(document["bytes"], self.json_of("top", file)["peak_bytes"], file)
            self.assertEqual(document["storages"], len(document["held"]), file)
            self.assertEqual(sum(one["bytes"] for one in document["held"]), document["bytes"], file)
        self.assertGreater(len(self.json_of("holders", self.path("late"), "-n", "1")["held"]), 10)
        (refusal,) = self.json_of("top", self.path("refused"))["refusals"]
        text = run("holders", self.path("refused"), "--by", "slice", "--at", str(refusal["seconds"])).stdout
        self.assertIn(" in 1 storage, and", text)

    def test_what_grows_without_marks_is_counted_in_all(self):
        document = self.json_of("leaks", self.path("unmarked"))
        growing = {one["origin"]["op"]: one for one in document["loops"][0]["growing"]}
        self.assertEqual((growing["slice"]["storages"], growing["ones"]["sharers"]), (0, 0))
        self.assertGreater(growing["slice"]["sharers"], 900)
        self.assertEqual(growing["slice"]["sharers"], growing["slice"]["number"])
        text = run("leaks", self.path("unmarked"), COLUMNS="200").stdout
        row = next(line for line in text.splitlines() if " slice at" in line and " ones at" not in line)
        self.assertRegex(row, rf"^ *0 B +\+0 +\+{growing['slice']['sharers']} ")
        row = next(line for line in text.splitlines() if " ones at" in line)
        self.assertRegex(row, rf"^ *\+15\.\d+ MiB +\+{growing['ones']['storages']} +\+0 +\S+ [mu]?s ")
        self.assertRegex(document["loops"][0]["judgement"], r", since [\d.]+ [mu]?s\b")

    def test_budgets_that_are_alike_are_one_row(self):
        file = str(self.folder / "budgets.tenure")
        run("profile", "-o", file, "--", PROGRAM, "budgets")
        (budget,) = self.json_of("top", file)["budgets"]
        self.assertEqual((budget["name"], budget["number"], budget["refusals"]), ("request", 20, 20))
        self.assertEqual(budget["peak_bytes"], 32768)
        self.assertRegex(run("top", file).stdout, r"64\.00 KiB +32\.00 KiB +50 % +20 +20 x request")

    def test_the_pool_is_never_below_what_is_live(self):
        for way in ["steady", "late", "refused"]:
            document = self.json_of("top", self.path(way))
            self.assertTrue(document["segments"])
            self.assertEqual(sum(one["bytes"] for one in document["segments"]) > 0, True)
            most = max(reserved for _, reserved, _, _, _ in document["pool"])
            self.assertGreaterEqual(most, document["peak_bytes"])
        self.assertIn("its segments at the peak", run("top", self.path("late")).stdout)

    def test_diff(self):
        document = self.json_of("diff", self.path("steady"), self.path("leak"))
        before, after = document["peak_bytes"]
        self.assertGreater(after, before)
        self.assertTrue(any("ones at" in change["name"] for change in document["changes"]))
        text = run("diff", self.path("steady"), self.path("steady")).stdout
        self.assertIn("the same", text)
        self.assertNotIn("What changed", text)

    def test_report_is_one_page_with_the_data(self):
        page = self.folder / "report.html"
        result = run("report", self.path("hostile"), "-o", str(page))
        self.assertEqual(result.returncode, 0, result.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("@TENURE_REPORT@", text)
        self.assertNotIn("alert(", text)
        begin = text.index('<script id="tenure-report" type="text/plain">')
        data = text[text.index(">", begin) + 1 : text.index("</script>", begin)]
        data = zlib.decompress(base64.b64decode(data))
        (length,) = struct.unpack_from("<I", data)
        head = json.loads(data[4 : 4 + length])
        self.assertEqual(head["version"], 1)
        self.assertEqual(len(head["steps"]), 20)
        self.assertTrue(any("<script>alert" in scope for scope in head["scopes"]))
        sizes = {"f64": "d", "u32": "I", "i32": "i", "u8": "B"}
        columns = {}
        for column in head["columns"]:
            self.assertEqual(column["offset"] % 8, 0)
            if not column["name"].startswith("holder_"):
                self.assertEqual(column["length"], head["rows"])
            columns[column["name"]] = struct.unpack_from(
                f"<{column['length']}{sizes[column['type']]}", data, column["offset"])
        self.assertEqual(sorted(columns["birth_ns"]), list(columns["birth_ns"]))
        self.assertEqual(max(columns["bytes"]), 64 * 64 * 4)
        self.assertEqual(min(a for a in columns["address"] if a >= 0), 0)
        self.assertEqual({head["strings"][i] for i in columns["name"]}, {"", "weights"})

    def test_a_page_of_two_recordings_has_both(self):
        page = self.folder / "two.html"
        result = run("report", "--diff", self.path("steady"), self.path("leak"), "-o", str(page))
        self.assertEqual(result.returncode, 0, result.stderr)
        text = page.read_text(encoding="utf-8")
        begin = text.index('<script id="tenure-report" type="text/plain">')
        parts = text[text.index(">", begin) + 1 : text.index("</script>", begin)].split()
        programs = []
        for part in parts:
            data = zlib.decompress(base64.b64decode(part))
            (length,) = struct.unpack_from("<I", data)
            head = json.loads(data[4 : 4 + length])
            programs.append(len(head["growth"]))
            for kind, entries in [("op", "ops"), ("site", "sites"), ("scope", "scopes")]:
                self.assertEqual(len(head["time"][kind]["ns"]), len(head[entries]))
                self.assertGreater(sum(head["time"][kind]["ns"]), 0)
        self.assertEqual(programs, [0, 1])
        self.assertEqual(run("report", self.path("steady"), self.path("leak")).returncode, 2)
        self.assertEqual(run("report", "--diff", self.path("steady")).returncode, 2)
        self.assertEqual(run("report", "--diff", self.path("steady"), self.path("leak"), "-o",
                             self.path("steady")).returncode, 2)

    def test_a_recording_is_not_replaced_by_its_report(self):
        file = self.folder / "step.html"
        file.write_bytes(Path(self.path("steady")).read_bytes())
        self.assertEqual(run("report", str(file)).returncode, 2)
        self.assertEqual(run("export", str(file), "-o", str(file)).returncode, 2)
        self.assertEqual(file.read_bytes(), Path(self.path("steady")).read_bytes())

    def test_exports(self):
        trace = json.loads(run("export", self.path("hostile"), "-o", "-").stdout)
        names = {event["name"] for event in trace["traceEvents"]}
        self.assertLessEqual({"matmul", "relu", "live bytes", "train"}, names)
        scope = json.loads(run("export", self.path("leak"), "--format", "speedscope", "-o", "-").stdout)
        self.assertEqual(len(scope["profiles"][0]["samples"]), len(scope["profiles"][0]["weights"]))
        frames = scope["shared"]["frames"]
        for sample in scope["profiles"][0]["samples"]:
            self.assertTrue(all(0 <= frame < len(frames) for frame in sample))
        out = self.folder / "leak.pb.gz"
        run("export", self.path("leak"), "--format", "pprof", "-o", str(out))
        self.assertIn(b"inuse_space", gzip.decompress(out.read_bytes()))
        for way in ["chrome", "speedscope", "csv"]:
            hostile = subprocess.run([COMMAND, "export", self.path("hostile"), "--format", way, "-o", "-"],
                                     capture_output=True, check=True)
            self.assertIn("\ufffd", hostile.stdout.decode("utf-8"))
        rows = run("export", self.path("leak"), "--format", "csv", "-o", "-").stdout.splitlines()
        self.assertTrue(rows[0].startswith("storage,birth_ns"))
        self.assertGreater(len(rows), 40)

    def test_hostile_names_do_not_reach_the_terminal(self):
        for arguments in [["top", self.path("hostile"), "--by", "scope"], ["leaks", self.path("hostile")]]:
            self.assertNotIn("\033", run(*arguments).stdout)

    def test_names_of_files_do_not_reach_the_terminal(self):
        name = str(self.folder / "a\033[31m\007b.tenure")
        shutil.copy(self.path("steady"), name)
        for arguments in [["top", name], ["leaks", name], ["report", name],
                          ["export", "--format", "csv", name], ["top", name + "-"],
                          ["report", name, "-o", "/no/\033[31m"], ["plan", name], ["\033[31m"],
                          ["ops", "\033[31m"], ["watch", "\033[31m"], ["top", "--by", "\033[31m", name],
                          ["profile", "-o", name, "--", PROGRAM, "steady"],
                          ["profile", "--", "\033[31m"]]:
            result = run(*arguments)
            shown = result.stdout + result.stderr
            self.assertNotEqual(shown, "", arguments)
            self.assertNotIn("\033", shown, arguments)
            self.assertNotIn("\007", shown, arguments)
            self.assertLess(len(result.stderr), 1000, arguments)

    def test_what_is_no_recording(self):
        for name, content in [("empty", b""), ("text", b"hello"), ("cut", Path(self.path("steady")).read_bytes()[:50])]:
            file = self.folder / name
            file.write_bytes(content)
            for arguments in [["top"], ["leaks"], ["report"], ["export"], ["diff", self.path("steady")]]:
                result = run(*arguments, str(file))
                self.assertEqual(result.returncode, 3, (name, arguments))
                self.assertIn(str(file), result.stderr)
                self.assertEqual(result.stdout, "")
        self.assertEqual(run("top", str(self.folder / "absent")).returncode, 3)

    def test_a_pipe_is_read_too(self):
        with open(self.path("steady"), "rb") as file:
            result = subprocess.run([COMMAND, "top", "/dev/stdin", "--json"], capture_output=True,
                                    input=file.read())
        self.assertEqual(json.loads(result.stdout)["steps"], 20)

    def test_top_shows_the_levels_over_time(self):
        text = run("top", self.path("leak")).stdout
        (line,) = [line for line in text.splitlines() if line.startswith("  over time")]
        self.assertIn("@", line)

    def test_what_has_no_end_is_not_read_to_it(self):
        for command in ["top", "leaks", "report"]:
            result = subprocess.run([COMMAND, command, "/dev/zero"], capture_output=True, text=True, timeout=60)
            self.assertIn("not a recording", result.stderr)

    def test_a_recording_that_is_cut_off_answers_nothing_for_sure(self):
        whole = Path(self.path("steady")).read_bytes()
        cut = self.folder / "cut.tenure"
        cut.write_bytes(whole[:max(len(whole) // 2, 2 * 65536) // 65536 * 65536])
        for command in ["top", "leaks", "report"]:
            result = run(command, str(cut))
            self.assertIn("cut off", result.stderr)
            self.assertEqual(result.returncode, 3)
        document = json.loads(run("top", str(cut), "--json").stdout)
        self.assertFalse(document["complete"])
        self.assertGreater(document["damaged"], 0)


if __name__ == "__main__":
    unittest.main()
