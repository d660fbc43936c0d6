"""Makes the tables of src/ops/function.h, and the type stubs, of what tools/headers.py reads; and, by
tools/nn_sources.py and nn_stubs.py, the classes of tenure/nn/.

usage: bindings.py ROOT OUTPUT_FOLDER

Writes functions_0.cpp ... functions_N.cpp, nn_*.cpp and the stubs to the folder.
"""

import keyword
import re
import sys
from pathlib import Path

import classes
import headers
import nn_sources
import nn_stubs
import stubs

# Written by hand: see src/arrays/from_object.cpp, src/tensor/indexing.cpp, src/modes/function.cpp.
BY_HAND = {"tensor", "index", "index_update", "index_add", "with_sizes"}

SOURCES = 4

# What C++ types there are; each has a From<> in src/ops/convert.h, or is built in Arguments.
TYPES = {
    "Operand", "OperandList", "Tensor", "std::vector<Tensor>", "LstmState", "Shape", "Dims", "Axes",
    "AxisList", "KeepDims", "SpatialSizes", "Padding", "Scalar", "DType", "Device", "Generator*", "int",
    "std::int64_t", "double", "bool", "std::string", "std::vector<std::int64_t>",
    "std::vector<std::pair<std::int64_t, std::int64_t>>",
}


def is_known(type_name, read):
    inner = re.sub(r"^std::optional<(.*)>$", r"\1", type_name)
    return inner in TYPES or inner in read.enums


def expand(overload, read):
    """The parameters as Python has them: options become keywords, the site goes. None: one is of a
    type that nobody can convert."""
    parameters = []
    for parameter in overload.parameters:
        if parameter.type == "Site":
            continue
        if parameter.type.endswith("Options") and parameter.type in read.structs:
            set_here = dict(re.findall(r"\.(\w+) = ([^,}]+)", parameter.default or ""))
            for field in read.structs[parameter.type].fields:
                default = set_here.get(field.name, field.default)
                parameters.append(headers.Parameter(field.name, field.type, default, True))
        else:
            parameters.append(parameter)
    if not all(is_known(p.type, read) for p in parameters) or len(parameters) > 16:
        return None
    return parameters


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def python_default(default):
    """A default as Python writes it."""
    if default in ("{}", "std::nullopt", "nullptr"):
        return "None"
    if default in ("true", "false"):
        return default.capitalize()
    if match := re.match(r"DType::(\w+)$", default):
        return "'bool'" if match[1] == "boolean" else f"'{match[1]}'"
    if match := re.match(r"\w+::(\w+)$", default):
        return f"'{match[1]}'"
    return default


def signature(function, read):
    """Of all overloads together: what only some of them take may be left out."""
    overloads = [expand(o, read) for o in function.overloads]
    longest = max(overloads, key=len)
    parts, has_star = [], False
    for parameter in longest:
        if parameter.keyword_only and not has_star:
            parts.append("*")
            has_star = True
        in_all = all(any(p.name == parameter.name for p in o) for o in overloads)
        name = python_name(parameter.name)
        if parameter.default is not None:
            parts.append(f"{name}={python_default(parameter.default)}")
        elif in_all or len({len(o) for o in overloads}) == 1:
            parts.append(name)
        else:
            parts.append(f"{name}=None")
    # What may be left out stands before what may not only where the shorter overload begins later.
    seen = False
    for i, part in enumerate(parts):
        seen = seen or "=" in part
        if seen and "=" not in part and part != "*":
            parts[i] = part + "=None"
    return "(" + ", ".join(parts) + ")"


def text(words):
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


def get(i, parameter):
    if parameter.default is None:
        return f"given.get<{parameter.type}>({i})"
    if parameter.type == "Operand":
        return f"given.get<Operand>({i}, Operand({parameter.default}, given.site()))"
    return f"given.get<{parameter.type}>({i}, {parameter.default})"


def overload_source(function, number, overload, read):
    """A function that takes the arguments apart and calls the library."""
    lines = [f"PyObject* {function.name}_{number}(Arguments& given) {{"]
    passed, i = [], 0
    for parameter in overload.parameters:
        if parameter.type == "Site":
            passed.append("given.site()")
        elif parameter.type.endswith("Options") and parameter.type in read.structs:
            lines.append(f"  {parameter.type} {parameter.name}{parameter.default or '{}'};")
            for field in read.structs[parameter.type].fields:
                lines.append(f"  given.into({i}, {parameter.name}.{field.name});")
                i += 1
            passed.append(parameter.name)
        else:
            lines.append(f"  const auto {parameter.name} = {get(i, parameter)};")
            passed.append(parameter.name)
            i += 1
    call = f"tenure::{function.name}({', '.join(passed)})"
    lines += [f"  return give(given.run([&] {{ return {call}; }}));", "}"]
    return "\n".join(lines)


