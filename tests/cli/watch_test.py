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
        self.assertEqual(first["bytes"], 64 * 64 * 4)
        self.assertEqual(second["largest"][0]["op"], "full")
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
