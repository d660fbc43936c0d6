import json
import tempfile
import unittest
from pathlib import Path

from command import PROGRAM, run


class RecordingCase(unittest.TestCase):
    """Records the program's ways once, and asks the commands about them."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        cls.results = {}
        for way in ["steady", "leak", "late", "unmarked", "refused", "crash", "hostile", "taped"]:
            cls.results[way] = run("profile", "-o", cls.path(way), "--", PROGRAM, way)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def path(cls, way):
        return str(cls.folder / f"{way}.tenure")

    def json_of(self, *arguments):
        result = run(*arguments, "--json")
        return json.loads(result.stdout)
