"""Which classes and functions of tenure/nn/ and tenure/data/, as tools/classes.py reads them, Python has:
layers, optimizers, callbacks, the trainer, results with names, and functions; and how they are called: what
options structs have are keywords. tools/nn_sources.py makes the bindings of it, tools/nn_stubs.py the types.
"""

import re

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

# Options whose name an argument has already: of a norm, `channels` is how many there are.
RENAMED = {"channels": "layout"}


class Selection:
    def __init__(self, read, ops):
        self.read, self.ops = read, ops  # of classes.py, of headers.py

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

    def base_of(self, c):
        if c.base.startswith(("OptionsOptimizer", "UpdateOptimizer")):
            return "Optimizer"
        if c.base in self.read.classes:
            above = self.read.classes[c.base]
            is_optimizer = self.base_of(above) == "Optimizer"  # AdamW is no Adam to users
            return "Optimizer" if is_optimizer else c.base
        return ""

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
