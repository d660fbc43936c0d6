import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import COMMAND, PROGRAM, run
from recordings import RecordingCase


class ProfileTest(RecordingCase):
    """How programs are recorded, and what that leaves alone."""

    def test_profile_sums_up_and_ends_as_the_program(self):
        steady = self.results["steady"]
        self.assertEqual(steady.returncode, 0, steady.stderr)
        self.assertIn("What made the peak", steady.stdout)
        self.assertIn("program.cpp:", steady.stdout)
        self.assertNotIn("\033", steady.stdout)
        self.assertEqual(self.results["leak"].returncode, 7)
        self.assertEqual(sorted(p.name for p in self.folder.glob("steady*")), ["steady.tenure"])

    def test_a_crash_leaves_a_recording(self):
        crash = self.results["crash"]
        self.assertEqual(crash.returncode, 128 + signal.SIGSEGV)
        self.assertIn("signal 11", crash.stderr)
        self.assertIn("ended without closing it", crash.stderr)
        document = self.json_of("top", self.path("crash"))
        self.assertFalse(document["complete"])
        self.assertEqual(document["steps"], 20)
        self.assertEqual(document["damaged"], 0)

    def test_a_program_may_read_the_ledger_first(self):
        # The recording begins then, and looks at the ledger itself.
        result = run("profile", "-o", self.path("demo"), "--", COMMAND, "demo", "dispose")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_threads_that_are_first_all_at_once_are_recorded_from_their_start(self):
        for _ in range(5):
            result = run("profile", "--json", "-o", self.path("threads"), "--", PROGRAM, "threads")
            self.assertEqual(json.loads(result.stdout)["allocated_bytes"], 8 * 4000 * 400)

    def test_a_program_without_tensors_makes_no_recording(self):
        result = run("profile", "-o", self.path("nothing"), "--", PROGRAM, "nothing")
        self.assertEqual(result.returncode, 3)
        self.assertIn("made no recording", result.stderr)

    def test_a_program_that_cannot_be_run(self):
        file = self.folder / "no-program"
        file.write_text("")
        for program, status in [("/nowhere/at/all", 127), (str(file), 126)]:
            result = run("profile", "-o", self.path("absent"), "--", program)
            self.assertEqual(result.returncode, status)
            self.assertIn("cannot be run", result.stderr)

    def test_the_exit_status_is_the_program_s(self):
        for status in [1, 2, 3, 126, 127, 139, 255]:
            for before in ["", f"'{PROGRAM}' steady; "]:  # without a recording, and with one
                result = run("profile", "-o", self.path("status"), "--", "sh", "-c", f"{before}exit {status}")
                self.assertEqual(result.returncode, status)
                self.assertNotIn("cannot be run", result.stderr)
                self.assertNotIn("signal", result.stderr)
                self.assertEqual("made no recording" in result.stderr, before == "")

    def test_an_output_that_is_full_does_not_change_the_program_s_status(self):
        for way, status in [("leak", 7), ("steady", 1)]:
            for options in [[], ["--json"]]:
                with open("/dev/full", "w") as full:
                    result = subprocess.run(
                        [COMMAND, "profile", *options, "-o", self.path("full"), "--", PROGRAM, way],
                        stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(result.returncode, status)
                self.assertIn("No space left", result.stderr)

    def test_profile_json(self):
        result = run("profile", "--json", "-o", self.path("json"), "--", PROGRAM, "steady")
        document = json.loads(result.stdout)
        self.assertEqual(document["exit_status"], 0)
        self.assertGreater(document["peak_bytes"], 64 * 64 * 4)
        self.assertTrue(document["complete"])

    def test_profile_json_is_all_that_is_printed(self):
        result = run("profile", "--json", "-o", self.path("json"), "--", "sh", "-c",
                     f"echo before; '{PROGRAM}' steady; echo after")
        self.assertEqual(json.loads(result.stdout)["exit_status"], 0)
        self.assertIn("before\nafter\n", result.stderr)
        result = run("profile", "-o", self.path("json"), "--", "sh", "-c", f"echo it; '{PROGRAM}' steady")
        self.assertTrue(result.stdout.startswith("it\n"))

    def test_profile_touches_no_other_files(self):
        mine = self.folder / "kept.tenure.2024"
        mine.write_text("not a recording")
        script = f"'{PROGRAM}' steady && '{PROGRAM}' leak"
        result = run("profile", "--json", "-o", self.path("kept"), "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 7)
        self.assertEqual(mine.read_text(), "not a recording")
        (other,) = json.loads(result.stdout)["other_processes"]
        self.assertEqual(self.json_of("top", other)["steps"], 20)
        self.assertFalse(list(self.folder.glob(".tenure-profile*")))
        self.assertEqual(run("profile", "-o", str(self.folder), "--", PROGRAM, "steady").returncode, 2)

    def test_what_is_no_file_is_never_replaced(self):
        folder = self.folder / "outputs"
        folder.mkdir()
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        (folder / "link").symlink_to(pipe)
        (folder / "dangling").symlink_to(folder / "nowhere")
        names = ["pipe", "link", "dangling"]
        if os.geteuid() == 0:
            try:
                os.mknod(folder / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
                names.append("device")
            except PermissionError:
                pass  # within a container
        before = {name: os.lstat(folder / name) for name in names}
        for name in names:
            result = run("profile", "-o", str(folder / name), "--", "sh", "-c", f"echo ran; '{PROGRAM}' steady")
            self.assertEqual((result.returncode, result.stdout), (2, ""), name)
            self.assertIn("--output", result.stderr)
        for name in names:
            after = os.lstat(folder / name)
            self.assertEqual((after.st_mode, after.st_ino), (before[name].st_mode, before[name].st_ino), name)
        self.assertEqual(sorted(os.listdir(folder)), sorted(names))

    def test_pages_and_exports_are_written_into_a_pipe(self):
        pipe = self.folder / "into"
        os.mkfifo(pipe)
        lives = self.folder / "lives.csv"
        lives.write_text("id,lower,upper,size\na,0,2,100\nb,1,3,50\n")
        for arguments in [["report", self.path("steady"), "-o"], ["export", self.path("steady"), "-o"],
                          ["plan", str(lives), "--svg"]]:
            read = self.folder / "read"
            with open(read, "wb") as file, subprocess.Popen(["cat", pipe], stdout=file):
                result = run(*arguments, str(pipe))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(read.stat().st_size, 100, arguments)
            self.assertTrue(pipe.is_fifo(), arguments)

    def test_a_link_to_a_file_stays_one(self):
        target = self.folder / "elsewhere" / "real.tenure"
        target.parent.mkdir()
        target.write_text("old")
        link = self.folder / "linked.tenure"
        link.symlink_to(target)
        self.assertEqual(run("profile", "-o", str(link), "--", PROGRAM, "steady").returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.json_of("top", str(target))["steps"], 20)
        self.assertEqual(os.listdir(target.parent), ["real.tenure"])

    def test_profile_says_what_was_refused_and_whether_it_grows(self):
        self.assertIn("Refused, and who held what was there", self.results["refused"].stdout)
        for way in ["refused", "late"]:
            result = run("profile", "--json", "-o", self.path("all"), "--", PROGRAM, way)
            document = json.loads(result.stdout)
            self.assertEqual(document["refusals"], self.json_of("top", self.path("all"))["refusals"])
            leaks = self.json_of("leaks", self.path("all"))
            self.assertEqual((document["verdict"], document["loops"]), (leaks["verdict"], leaks["loops"]))
        self.assertEqual(document["verdict"], "grows")

    def test_a_ring_says_where_it_begins(self):
        ring = self.path("ring")
        result = run("profile", "--json", "-o", ring, "--capacity", "1MiB", "--", PROGRAM, "threads")
        for document in [json.loads(result.stdout), self.json_of("top", ring), self.json_of("leaks", ring)]:
            self.assertFalse(document["complete"])
            self.assertGreater(document["begins_seconds"], 0)
        whole = self.json_of("top", self.path("steady"))
        self.assertEqual((whole["complete"], whole["begins_seconds"]), (True, 0))

    def test_profile_passes_signals_on(self):
        with subprocess.Popen([COMMAND, "profile", "-o", self.path("ended"), "--", PROGRAM, "wait"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.terminate()
            process.wait(timeout=60)  # its input stays open: that would end the program too
            process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.json_of("top", self.path("ended"))["steps"], 20)

    def test_two_programs_and_one_file(self):
        file = self.folder / "one.tenure"
        variables = dict(os.environ, TENURE_PROFILE=str(file))
        with subprocess.Popen([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=variables) as first:
            first.stdout.readline()
            second = subprocess.run([PROGRAM, "steady"], env=variables, capture_output=True, text=True)
            first.communicate(b"\n")
        self.assertEqual((first.returncode, second.returncode), (0, 0))
        self.assertIn("another recording", second.stderr)
        document = self.json_of("top", str(file))
        self.assertTrue(document["complete"])
        self.assertEqual(document["steps"], 20)

    def test_the_limit_of_files_does_not_end_the_program(self):
        for blocks, status in [("400", 0), ("0", 0)]:  # of 512 or 1024 bytes
            file = self.folder / f"limited-{blocks}.tenure"
            result = subprocess.run(["sh", "-c", f"ulimit -f {blocks}; exec '{PROGRAM}' steady"],
                                    env=dict(os.environ, TENURE_PROFILE=str(file)), capture_output=True, text=True)
            self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn("File too large", result.stderr)

    def test_a_capacity_that_is_no_number(self):
        result = subprocess.run([PROGRAM, "steady"], capture_output=True, text=True,
                                env=dict(os.environ, TENURE_PROFILE=self.path("bad"), TENURE_PROFILE_CAPACITY="64MiB"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("must be a number of bytes", result.stderr)

    def test_environment_records_too(self):
        file = self.folder / "by-hand-%p.tenure"
        subprocess.run([PROGRAM, "steady"], env=dict(os.environ, TENURE_PROFILE=str(file)), check=True)
        (made,) = self.folder.glob("by-hand-*.tenure")
        self.assertEqual(self.json_of("top", str(made))["steps"], 20)
        self.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o600)

    def test_recordings_and_pages_are_private_whatever_was_there(self):
        for name, make in [("private.tenure", lambda file: subprocess.run(
                                [PROGRAM, "steady"], env=dict(os.environ, TENURE_PROFILE=file), check=True)),
                           ("private.html", lambda file: run("report", self.path("steady"), "-o", file)),
                           ("private.json", lambda file: run("export", self.path("steady"), "--format", "chrome",
                                                             "-o", file))]:
            file = self.folder / name
            file.write_text("old")
            os.chmod(file, 0o644)
            make(str(file))
            self.assertGreater(file.stat().st_size, 3, name)
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, name)

    def test_recordings_do_not_tell_where_the_project_lies(self):
        project = Path(__file__).resolve().parents[2]
        file = self.folder / "anywhere.tenure"
        subprocess.run([PROGRAM, "steady"], env=dict(os.environ, TENURE_PROFILE=str(file)), check=True, cwd=project)
        self.assertNotIn(str(project).encode(), file.read_bytes())
        self.assertIn(b"tests/cli/program.cpp", file.read_bytes())

    def test_closed_output_does_not_become_the_recording(self):
        for closed in [">&-", "<&- >&- 2>&-"]:
            file = self.folder / "closed.tenure"
            subprocess.run(["sh", "-c", f"exec '{PROGRAM}' wait </dev/null {closed}"], timeout=60,
                           env=dict(os.environ, TENURE_PROFILE=str(file)))
            self.assertEqual(self.json_of("top", str(file))["damaged"], 0)
            self.assertNotIn(b"ready", file.read_bytes())

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a program of another user")
    def test_a_program_with_more_rights_than_its_caller_obeys_no_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            program = Path(folder) / "program"
            shutil.copy(PROGRAM, program)
            os.chown(program, 65533, 65533)
            os.chmod(program, 0o6755)
            file = Path(folder) / "planted.tenure"
            ran = subprocess.run([program, "steady"], user=65534, group=65534, extra_groups=[],
                                 env=dict(os.environ, TENURE_PROFILE=str(file),
                                          TENURE_MAX_ISA="of another CPU"), capture_output=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertFalse(file.exists())
            self.assertNotIn(b"TENURE_MAX_ISA", ran.stderr)

    def test_a_recording_can_be_read_while_it_is_written(self):
        file = self.folder / "live.tenure"
        with subprocess.Popen([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, TENURE_PROFILE=str(file))) as process:
            process.stdout.readline()
            result = run("top", str(file), "--json")
            process.kill()
        self.assertEqual(result.returncode, 0)
        self.assertIn("still being written", result.stderr)
        self.assertEqual(json.loads(result.stdout)["steps"], 20)


if __name__ == "__main__":
    unittest.main()
