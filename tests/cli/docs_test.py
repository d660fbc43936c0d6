import re
import tempfile
import unittest
from pathlib import Path

from command import GPT, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.M | re.S)
# Neither Python nor prose.
CALL = re.compile(r"(?:^|[ `/])(?<!import )(?<!the )tenure ((?:[a-z]+)(?: [^`|#\n]*)?)", re.M)


def masked(lines):
    """What is the same on every machine, at any speed."""
    text = "\n".join(re.sub(r" +", " ", line).strip() for line in lines)
    text = re.sub(r"[\d.]+ (s|ms|us|ns)\b", "TIME", text)
    text = re.sub(r"\d+ events", "EVENTS", text)
    return re.sub(r"^\S*/(?=\S+: EVENTS)|(?<=over time ).*", "", text, flags=re.M)


class DocsTest(unittest.TestCase):
    """What the documentation says of the command is what the command does."""

    def test_every_call_in_the_documentation_is_one(self):
        helps = {}
        calls = 0
        for page in PAGES:
            for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
                if language not in ("", "sh"):
                    continue
                for call in CALL.findall(block):
                    command, *words = call.split(" -- ")[0].split()
                    if command not in helps:
                        helps[command] = run(command, "--help").stdout
                    self.assertIn("Usage: tenure", helps[command], f"{page.name}: tenure {call}")
                    for word in words:
                        if re.fullmatch(r"--?[a-z][\w-]*", word):
                            self.assertRegex(helps[command], rf"(?m)(^|[ ,]){re.escape(word)}\b", f"{page.name}: tenure {call}")
                    calls += 1
        self.assertGreater(calls, 10)

    def test_the_sample_of_a_packing_is_fresh(self):
        blocks = [block for _, block in FENCE.findall((ROOT / "docs/planning.md").read_text(encoding="utf-8"))]
        lifetimes = next(block for block in blocks if block.startswith("id,lower"))
        sample = next(block for block in blocks if block.startswith("$ tenure plan lifetimes.csv"))
        call, *expected = sample.splitlines()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "lifetimes.csv"
            file.write_text(lifetimes, encoding="utf-8")
            words = [str(Path(folder) / word) if "." in word else word for word in call.split()[2:]]
            printed = run(*words).stdout.replace(f"{folder}/", "").splitlines()
        timed = re.compile(r"[\d.]+ s$")
        self.assertEqual([timed.sub("S", line) for line in printed], [timed.sub("S", line) for line in expected])

    @unittest.skipIf(GPT is None, "the examples were not built")
    def test_the_samples_of_a_recording_are_fresh(self):
        page = (ROOT / "docs/profiling.md").read_text(encoding="utf-8")
        samples = [block for _, block in FENCE.findall(page) if block.startswith("$ tenure top gpt.tenure")]
        self.assertEqual(len(samples), 2)
        arguments = re.search(r"13_char_gpt( - \d+)`", page).group(1).split()
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "gpt.tenure")
            self.assertEqual(run("profile", "-o", file, "--", GPT, *arguments).returncode, 0)
            for sample in samples:
                call, *expected = sample.splitlines()
                words = [file if word == "gpt.tenure" else word for word in call.split()[2:]]
                printed = masked(run(*words).stdout.splitlines())
                at = 0
                for part in masked(expected).split("..."):
                    found = printed.find(part.strip(), at)
                    self.assertGreaterEqual(found, 0, f"{call}: {part}\nis not in\n{printed}")
                    at = found + len(part.strip())


if __name__ == "__main__":
    unittest.main()
