"""Reads the public functions of tenure/ops/ from the headers that tenure/tenure.h includes: their
names, parameters, defaults, overloads and sentences, and the structs and enums that they take and
give. The headers are the one place that says what an op takes; tools/bindings.py and tools/stubs.py
make the Python functions and their types of it.
"""

from __future__ import annotations  # Python 3.9

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Parameter:
    name: str
    type: str  # as C++ writes it, without const and &
    default: str | None = None  # as C++ writes it
    keyword_only: bool = False


@dataclass
class Overload:
    result: str
    parameters: list


@dataclass
class Function:
    name: str
    doc: str
    group: str = ""  # the doc of the declarations above it, with no empty line between
    overloads: list = field(default_factory=list)


@dataclass
class Struct:
    name: str
    fields: list
    doc: str = ""


@dataclass
class Headers:
    functions: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)
    enums: dict = field(default_factory=dict)


DECLARATION = re.compile(r"^([\w:<>, ]+?) (\w+)\((.*)\)( = delete)?$", re.DOTALL)
ENUM = re.compile(r"enum class (\w+)[^{]*\{([^}]*)\}")


def split_list(text, separator=","):
    """`a<b, c>, d{1, 2}` as ['a<b, c>', 'd{1, 2}']."""
    parts, depth, last = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "<({[") - (char in ">)}]")
        if char == separator and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    return [part.strip() for part in (*parts, text[last:]) if part.strip()]


def bare(type_name):
    return re.sub(r"^const\s+|&$", "", type_name.strip()).strip()


def parse_parameter(text):
    text, _, default = (part.strip() for part in (text + "=").partition("="))
    default = default[:-1].strip() if default.endswith("=") else default
    kind, _, name = text.rpartition(" ")
    while name[:1] in "*&":
        kind, name = kind + name[0], name[1:]
    return Parameter(name, bare(kind), default or None)


def parse_field(text):
    match = re.match(r"^([\w:<>, ]+?) (\w+)\s*(?:=\s*(.+)|\{(.*)\})?$", text, re.DOTALL)
    if not match:
        return None
    kind, name, value, braces = match.groups()
    return Parameter(name, kind, value if value is not None else "{}" if braces is not None else None)


def statements(text):
    """(doc, whether no empty line stands before it, statement, body) of each declaration, in order."""
    doc, statement, body, depth, is_next = [], "", None, 0, False
    for line in text.splitlines():
        stripped = line.strip()
        if depth == 0 and stripped.startswith("///"):
            doc.append(stripped[3:].strip())
            continue
        code = line.split("//")[0].rstrip()
        if depth == 0 and not code.strip():
            if not statement.strip():
                doc, is_next = [], False
            continue
        for char in code + "\n":
            if char == "{":
                depth += 1
                if depth == 1 and body is None and re.match(r"\s*(struct|class|enum)", statement):
                    body = ""
                    continue
            elif char == "}":
                depth -= 1
                if depth == 0 and body is not None:
                    continue
            if char == ";" and depth == 0:
                yield " ".join(doc), is_next, " ".join(statement.split()), body
                doc, statement, body, is_next = [], "", None, True
            elif body is not None and depth > 0:
                body += char
            else:
                statement += char


def users_part(text):
    """What stands in `namespace tenure { ... }  // namespace tenure`."""
    return "\n".join(re.findall(r"namespace tenure \{\n(.*?)\n\}  // namespace tenure", text, re.DOTALL))


def read_header(path, headers):
    text = path.read_text(encoding="utf-8")
    for name, values in ENUM.findall(text):
        headers.enums[name] = [value.strip() for value in values.split(",") if value.strip()]
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    group = ""
    for doc, is_next, statement, body in statements(users_part(text)):
        if body is not None:
            match = re.match(r"struct (\w+)$", statement.strip())
            fields = [parse_field(" ".join(part.split())) for part in body.split(";")] if match else []
            if match and "(" not in re.sub(r"\{[^}]*\}", "", body):
                headers.structs[match[1]] = Struct(match[1], [f for f in fields if f])
            continue
        match = DECLARATION.match(statement)
        if not match or match[4] or statement.startswith(("template", "using", "inline", "class")):
            continue
        result, name, parameters, _ = match.groups()
        if name.startswith("operator") or not is_result(result, headers):
            continue
        group = doc or (group if is_next else "")
        function = headers.functions.setdefault(name, Function(name, doc, group))
        function.overloads.append(Overload(result, [parse_parameter(p) for p in split_list(parameters)]))


def is_result(result, headers):
    return result in headers.structs or result == "Tensor" or re.match(
        r"std::(vector<Tensor>|array<Tensor, \d+>)$", result)


def read(root):
    """Everything public in tenure/ops/."""
    root = Path(root)
    umbrella = (root / "tenure/tenure.h").read_text(encoding="utf-8")
    headers = Headers()
    read_header(root / "tenure/ops/index/modes.h", headers)
    for include in re.findall(r'#include "(tenure/ops/\w+\.h)"', umbrella):
        read_header(root / include, headers)
    return headers
