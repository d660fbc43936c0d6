import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from command import PROGRAM, run


def device(largest, name="cpu", allocations=1, outside=0, total=0):
    """What a snapshot says of a device on which lines hold (op, place, bytes)."""
    held = sum(line[2] for line in largest)
    return {"device": name, "tensors": len(largest), "storages": len(largest), "bytes": held, "peak": held,
            "allocations": allocations, "frees": 0, "cached_bytes": 0, "reserved_bytes": 8192,
            "outside_bytes": outside, "total_bytes": total, "fragmentation": 0.0,
            "categories": {"activation": held},
            "largest": [{"op": op, "place": place, "tensors": 1, "bytes": held} for op, place, held in largest]}


class WatchTest(unittest.TestCase):
    def test_watch(self):
        with subprocess.Popen([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, TENURE_WATCH="1")) as process:
            process.stdout.readline()
            result = run("watch", str(process.pid), "--count", "2", "--interval", "0.05", "--json")
            text = run("watch", str(process.pid), "--count", "1")
            process.communicate(b"\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([each["device"] for each in first["devices"]], ["cpu"])
        self.assertEqual(first["devices"][0]["bytes"], 64 * 64 * 4)
        self.assertEqual(second["devices"][0]["largest"][0]["op"], "full")
        self.assertIn("full at program.cpp", text.stdout)
        self.assertNotIn("\033", text.stdout)

    def test_a_program_that_is_stopped_does_not_answer(self):
        with subprocess.Popen([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, TENURE_WATCH="1")) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            result = run("watch", str(process.pid), "--count", "1")
            process.send_signal(signal.SIGCONT)
            process.communicate(b"\n")
        self.assertEqual(result.returncode, 3)
        self.assertIn("does not answer", result.stderr)

    def test_what_is_no_socket_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"tenure-{os.getpid()}.sock")
            Path(path).write_text("a file")
            result = run("watch", str(os.getpid()), XDG_RUNTIME_DIR=folder)
            self.assertEqual(result.returncode, 3)
            self.assertIn("not a socket of this user", result.stderr)
            os.remove(path)
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path)
                server.listen()
                if os.geteuid() == 0:  # somebody else's
                    os.chown(path, 65534, 65534)
                    result = run("watch", str(os.getpid()), XDG_RUNTIME_DIR=folder)
                    self.assertIn("not a socket of this user", result.stderr)
                    os.chown(path, 0, 0)

                def answer():
                    client, _ = server.accept()
                    client.recv(1)
                    client.sendall(b"\x1b[2J{\n")
                    client.close()

                thread = threading.Thread(target=answer)
                thread.start()
                result = run("watch", str(os.getpid()), "--count", "1", XDG_RUNTIME_DIR=folder)
                thread.join()
            self.assertEqual(result.returncode, 3)
            self.assertIn("no snapshot", result.stderr)
            self.assertNotIn("\033", result.stdout)

    def watched(self, looks):
        """What `tenure watch` prints of a process that says so."""
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            os.chmod(folder, 0o700)
            server.bind(os.path.join(folder, f"tenure-{os.getpid()}.sock"))
            server.listen()
            server.settimeout(60)  # whoever does not come is an error, not a wait

            def answer():
                client, _ = server.accept()
                for look in looks:
                    client.recv(1)
                    client.sendall(json.dumps(look).encode() + b"\n")
                client.close()

            thread = threading.Thread(target=answer)
            thread.start()
            result = run("watch", str(os.getpid()), "--count", str(len(looks)), "--interval", "0.05",
                         XDG_RUNTIME_DIR=folder)
            thread.join()
        return result

    def test_watch_tells_how_lines_go_from_look_to_look(self):
        def snapshot(allocations, lines):
            return {"pid": 1, "devices": [device(lines, allocations=allocations)]}

        looks = [snapshot(10, [("full", "a.cpp:1", 4096), ("relu", "a.cpp:2", 2048)]),
                 snapshot(12, [("full", "a.cpp:1", 4096), ("ones", "a.cpp:9", 1024), ("relu", "a.cpp:2", 512)]),
                 snapshot(15, [("full", "a.cpp:1", 4096), ("ones", "a.cpp:9", 3072)])]
        result = self.watched(looks)
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second, third = result.stdout.split("process ")[1:]
        self.assertNotIn("since the last look", first)
        self.assertIn("-512 B since the last look", second)
        self.assertIn("+1.50 KiB since the last look", third)
        self.assertRegex(third, r"\+[\d.]+ \w+ a second since the first")
        self.assertIn("15 allocations (+3)", third)
        self.assertRegex(third, r"over time   \|##@\|")
        self.assertRegex(second, r"512 B +-1.50 KiB +-1.50 KiB  relu at a.cpp:2")
        self.assertRegex(third, r"3.00 KiB +\+2.00 KiB +\+3.00 KiB  ones at a.cpp:9")
        self.assertRegex(third, r"4.00 KiB +full at a.cpp:1")

    def test_watch_shows_a_line_that_grows_among_many(self):
        many = [("full", f"a.cpp:{i}", 1 << 20) for i in range(60)]
        looks = [{"pid": 1, "devices": [device(many + [("ones", "leak.cpp:7", n)])]} for n in (64, 128)]
        result = self.watched(looks)
        self.assertRegex(result.stdout, r"128 B +\+64 B +\+64 B  ones at leak.cpp:7")

    def test_watch_shows_each_device(self):
        looks = [{"pid": 1, "devices": [
            device([("load", "data.cpp:3", 512)]),
            device([("matmul", "model.cpp:7", n)], "cuda:0", outside=1 << 20, total=4 << 20)]} for n in (1024, 4096)]
        result = self.watched(looks)
        self.assertEqual(result.returncode, 0, result.stderr)
        second = result.stdout.split("process ")[2]
        here, there = second.split("\ncuda:0 ")
        self.assertIn("\ncpu   512 B live in 1 tensor", here)
        self.assertIn("the same since the last look", here)
        self.assertNotIn("taken", here)
        self.assertIn("4.00 KiB live in 1 tensor", there)
        self.assertIn("+3.00 KiB since the last look", there)
        self.assertIn("1.01 MiB of 4.00 MiB taken: 8.00 KiB reserved, 1.00 MiB outside", there)
        self.assertRegex(there, r"4.00 KiB +\+3.00 KiB +\+3.00 KiB  matmul at model.cpp:7")

    def test_watch_of_others(self):
        self.assertEqual(run("watch", str(os.getpid())).returncode, 3)
        self.assertIn("no process", run("watch", "999999999").stderr)
        self.assertEqual(run("watch", "-5").returncode, 2)

    def test_a_folder_that_others_can_read_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            result = run("watch", str(os.getpid()), XDG_RUNTIME_DIR=folder)
            self.assertEqual(result.returncode, 3)
            self.assertIn("not safe", result.stderr)


if __name__ == "__main__":
    unittest.main()
