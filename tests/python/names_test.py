"""What C++ has for users in tenure/nn/ and tenure/data/, Python has under the same names."""

import inspect
import os
import re
import sys
import types
import unittest
from pathlib import Path

import tenure as tn

ROOT = Path(os.environ.get("TENURE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "python" / "tools"))

import classes  # noqa: E402

# What makes no sense in Python, or has another name there, and why.
ABSENT = {
    "Source": "a dataset of one's own is from_function(n, f)",
    "BestScore": "what callbacks of C++ are made of",
    "MeanScores": "what fit() counts with",
    "PlanOnly": "with tn.plan_only()",
    "Fans": "the keywords fan_in and fan_out",
    "AttentionInputs": "the keywords memory, mask and cache of a call",
    "RecurrentStart": "the keywords h, c and lengths of run()",
    "values_of": "state_dict(model)",
    "assign_all": "load_state_dict(model, values)",
    "to_string": "str(summary)",
    "move_to": "to(device) of layers, optimizers, trainers and variables",
    "Dataset.begin": "iter()", "Dataset.end": "iter()", "Dataset.size": "len()",
    "Pass.begin": "iter()", "Pass.end": "iter()", "Pass.next": "next()",
    "Sequential.size": "len()", "Sequential.push_back": "append()",
    "Layer.state": "what C++ knows of a layer's place; its parts are attributes",
    "Optimizer.set_learning_rate": "optimizer.learning_rate = rate",
    "Metric.value": "a function of C++'s; the caller has Python's",
    "Layer.call": "a call of a layer takes and gives several tensors",
    "Layer.removals": "errors of trainers tell them", "Model": "a Layer, whose forward() takes several tensors",
    "Loss": "a function of a prediction and a target, or of tuples of them", "Trainer.loss": "the caller has it",
    "Trainer.options": "the caller has them", "Fit.options": "the caller has them", "Fit.site": "errors name it",
    "LbfgsOptions.line_search": "what it is set to serves; C++ can set it",
    "FitOptions.out": "fit() writes to sys.stdout", "Fit.write_to": "fit() writes to sys.stdout",
}
ELSEWHERE = {"CheckpointError": tn, "DivergedError": tn}


def home(name, header):
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    return tn.data if header.startswith("tenure/data/") else tn.nn


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.read = classes.read(ROOT)

    def missing(self, names):
        return sorted(name for name in names if name not in ABSENT)

    def test_classes_structs_and_functions(self):
        read, missing, seen = self.read, set(), 0
        for name in [*read.classes, *(s for s in read.structs if "::" not in s and not s.endswith("Options"))]:
            seen += 1
            if not hasattr(home(name, read.header_of[name]), name):
                missing.add(name)
        for f in read.functions:
            seen += 1
            place = {"nn": tn.nn, "data": tn.data, "nn::init": tn.nn.init, "nn::schedule": tn.nn.schedule}[f.space]
            if not hasattr(place, f.name):
                missing.add(f.name)
        self.assertEqual(self.missing(missing), [])
        self.assertGreater(seen, 120)

    def test_methods(self):
        missing, seen = set(), 0
        for name, c in self.read.classes.items():
            made = getattr(home(name, self.read.header_of[name]), name, None)
            made = tn.nn.LayerBase if name == "Layer" else made
            is_error = isinstance(made, type) and issubclass(made, Exception)  # facts are attributes of its objects
            for method in [] if made is None or is_error else c.methods:
                seen += 1
                if not hasattr(made, method):
                    missing.add(f"{name}.{method}")
        self.assertEqual(self.missing(missing), [])
        self.assertGreater(seen, 90)

    def test_fields_of_results(self):
        missing = set()
        for name, struct in self.read.structs.items():
            if "::" in name or name.endswith("Options") or name in ABSENT:
                continue
            made = getattr(home(name, self.read.header_of[name]), name)
            missing |= {f"{name}.{f.name}" for f in struct.fields if f.type != "struct" and not hasattr(made, f.name)}
        self.assertEqual(self.missing(missing), [])

    def test_options_are_keywords(self):
        """What an options struct has is in the signature of what takes it."""
        read, missing, seen = self.read, set(), 0
        calls = [(c.name, k) for c in read.classes.values() for k in c.constructors]
        calls += [(f.name, f.parameters) for f in read.functions if "::" not in f.space]
        for name, parameters in calls:
            for p in parameters:
                struct = read.structs.get(p.type) or read.structs.get(f"{name}::{p.type}")
                if struct is None or not p.type.endswith("Options") or name == "fit":
                    continue
                made = getattr(home(name, read.header_of[name]), name)
                words = (made.__init__.__doc__ or made.__doc__ if isinstance(made, type) else made.__doc__) or ""
                for f in struct.fields:
                    seen += 1
                    if not re.search(rf"\b{f.name}\b", words) and f"{p.type}.{f.name}" not in ABSENT:
                        missing.add(f"{name}({f.name}=)")
        self.assertEqual(self.missing(missing), [])
        self.assertGreater(seen, 100)

    def test_no_reason_is_stale(self):
        known = {*self.read.classes, *self.read.structs, *(f.name for f in self.read.functions), "FitOptions.out"}
        known |= {f"{c.name}.{m}" for c in self.read.classes.values() for m in c.methods}
        known |= {f"{name}.{f.name}" for name, s in self.read.structs.items() for f in s.fields}
        self.assertEqual(sorted(set(ABSENT) - known), [])


class Docstrings(unittest.TestCase):
    """help() of every public name says what it is, in words of its own."""

    # Fields of structs that are read from headers: their names say it.
    STRUCTS = {tn.nn.Epoch, tn.nn.History, tn.nn.LoadReport, tn.nn.RecurrentResult, tn.nn.Scores, tn.nn.StepPlan,
               tn.data.Column, tn.data.ImageFolder, tn.data.Position, tn.data.Split, tn.data.Table}

    def names(self):
        for module in (tn, tn.nn, tn.data, tn.nn.init, tn.nn.schedule):
            for name in dir(module):
                value = getattr(module, name)
                if not name.startswith("_") and callable(value):
                    yield f"{module.__name__}.{name}", value

    def test_of_functions_and_classes(self):
        for name, value in self.names():
            with self.subTest(name):
                own = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
                self.assertTrue(own)
                if isinstance(own, str):  # else it is that of its objects
                    self.assertNotIn("::", own.split("\n\n")[-1])

    def test_of_properties(self):
        for name, value in self.names():
            for member in dir(value) if isinstance(value, type) and value not in self.STRUCTS else ():
                found = inspect.getattr_static(value, member)
                if not member.startswith("_") and isinstance(found, (property, types.GetSetDescriptorType)):
                    if not issubclass(value, BaseException):
                        with self.subTest(f"{name}.{member}"):
                            self.assertTrue(found.__doc__)


if __name__ == "__main__":
    unittest.main()
