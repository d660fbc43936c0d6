"""What notebooks show: HTML that parses, escapes, stays small, and takes its colours from the page."""

import os
import re
import tempfile
import unittest
from html.parser import HTMLParser

import tenure as tn
from support import TestCase, here

HOSTILE = '<script>alert("1")</script>\'" onmouseover="x" & <img src=x>'
ALONE = {"img", "br", "polyline", "path", "circle"}


class Parsed(HTMLParser):
    """Tags must be closed in order; what a reader sees is in `text`, tags in `tags`."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.seen = [], [], [], []
        self.feed(html)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")
        self.text = " ".join(" ".join(self.seen).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.seen.append(data)


class Shown(TestCase):
    def parse(self, shown, most=20_000):
        html = shown._repr_html_()
        self.assertLess(len(html), most)
        parsed = Parsed(html)
        self.assertFalse({"script", "img", "link", "style"} & set(parsed.tags), parsed.tags)
        for name, value in parsed.attributes:
            self.assertFalse(name.startswith("on"), name)
            if name == "style":  # light and dark pages bring their own
                self.assertIsNone(re.search(r"(?:^|;)\s*(?:color|background):(?!none|inherit|currentColor)", value), value)
        return parsed

    def test_tensors(self):
        x = tn.reshape(tn.arange(1e6), (1000, 1000))
        x.name = HOSTILE
        parsed = self.parse(x)
        self.assertIn("float32[1000, 1000] \u00b7 3.81 MiB", parsed.text)
        self.assertIn(f"made by reshape at {here(-4)}", parsed.text)
        self.assertIn("<script>", parsed.text)  # as text
        self.assertIn("999.", parsed.text)
        self.assertIn("[]", self.parse(tn.zeros(0)).text)
        self.assertIn("it has no data", self.parse(tn.spec((3, 4))).text)
        self.assertIn("float32[?]", self.parse(tn.Graph("g").placeholder("x", (None,))).text)

    def test_a_disposed_tensor_says_what_is_left(self):
        x = tn.ones((4, 4))
        self.assertIsNone(x.disposed)
        view = x[0]
        x.dispose()
        gone = here(-1)
        parsed = self.parse(x)
        self.assertIn("disposed tensor", parsed.text)
        self.assertIn(f"{gone} by dispose()", parsed.text)
        self.assertEqual(x.disposed, f"{gone} by dispose()")
        self.assertIn("64 B, still held by", parsed.text)
        self.assertIn("view", parsed.text)
        view.dispose()
        self.assertIn("freed: nobody holds it", self.parse(x).text)
        with tn.scope("step"):
            y = tn.ones(3)
        self.assertIn("by the end of its scope", self.parse(y).text)

    def test_variables_and_models(self):
        class Net(tn.nn.Layer):
            def __init__(self):
                super().__init__()
                self.hidden = tn.nn.Dense(2, 3)
                self.seen = tn.nn.Parameter(tn.zeros(1), buffer=True)

            def forward(self, x):
                return self.hidden(x)

        net = Net()
        net.hidden.freeze()
        text = self.parse(net).text
        for part in ("Net", "hidden/kernel float32[2, 3] 6 24 B frozen", "seen float32[1] 1 4 B buffer"):
            self.assertIn(part, text)
        summary = net.summary(tn.spec((1, 2)))
        self.assertIn("hidden", self.parse(summary).text)
        self.assertEqual(repr(summary), str(summary))
        self.assertIn("hidden", self.parse(tn.nn.summarize(net, tn.spec((1, 2)))).text)
        many = tn.nn.Sequential(*(tn.nn.Dense(1, 1) for _ in range(200)))
        self.assertIn("and 340 more", self.parse(many, 50_000).text)
        w = tn.Variable(tn.ones(2), name=HOSTILE)
        self.assertIn("<script>", self.parse(w).text)
        w.dispose()
        self.assertIn("disposed variable", self.parse(w).text)

    def test_memory_holders_and_live_tensors(self):
        x = tn.ones((64, 64))
        x.name = HOSTILE
        view = x[0]
        self.assertIn("16.00 KiB live", self.parse(tn.memory()).text)
        self.assertIn("activation", self.parse(tn.memory()).text)
        self.assertIn("2 holders", self.parse(tn.holders(x)).text)
        self.assertIn("view", self.parse(tn.holders(view)[1]).text)
        self.assertIn("<script>", self.parse(tn.live_tensors()).text)
        self.assertIn(f"made by ones at {here(-8)}>", repr(tn.live_tensors()))
        del view
        x.dispose()
        self.assertIn("nobody holds", self.parse(tn.holders(x)).text)
        self.assertEqual(repr(tn.holders(x)), "nobody")

    def test_plans_and_functions(self):
        f = tn.function(lambda x: tn.tanh(x @ x) * 2, name=HOSTILE)
        plan = f.plan(tn.spec((64, 64)))
        text = self.parse(plan).text
        self.assertIn("peak 16.00 KiB", text)
        self.assertIn("in place", text)
        self.assertIn(here(-5), text)
        self.assertIn("<script>", self.parse(f).text)
        self.assertIn("first call", self.parse(f.explain()).text)
        deep = tn.function(lambda x: [x := tn.sort(x) @ x for _ in range(300)][-1])
        self.assertIn(" more", self.parse(deep.plan(tn.spec((8, 8))), 60_000).text)

    def test_training(self):
        tn.seed(0)
        net = tn.nn.Sequential(tn.nn.Dense(4, 2))
        trainer = tn.nn.Trainer(net, tn.cross_entropy, tn.nn.Sgd(net, 0.1))
        x, y = tn.normal((32, 4)), tn.zeros(32, "int64")
        self.assertIn("a training step takes", self.parse(trainer.plan(x, y)).text)
        batches = tn.nn.from_tensors([x, y]).batch(16)
        history = tn.nn.fit(trainer, batches, epochs=100, validation=batches, progress="none")
        parsed = self.parse(history, 50_000)
        self.assertIn("100 epochs", parsed.text)
        self.assertEqual(parsed.tags.count("polyline"), 2)
        self.assertRegex(repr(history), r"^<history of 100 epochs, loss 0\.\d+>$")


class Reports(TestCase):
    def test_a_recording_is_its_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a <b> \"c\".tenure")
            with tn.profile(path) as run:
                x = tn.ones((256, 256))
                (x + 1).dispose()
            parsed = Parsed(run._repr_html_())
            attributes = dict(parsed.attributes)
            self.assertEqual(parsed.tags, ["iframe"])
            self.assertEqual(attributes["srcdoc"], run.report().page())
            self.assertNotIn("allow-same-origin", attributes["sandbox"])
            self.assertEqual(attributes["title"], path)
            report = tn.report(path)
            self.assertIn("peak", str(report))
            page = report.save(os.path.join(folder, "page.html"))
            self.assertGreater(os.path.getsize(page), 10_000)
            net = tn.nn.Dense(2, 1)
            history = tn.nn.fit(tn.nn.Trainer(net, tn.mse_loss, tn.nn.Sgd(net, 0.1)),
                                [(tn.ones((2, 2)), tn.ones((2, 1)))], epochs=3, progress="none")
            self.assertIn(history.plot().svg, run.report(history).page())
            with self.assertRaises(FileNotFoundError):
                tn.report(path + ".not")
            with open(path, "w") as damaged:
                damaged.write("no recording")
            with self.assertRaises(tn.ProfileError):
                report.page()


if __name__ == "__main__":
    unittest.main()