def parameter_rows(function, number, overload, read):
    rows = []
    for p in expand(overload, read):
        fits = "Tensor" if p.type == "Operand" else "std::vector<Tensor>" if p.type == "OperandList" else p.type
        operand = p.type == "Operand"
        fits = "fits_operand" if operand and len(function.overloads) > 1 else f"From<{fits}>::fits"
        rows.append(f"    {{{text(python_name(p.name))}, {str(p.default is None).lower()}, "
                    f"{str(p.keyword_only).lower()}, {fits}}},")
    name = f"{function.name}_{number}_parameters"
    return f"constexpr Parameter {name}[] = {{\n" + "\n".join(rows) + "\n};"


def give_source(struct):
    names = ", ".join(text(f.name) for f in struct.fields)
    parts = ", ".join(f"give(std::move(result.{f.name}))" for f in struct.fields)
    return (f"inline PyObject* give({struct.name} result) {{\n"
            f"  return give_named({text(struct.name)}, {{{names}}}, {{{parts}}});\n}}")


def is_of_tensors(struct, read):
    return struct.fields and all(
        f.type == "Tensor" or (f.type in read.structs and is_of_tensors(read.structs[f.type], read))
        for f in struct.fields)


def common_source(read):
    names = [f"template <>\nstruct NamesOf<{name}> {{\n"
             f"  static constexpr std::string_view names[] = {{{', '.join(text(v) for v in values)}}};\n}};"
             for name, values in read.enums.items()]
    gives = [give_source(s) for s in read.structs.values() if is_of_tensors(s, read)]
    return "\n".join([
        "#pragma once", "// Made by python/tools/bindings.py of the headers in tenure/ops/.",
        '#include "python/src/memory/donation.h"', '#include "python/src/ops/function.h"',
        '#include "tenure/tenure.h"', "",
        "namespace tenure::python {", *names, *gives,
        "inline bool fits_operand(PyObject* object) noexcept {",
        "  return From<Tensor>::fits(object) || is_number(object) || is_donation(object);", "}",
        "}  // namespace tenure::python", ""])


def bound_functions(read):
    """Those that can be bound: all overloads that nobody can convert are left out."""
    for function in read.functions.values():
        function.overloads = [o for o in function.overloads if expand(o, read) is not None]
        if function.overloads and function.name not in BY_HAND:
            yield function


def source(functions, number, read):
    parts = ['#include "functions.h"', "", "namespace tenure::python {", "namespace {", ""]
    rows = []
    for f in functions:
        for i, overload in enumerate(f.overloads):
            parts += [overload_source(f, i, overload, read), parameter_rows(f, i, overload, read)]
        overloads = ", ".join(f"{{{f.name}_{i}_parameters, {f.name}_{i}}}" for i in range(len(f.overloads)))
        parts.append(f"constexpr Overload {f.name}_overloads[] = {{{overloads}}};\n")
        rows.append(f"    {{{text(f.name)}, {text(signature(f, read))}, {text(f.doc)}, {text(f.group)}, "
                    f"{f.name}_overloads, {str(stubs.is_method(f)).lower()}}},")
    parts += ["constexpr Function functions[] = {", *rows, "};", "", "}  // namespace", "",
              f"std::span<const Function> functions_{number}() {{ return functions; }}", "",
              "}  // namespace tenure::python", ""]
    return "\n".join(parts)


def main(root, folder):
    read = headers.read(root)
    functions = list(bound_functions(read))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "functions.h").write_text(common_source(read))
    for i in range(SOURCES):
        part = functions[i * len(functions) // SOURCES:(i + 1) * len(functions) // SOURCES]
        (folder / f"functions_{i}.cpp").write_text(source(part, i, read))
    declared = "\n".join(f"std::span<const Function> functions_{i}();" for i in range(SOURCES))
    calls = ", ".join(f"functions_{i}()" for i in range(SOURCES))
    (folder / "functions_all.cpp").write_text(
        '#include "functions.h"\n\nnamespace tenure::python {\n\n' + declared +
        "\n\nstd::vector<std::span<const Function>> all_functions() { return {" + calls +
        "}; }\n\n}  // namespace tenure::python\n")
    (folder / "_functions.pyi").write_text(stubs.source(
        functions, read, lambda o: expand(o, read), lambda f: signature(f, read)))
    found = classes.read(root)
    made = nn_sources.Sources(found, read).sources() | nn_stubs.Stubs(found, read).stubs()
    for name, words in made.items():
        (folder / name).write_text(words)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
