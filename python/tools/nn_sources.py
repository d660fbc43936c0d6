"""The bindings of what tools/nn.py selects. src/nn/classes.h has what the made sources call."""

import re

import headers
from nn import OBJECTS, Selection


class Sources(Selection):
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
            lines.append(f'    made.def_property_readonly("{name}", &{kind}::{name}, "Its parameter of this name: a Variable.");')
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

    def struct_source(self, s, space):
        fields = "".join(f'\n        .def_readonly("{f.name}", &{space}::{s.name}::{f.name})' for f in s.fields)
        names = ", ".join(f'"{f.name}"' for f in s.fields)
        return (f'  {{\n    py::class_<{space}::{s.name}> made(module, "{s.name}", {quoted(told(s.doc))});\n    made{fields}\n'
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

    def unit(self, parts):
        """Of {function: statements}"""
        functions = [line for name, lines in parts.items()
                     for line in (f"void {name}(Module& module) {{", *lines, "}", "")]
        return "\n".join([
            "// Made by python/tools/nn_sources.py of the headers in tenure/nn/ and tenure/data/.",
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


def told(doc):
    """A sentence of C++'s in Python's words."""
    doc = re.sub(r"\w+Options::(\w+)", r"`\1`", doc.replace("Throws", "Raises"))
    doc = re.sub(r"\b([A-Z]\w+)::(\w+)", r"\1.\2", doc)
    return re.sub(r" In \w+\.cpp\.", "", doc)


def cpp_literal(text):
    if text == "None":
        return "py::none()"
    if text in ("True", "False"):
        return text.lower()
    return f'"{text[1:-1]}"' if text.startswith("'") else text  # numbers are the same


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
