"""The types of the functions that tools/bindings.py makes, for checkers and editors."""

import re

TYPES = {
    "Operand": "TensorLike", "Tensor": "TensorLike", "OperandList": "Sequence[TensorLike]",
    "std::vector<Tensor>": "Sequence[TensorLike]", "LstmState": "tuple[TensorLike, TensorLike]",
    "Shape": "ShapeLike", "Dims": "ShapeLike", "Axes": "ShapeLike", "AxisList": "ShapeLike | None",
    "KeepDims": "bool", "SpatialSizes": "ShapeLike", "Padding": "ShapeLike | Literal['same']",
    "Scalar": "float", "DType": "DTypeLike", "Device": "str", "Generator*": "Generator | None",
    "int": "int", "std::int64_t": "int", "double": "float", "bool": "bool", "std::string": "str",
    "std::vector<std::int64_t>": "Sequence[int]",
    "std::vector<std::pair<std::int64_t, std::int64_t>>": "Sequence[tuple[int, int] | int]",
}


def python_type(type_name, read):
    if match := re.match(r"^std::optional<(.*)>$", type_name):
        return f"{python_type(match[1], read)} | None"
    if type_name in read.enums:
        return "Literal[" + ", ".join(f"'{v}'" for v in read.enums[type_name]) + "]"
    return TYPES[type_name]


def result_type(result):
    if result == "Tensor":
        return "Tensor"
    if match := re.match(r"std::array<Tensor, (\d)>", result):
        return "tuple[" + ", ".join(["Tensor"] * int(match[1])) + "]"
    return "tuple[Tensor, ...]" if result == "std::vector<Tensor>" else result


def parameter(p, read):
    optional = "" if p.default is None else " = ..."
    kind = python_type(p.type, read)
    if p.default in ("{}", "std::nullopt", "nullptr") and "None" not in kind:
        kind += " | None"
    return f"{p.name}: {kind}{optional}"


def parameters(expanded, read):
    parts, has_star = [], False
    for p in expanded:
        if p.keyword_only and not has_star:
            parts.append("*")
            has_star = True
        parts.append(parameter(p, read))
    return ", ".join(parts)


LISTS = {"Shape": "int", "Dims": "int", "Axes": "int", "AxisList": "int", "std::vector<std::int64_t>": "int",
         "OperandList": "TensorLike", "std::vector<Tensor>": "TensorLike"}


def gathered(expanded, read):
    """The parameters with what a list has as arguments of their own, or None; see Arguments::gather()."""
    positional = [p for p in expanded if not p.keyword_only]
    if len(positional) > 1 and positional[0].type in LISTS and positional[1].type == "DType":
        at = 0
    elif positional and positional[-1].type in LISTS:
        at = len(positional) - 1
    else:
        return None
    before = [parameter(p, read) for p in expanded[:at]]
    after = [parameter(p, read) for p in expanded[at + 1:]]
    return ", ".join([*before, f"*{expanded[at].name}: {LISTS[expanded[at].type]}", *after])


def declarations(function, expanded, read, indent="", is_method=False):
    forms = []
    for overload in function.overloads:
        given = expanded(overload)[1 if is_method else 0:]
        forms.append((parameters(given, read), overload.result))
    if len(forms) == 1 and (words := gathered(given, read)):
        forms.append((words, forms[0][1]))
    lines = []
    for words, result in forms:
        if len(forms) > 1:
            lines.append(f"{indent}@overload")
        words = ("self, " + words if words else "self") if is_method else words
        lines.append(f"{indent}def {function.name}({words}) -> {result_type(result)}: ...")
    return lines


def is_method(function):
    first = function.overloads[0].parameters[:1]
    return bool(first) and first[0].type in ("Operand", "Tensor") and first[0].default is None


def named_tuple(struct):
    fields = "\n".join(f"    {f.name}: {f.type}" for f in struct.fields)
    return f"class {struct.name}(NamedTuple):\n{fields}\n"


def source(functions, read, expanded, signature):
    """The functions, the tuples that they give, and the methods that tensors have of them."""
    results = {o.result for f in functions for o in f.overloads}
    structs = [s for s in read.structs.values() if all(f.type in ("Tensor", "LstmState") for f in s.fields)
               and s.fields and (s.name in results or s.name == "LstmState")]
    lines = [
        "# Made by python/tools/stubs.py of the headers in tenure/ops/.",
        "from typing import Literal, NamedTuple, Sequence, overload",
        "from tenure._tenure import DType, Generator, Tensor",
        "from tenure._types import DTypeLike, ShapeLike, TensorLike", "",
        *(named_tuple(s) for s in structs),
    ]
    for function in functions:
        lines += declarations(function, expanded, read)
    lines += ["", "class TensorMethods:"]
    for function in functions:
        if is_method(function):
            lines += declarations(function, expanded, read, "    ", True)
    return "\n".join(lines) + "\n"
