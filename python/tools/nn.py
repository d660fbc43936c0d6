"""Makes Python's classes and functions of what tools/classes.py reads of tenure/nn/ and tenure/data/:
layers, optimizers, callbacks, the trainer, results with names, and functions. What options structs
have are keywords. src/nn/classes.h has what the made sources call.
"""

import re

import headers

# By hand in src/nn/ and tenure/nn/: what is no plain call of plain arguments.
CLASSES_BY_HAND = {"Layer", "Model", "Loss", "Lambda", "Sequential", "Optimizer", "Callback", "Source", "Pass", "Dataset",
                   "CheckpointError", "DivergedError", "BestScore", "Lbfgs", "PlanOnly", "LateScores"}
STRUCTS_BY_HAND = {"NamedVariable", "Metric", "Summary", "MeanScores", "Fans", "AttentionInputs", "RecurrentStart",
                   "LossScale", "KeyValueCache"}
FUNCTIONS_BY_HAND = {"read_csv", "from_function", "score_of", "values_of", "assign_all", "load_weights", "fit",
                     "bytes_of", "summarize", "to_string", "plot"}

# What arguments may be, and what they are for checkers of types. src/nn/arguments.h converts them.
ARGUMENTS = {
    "int": "int", "std::int64_t": "int", "std::uint64_t": "int", "double": "float", "bool": "bool", "std::string": "str",
    "DType": "DTypeLike", "SpatialSizes": "ShapeLike", "Padding": "ShapeLike | Literal['same']", "Tensor": "TensorLike",
    "std::vector<Tensor>": "Sequence[TensorLike]", "Initializer": "InitializerLike", "Schedule": "Callable[[int], float]",
    "Loss": "LossLike", "std::vector<NamedVariable>": "Parameters", "std::vector<Metric>": "Sequence[Metric]",
    "LossScale": "LossScale", "data::Dataset": "Dataset", "std::vector<std::shared_ptr<Callback>>": "Sequence[Callback]",
    "Progress": "Literal['auto', 'bar', 'lines', 'none']",
}
# These are passed on as they are.
OBJECTS = {"Layer": ("const nn::Layer&", "LayerBase"), "Optimizer": ("nn::Optimizer&", "Optimizer"),
           "Trainer": ("nn::Trainer&", "Trainer"), "Dataset": ("const data::Dataset&", "Dataset"),
           "data::Dataset": ("const data::Dataset&", "Dataset")}
RESULTS = {
    "Lambda": "Lambda", "Initializer": "Initializer", "Schedule": "Schedule", "Metric": "Metric", "Tensor": "Tensor",
    "std::vector<Tensor>": "list[Tensor]", "bool": "bool", "void": "None", "double": "float", "std::int64_t": "int",
    "Dataset": "Dataset",
}
FIELDS = {
    "int": "int", "std::int64_t": "int", "double": "float", "bool": "bool", "std::string": "str",
    "std::vector<std::string>": "list[str]", "std::vector<double>": "list[float]", "Tensor": "Tensor | None",
    "Dataset": "Dataset", "Plan": "Plan", "std::vector<Column>": "list[Column]", "std::vector<Epoch>": "list[Epoch]",
    "Scores": "Scores", "std::optional<Scores>": "Scores | None",
}


