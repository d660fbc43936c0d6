"""The types of what tools/nn.py selects, for checkers and editors."""

from nn import OBJECTS, RESULTS, Selection

FIELDS = {
    "int": "int", "std::int64_t": "int", "double": "float", "bool": "bool", "std::string": "str",
    "std::vector<std::string>": "list[str]", "std::vector<double>": "list[float]", "Tensor": "Tensor | None",
    "Dataset": "Dataset", "Plan": "Plan", "std::vector<Column>": "list[Column]", "std::vector<Epoch>": "list[Epoch]",
    "Scores": "Scores", "std::optional<Scores>": "Scores | None",
}

IMPORTS = """# Made by python/tools/nn_stubs.py of the headers in tenure/nn/ and tenure/data/.
from typing import Any, Callable, Literal, Sequence

from tenure._tenure import Plan, Tensor, Variable
from tenure._tenure._data import Dataset
from tenure._tenure._nn import (Callback, Initializer, KeyValueCache, Lambda, LayerBase, LossScale, Metric, NamedVariable,
                                Optimizer, Schedule)
from tenure._types import DTypeLike, InitializerLike, LossLike, Parameters, PathLike, ShapeLike, TensorLike
"""

# What src/nn/classes.h adds to made classes, for checkers of types.
EXTENDED = {
    "MultiHeadAttention": ["    def __call__(self, x: TensorLike, memory: TensorLike | None = ..., *, "
                           "mask: TensorLike | None = ..., cache: KeyValueCache | None = ...) -> Tensor: ..."],
    "TransformerBlock": ["    def __call__(self, x: TensorLike, memory: TensorLike | None = ..., *, "
                         "mask: TensorLike | None = ..., cache: KeyValueCache | None = ...) -> Tensor: ..."],
    "Recurrent": ["    def run(self, x: TensorLike, *, h: TensorLike | None = ..., c: TensorLike | None = ..., "
                  "lengths: TensorLike | None = ...) -> RecurrentResult: ..."],
    "StepPlan": ["    @property\n    def peak(self) -> int: ...", "    @property\n    def computation(self) -> int: ..."],
    "Fit": ["    def run(self) -> History: ...", "    def stop(self, reason: str) -> None: ...",
            "    def save(self, path: PathLike) -> None: ...", "    def load(self, path: PathLike) -> None: ...",
            "    @property\n    def trainer(self) -> Trainer: ..."],
    "History": ["    def plot(self) -> Any: ..."],
    "Position": ["    def __init__(self, epoch: int = ..., next: int = ...) -> None: ..."],
    "Table": ["    def column(self, name: str) -> Column: ...", "    def __getitem__(self, name: str) -> Tensor: ..."],
    "Trainer": [
        "    def step(self, x: TensorLike, target: TensorLike) -> Scores: ...",
        "    def step_ahead(self, x: TensorLike, target: TensorLike) -> LateScores: ...",
        "    def score(self, x: TensorLike, target: TensorLike) -> Scores: ...",
        "    def predict(self, x: TensorLike) -> Any: ...",
        "    def plan(self, x: TensorLike, target: TensorLike) -> StepPlan: ...",
        "    def summary(self, input: TensorLike, target: TensorLike) -> str: ...",
        "    def to(self, device: str) -> Trainer: ...",
        "    def variables(self) -> list[NamedVariable]: ...",
        "    @property\n    def device(self) -> str: ...",
        "    @property\n    def resident_bytes(self) -> int: ...",
        "    @property\n    def model(self) -> LayerBase: ...",
        "    @property\n    def optimizer(self) -> Optimizer: ...",
    ],
}


class Stubs(Selection):
    def stub(self, rows):
        parts, has_star = [], False
        for name, kind, default, options in rows:
            if options is not None and not has_star:
                parts.append("*")
                has_star = True
            python = OBJECTS[kind][1] if kind in OBJECTS else self.python_type(kind)
            if name == "budget":
                python = "int | str | None"
            if default == "None" and "None" not in python:
                python += " | None"
            parts.append(f"{name}: {python}" + ("" if default is None else " = ..."))
        return ", ".join(parts)

    def class_stub(self, c):
        base = self.base_of(c)
        base = "LayerBase" if base == "Layer" else base
        lines = [f"class {c.name}({base}):" if base else f"class {c.name}:"]
        constructor = self.constructor(c)
        if constructor:
            rows = constructor[1]
            words = self.stub(rows)
            lines.append(f"    def __init__(self{', ' if words else ''}{words}) -> None: ...")
            if base == "Optimizer":
                more = [rows[0], *(r for r in rows if r[3] is not None)]
                words = self.stub(more)
                words += ("" if "*" in words else ", *") + ", rate_factor: float = ..."
                lines.append(f"    def set_options(self, {words}) -> None: ...")
        lines += [f"    @property\n    def {name}(self) -> Variable: ..." for name in c.variables]
        lines += EXTENDED.get(c.name, [])
        return "\n".join(lines if len(lines) > 1 else [lines[0] + " ..."])

    def struct_stub(self, s):
        fields = [f"    {f.name}: {FIELDS.get(f.type, 'Any')}" for f in s.fields]
        return "\n".join([f"class {s.name}:", *fields, *EXTENDED.get(s.name, [])])

    def function_stub(self, f, rows):
        result = RESULTS.get(f.result, f.result)
        return f"def {f.name}({self.stub(rows)}) -> {result}: ..."

    def stubs(self):
        """{file: text}; _tenure/_nn/ and _tenure/_data.pyi import them, and have what is written by hand."""
        functions = {space: [self.function_stub(f, rows) for f, rows in self.bound_functions(space)]
                     for space in ("nn", "nn::init", "nn::schedule", "data")}
        made = {
            "_layers.pyi": [*map(self.struct_stub, self.bound_structs("nn")),
                            *map(self.class_stub, self.bound_classes()), *functions["nn"]],
            "_initializers.pyi": functions["nn::init"], "_schedules.pyi": functions["nn::schedule"],
            "_datasets.pyi": [*map(self.struct_stub, self.bound_structs("data")), *functions["data"]],
        }
        return {name: "\n".join([IMPORTS, *lines, ""]) for name, lines in made.items()}
