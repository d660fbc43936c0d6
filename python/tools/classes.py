"""Reads the classes, structs and functions that tenure/nn/ and tenure/data/ have for users, from the
headers that tenure/tenure.h includes. tools/nn_sources.py makes Python's classes of them, and the tests
compare names with it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import headers

FOLDERS = ("nn", "data")


@dataclass
class Class:
    name: str
    doc: str
    base: str  # as C++ writes it; "" of none
    constructors: list = field(default_factory=list)  # lists of parameters, of those for users
    methods: list = field(default_factory=list)  # names, each once
    variables: list = field(default_factory=list)  # of `const Variable& name() const`
    structs: dict = field(default_factory=dict)  # those declared within


@dataclass
class Function:
    name: str
    doc: str
    space: str  # "nn", "data", "nn::init", ...
    result: str
    parameters: list = field(default_factory=list)


@dataclass
class Read:
    classes: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)  # name: Struct, also "Class::Struct"
    functions: list = field(default_factory=list)
    enums: dict = field(default_factory=dict)
    header_of: dict = field(default_factory=dict)  # of each name of a class, a struct or a function


def closing(text, at):
    """The place of the parenthesis that ends the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "({[") - (text[i] in ")}]")
        if depth == 0:
            return i
    raise ValueError("a parenthesis does not end: " + text[at:at + 40])


def without_comments(text):
    return re.sub(r"//.*$", "", text, flags=re.MULTILINE)


def without_bodies(text):
    """Functions that are defined in a class, as declarations."""
    out, i = "", 0
    while i < len(text):
        if text[i] == "{" and re.search(r"(\)|const|override|noexcept|\})\s*$", out):
            i = closing(text, i) + 1
            out += ";"
        else:
            out += text[i]
            i += 1
    return out


def parameters_at(text, at):
    inside = " ".join(text[at + 1:closing(text, at)].split())
    return [headers.parse_parameter(p) for p in headers.split_list(inside)]


def fields_of(body):
    """Of a struct: those that have a name and a type, not its functions."""
    parts = headers.split_list(without_bodies(without_comments(body)), ";")
    fields = [headers.parse_field(" ".join(part.split())) for part in parts
              if not part.startswith(("static", "friend", "using"))]
    return [f for f in fields if f]


def read_class(name, doc, base, body):
    made = Class(name, doc, base)
    public = re.split(r"^ (?:protected|private):$", body, flags=re.MULTILINE)[0].split(" public:\n", 1)[-1]
    public = without_comments(public)
    for struct in re.finditer(r"^  struct (\w+) \{$(.*?)^  \};$", public, re.MULTILINE | re.DOTALL):
        made.structs[struct[1]] = headers.Struct(struct[1], fields_of(struct[2]))
    public = re.sub(r"^  struct .*?^  \};$", "", public, flags=re.MULTILINE | re.DOTALL)
    public = re.sub(r"^  template <(.*?)>\n?(?=  \S| requires| explicit)", "", public, flags=re.MULTILINE)
    for match in re.finditer(rf"^  (?:explicit )?{name}\(", public, re.MULTILINE):
        parameters = parameters_at(public, match.end() - 1)
        if parameters[:1] != [headers.Parameter(f"{name}&", "const")]:  # not to copy it
            made.constructors.append(parameters)
    declared = without_bodies(public)
    made.variables = re.findall(r"^  const Variable& (\w+)\(\) const", declared, re.MULTILINE)
    for match in re.finditer(r"^  (?!friend|using|explicit)[\w:<>,&* ]+? [&*]?(\w+)\(", declared, re.MULTILINE):
        is_base = base.startswith(match[1]) or match[1] == name  # in a list of initializers
        if match[1] != "operator" and not is_base and not match[1].endswith("_") and match[1] not in made.methods:
            made.methods.append(match[1])
    return made


def spaces(text, folder):
    """(name, text) of `namespace tenure::nn` and of the namespaces within."""
    for part in re.findall(rf"^namespace tenure::{folder} \{{\n(.*?)\n\}}  // namespace tenure::{folder}$", text,
                           re.DOTALL | re.MULTILINE):
        for inner in re.findall(r"^namespace (\w+) \{\n(.*?)\n\}  // namespace \1$", part, re.DOTALL | re.MULTILINE):
            yield f"{folder}::{inner[0]}", inner[1]
        yield folder, re.sub(r"^namespace (\w+) \{\n.*?\n\}  // namespace \1$", "", part, flags=re.DOTALL | re.MULTILINE)


def read_header(path, folder, read, name_of_header):
    text = re.sub(r"^(?:#|inline ).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for enum in headers.ENUM.finditer(without_comments(text)):
        read.enums[enum[1]] = [value.strip() for value in enum[2].split(",") if value.strip()]
    for space, part in spaces(text, folder):
        for doc, _, statement, body in headers.statements(part):
            found = re.match(r"(class|struct) (\w+)(?: final)?(?: : public (.+?))?$", statement)
            if body is not None and found and found[1] == "class":
                # The lines as they stand: sections are told by their indent.
                body = re.search(rf"^class {found[2]}\b[^;]*?\{{\n(.*?)^\}};$", part, re.DOTALL | re.MULTILINE)[1]
                made = read_class(found[2], doc, found[3] or "", body)
                read.classes[made.name] = made
                for inner in made.structs.values():
                    read.structs[f"{made.name}::{inner.name}"] = inner
                read.header_of[made.name] = name_of_header
            elif body is not None and found:
                read.structs[found[2]] = headers.Struct(found[2], fields_of(body), doc)
                read.header_of[found[2]] = name_of_header
            elif body is None:
                call = re.match(r"([\w:<>, ]+?) (\w+)\(", statement)
                if call and not statement.startswith(("template", "using", "inline", "class", "friend")) and \
                        call[2] != "operator":
                    read.functions.append(Function(call[2], doc, space, call[1],
                                                   parameters_at(statement, call.end() - 1)))
                    read.header_of.setdefault(call[2], name_of_header)


def read(root):
    """Everything that tenure/tenure.h includes of tenure/nn/ and tenure/data/."""
    root = Path(root)
    umbrella = (root / "tenure/tenure.h").read_text(encoding="utf-8")
    found = Read()
    named = re.findall(r'#include "(tenure/(\w+)/\w+\.h)"', umbrella)
    # What those that are named are made of, and what users see through them.
    named += [("tenure/nn/optimizer.h", "nn"), ("tenure/nn/progress.h", "nn")]
    for include, folder in named:
        if folder in FOLDERS:
            read_header(root / include, folder, found, include)
    return found