class Maker:
    def __init__(self, read, ops):
        self.read, self.ops = read, ops  # of classes.py, of headers.py

    def type_of(self, name, space, owner=None):
        """As C++ writes it in namespace tenure::python."""
        if owner and name in owner.structs:
            return f"nn::{owner.name}::{name}"
        inner = re.match(r"std::(optional|vector)<(.*)>$", name)
        if inner:
            return f"std::{inner[1]}<{self.type_of(inner[2], space)}>"
        if name.startswith("std::shared_ptr<"):
            return f"std::shared_ptr<{self.type_of(name[16:-1], space)}>"
        is_here = name in self.read.structs or name in self.read.classes or name in self.read.enums or \
            name in ("Initializer", "Schedule", "Loss")
        return f"{space}::{name}" if is_here else name

    def struct(self, name, owner=None):
        if not name.endswith("Options"):
            return None
        if owner and name in owner.structs:
            return owner.structs[name]
        return self.read.structs.get(name) or self.ops.structs.get(name)

    def python_type(self, name):
        if match := re.match(r"std::optional<(.*)>$", name):
            inner = self.python_type(match[1])
            return inner and f"{inner} | None"
        if name in ARGUMENTS:
            return ARGUMENTS[name]
        if name in self.ops.enums:
            return "Literal[" + ", ".join(f"'{v}'" for v in self.ops.enums[name]) + "]"
        return ARGUMENTS.get(name)

    def rows(self, parameters, owner=None):
        """What Python passes: (name, type, default as Python has it, struct parameter or None). None if
        there is one that nobody can convert."""
        rows, names = [], {p.name for p in parameters}
        for p in parameters:
            if p.type == "Site":
                continue
            struct = self.struct(p.type, owner)
            if struct is None:
                if p.type not in OBJECTS and self.python_type(p.type) is None:
                    return None
                rows.append((p.name, p.type, self.default(p.default), None))
                continue
            given = dict(re.findall(r"\.(\w+) = ([^,}]+)", p.default or ""))
            for f in struct.fields:
                if self.python_type(f.type) is None:
                    return None
                name = RENAMED.get(f.name, f.name) if f.name in names else f.name
                rows.append((name, f.type, self.default(given.get(f.name, f.default)), p))
        return rows

    def constructor(self, c):
        """(parameters, rows) of the one that takes most; None if there is none for users."""
        all_of = [(k, rows) for k in c.constructors if (rows := self.rows(k, c)) is not None]
        return max(all_of, key=lambda both: (any(row[3] for row in both[1]), len(both[1])), default=None)

    def default(self, text):
        if text is None:
            return None
        if text in ("{}", "std::nullopt") or text.startswith("init::"):
            return "None"
        if text in ("true", "false"):
            return text.capitalize()
        if match := re.match(r"\w+::(\w+)$", text):
            return repr(match[1])
        if re.match(r'"[^"]*"$', text):
            return repr(text[1:-1])
        text = text.replace("'", "").removesuffix(";").removeprefix("std::int64_t{1}")
        text = "1" + text if text.startswith(" <<") else text
        return text

    def signature(self, rows):
        parts, has_star = [], False
        for name, _, default, options in rows:
            if options is not None and not has_star:
                parts.append("*")
                has_star = True
            parts.append(name if default is None else f"{name}={default}")
        return "(" + ", ".join(parts) + ")"

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

    def lambda_source(self, parameters, rows, space, make, owner=None, first=()):
        """A lambda that converts the arguments and gives make(what C++ is called with)."""
        taken = [*first, *(f"{OBJECTS[kind][0]} {name}" if kind in OBJECTS else f"const py::object& {name}"
                           for name, kind, _, _ in rows)]
        lines, passed = [f"[]({', '.join(taken)}) {{"], []
        for p in parameters:
            if p.type == "Site":
                passed.append("site")
            elif struct := self.struct(p.type, owner):
                lines.append(f"  {self.type_of(p.type, space, owner)} {p.name}{p.default or '{}'};")
                for f, (name, _, default, _) in zip(struct.fields, (row for row in rows if row[3] is p)):
                    into = "into_bytes" if name == "budget" else "into"
                    lines.append(f'  {into}({p.name}.{f.name}, {name}, "{name}", {str(default == "None").lower()});')
                passed.append(f"std::move({p.name})")
            elif p.type in OBJECTS:
                passed.append(p.name)
            else:
                lines.append(f'  auto {p.name}_given = Argument<{self.type_of(p.type, space)}>::of({p.name}, "{p.name}");')
                passed.append(f"std::move({p.name}_given)")
        if any(p.type == "Site" for p in parameters):
            lines.insert(1, "  const Site site = caller();")
        return "\n".join([*lines, *make(", ".join(passed)), "}"])

    def arguments_source(self, rows):
        parts, has_star = [], False
        for name, _, default, options in rows:
            if options is not None and not has_star:
                parts.append("py::kw_only()")
                has_star = True
            if default is None:
                parts.append(f'py::arg("{name}")')
            else:
                parts.append(f'py::arg("{name}") = {cpp_literal(default)}')
        return "".join(", " + part for part in parts)

    def class_source(self, c):
        constructor = self.constructor(c)
        base = self.base_of(c)
        kind = f"nn::{c.name}"
        bases = f", nn::{base}" if base else ""
        doc = told(c.doc) if constructor is None else f"{c.name}{self.signature(constructor[1])}\n\n{told(c.doc)}"
        lines = []
        seen = ""
        if constructor:
            parameters, rows = constructor
            function = next((p.name for p in parameters if p.type == "Loss"), None)
            make = "visible(std::make_shared<{}>({}), {})" if function else "std::make_shared<{}>({})"
            body = self.lambda_source(parameters, rows, "nn", lambda args: [
                f"  return {make.format(kind, args, function)};"], c)
            # What an object refers to lives as long as it.
            keeps = "".join(f", py::keep_alive<1, {i + 2}>()" for i, p in enumerate(parameters) if p.type in OBJECTS)
            seen = ", seen_by_collector()" if keeps else ""
            lines.append(f"    made.def(py::init({body}){self.arguments_source(rows)}{keeps});")
            if base == "Optimizer":
                lines.append(self.set_options_source(c, parameters, rows))
        for name in c.variables:
            lines.append(f'    made.def_property_readonly("{name}", &{kind}::{name});')
        lines += ["    extend(made);", "  }"]
        made = f"    py::class_<{kind}{bases}, std::shared_ptr<{kind}>> made(module, \"{c.name}\", {quoted(doc)}{seen});"
        return "\n".join(["  {", made, *(line for line in lines if line)])

    def set_options_source(self, c, parameters, rows):
        """Parameter groups: the same options as the constructor has, for some of its parameters."""
        options = next((p for p in parameters if self.struct(p.type, c)), None)
        if options is None:
            return ""
        taken = [parameters[0], options, headers.Parameter("rate_factor", "double", "1"), headers.Parameter("site", "Site")]
        more = [rows[0], *(r for r in rows if r[3] is options), ("rate_factor", "double", "1", taken[2])]
        body = self.lambda_source(taken, more, "nn", lambda args: [f"  self.set_options({args});"], c,
                                  [f"nn::{c.name}& self"])
        doc = "Trains some of its parameters otherwise: with these options, and with a rate that is rate_factor " \
              "times learning_rate. Before the first step."
        return f'    made.def("set_options", {body}{self.arguments_source(more)}, {quoted(doc)});'

    def base_of(self, c):
        if c.base.startswith(("OptionsOptimizer", "UpdateOptimizer")):
            return "Optimizer"
        if c.base in self.read.classes:
            above = self.read.classes[c.base]
            is_optimizer = self.base_of(above) == "Optimizer"  # AdamW is no Adam to users
            return "Optimizer" if is_optimizer else c.base
        return ""

    def struct_source(self, s, space):
        fields = "".join(f'\n        .def_readonly("{f.name}", &{space}::{s.name}::{f.name})' for f in s.fields)
        names = ", ".join(f'"{f.name}"' for f in s.fields)
        return (f'  {{\n    py::class_<{space}::{s.name}> made(module, "{s.name}");\n    made{fields}\n'
                f"        .def(\"__repr__\", [](const py::object& self) {{ return told(self, {{{names}}}); }});\n"
                f"    extend(made);\n  }}")

    def function_source(self, f, rows):
        space = f.space.split("::")[0]

        def make(arguments):
            call = f"{f.space}::{f.name}({arguments})"
            if f.result == "Lambda":
                return [f"  return std::make_shared<nn::Lambda>({call});"]
            if f.result in ("Initializer", "Schedule"):
                return [f"  return Python{f.result}{{{call}}};"]
            if f.result == "Metric":
                return [f"  return {call};"]
            return ["  const WithoutLock unlocked;", f"  return {call};"]

        body = self.lambda_source(f.parameters, rows, space, make)
        doc = f"{f.name}{self.signature(rows)}\n\n{told(f.doc)}"
        return f'  module.def("{f.name}", {body}{self.arguments_source(rows)}, {quoted(doc)});'

    def bound_functions(self, space):
        for f in self.read.functions:
            if f.space != space or (f.name in FUNCTIONS_BY_HAND and "::" not in space):
                continue
            rows = self.rows(f.parameters)
            if rows is not None and (f.result in RESULTS or f.result in self.read.structs):
                yield f, rows

    def bound_classes(self):
        return [c for c in self.in_order() if c.name not in CLASSES_BY_HAND]

    def in_order(self):
        """Each after its base."""
        done, order = set(), []

        def add(c):
            if c.name not in done:
                done.add(c.name)
                if c.base in self.read.classes:
                    add(self.read.classes[c.base])
                order.append(c)

        for c in self.read.classes.values():
            add(c)
        return order

    def bound_structs(self, folder):
        return [s for name, s in self.read.structs.items()
                if not name.endswith("Options") and name not in STRUCTS_BY_HAND
                and self.read.header_of.get(name, "").startswith(f"tenure/{folder}/")]

    def unit(self, parts):
        """Of {function: statements}"""
        functions = [line for name, lines in parts.items()
                     for line in (f"void {name}(Module& module) {{", *lines, "}", "")]
        return "\n".join([
            "// Made by python/tools/nn.py of the headers in tenure/nn/ and tenure/data/.",
            '#include "functions.h"', '#include "python/src/nn/classes.h"', "",
            "namespace tenure::python {", "", *functions, "}  // namespace tenure::python", ""])

    def sources(self):
        """{file: text}"""
        classes = self.bound_classes()
        half = len(classes) // 2
        functions = {space: [self.function_source(f, rows) for f, rows in self.bound_functions(space)]
                     for space in ("nn", "nn::init", "nn::schedule", "data")}
        # Those that give layers, which Python wraps: tenure/nn/_copies.py.
        layers = ", ".join(f'"{f.name}"' for f, _ in self.bound_functions("nn") if f.result == "Lambda")
        functions["nn"].append(f'  module.attr("_layer_functions") = py::make_tuple({layers});')
        structs = {folder: [self.struct_source(s, folder) for s in self.bound_structs(folder)] for folder in ("nn", "data")}
        return {
            "nn_classes_0.cpp": self.unit({"add_classes_0": [self.class_source(c) for c in classes[:half]]}),
            "nn_classes_1.cpp": self.unit({"add_classes_1": [self.class_source(c) for c in classes[half:]]}),
            "nn_functions.cpp": self.unit({
                "add_nn_functions": functions["nn"], "add_initializers": functions["nn::init"],
                "add_schedules": functions["nn::schedule"], "add_nn_structs": structs["nn"],
                "add_data_functions": [*structs["data"], *functions["data"]]}),
        }

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


IMPORTS = """# Made by python/tools/nn.py of the headers in tenure/nn/ and tenure/data/.
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


# Options whose name an argument has already: of a norm, `channels` is how many there are.
RENAMED = {"channels": "layout"}


def told(doc):
    """A sentence of C++'s in Python's words."""
    doc = re.sub(r"\w+Options::(\w+)", r"`\1`", doc.replace("Throws", "Raises"))
    return re.sub(r" In \w+\.cpp\.", "", doc)


def cpp_literal(text):
    if text == "None":
        return "py::none()"
    if text in ("True", "False"):
        return text.lower()
    return f'"{text[1:-1]}"' if text.startswith("'") else text  # numbers are the same


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
