"""What a call with wrong arguments is told where pybind11 binds it: a sentence that names the argument.

pybind11 answers with the signatures of the function and with all that it was given, over many lines; `sentence()`
finds out which argument does not fit. What it cannot tell apart, it says by types.
"""

import re

from ._tenure import DType, asarray

PLAIN = {"str": "a str", "int": "an int", "float": "a number", "bool": "a bool", "Tensor": "a Tensor", "dict": "a dict",
         "DType": "an element type", "tuple[int, ...]": "a shape", "list": "a list", "object": "an object"}
SEVERAL = {"list", "sequence", "iterable", "tuple"}
FUNCTIONS = {"callable", "function"}


def parts(kind):
    """Of 'Optional[List[int]]' ('optional', 'List[int]'); the second is '' where there are no brackets."""
    if kind in PLAIN:
        return kind, ""
    if kind.endswith(" | None"):
        return "optional", kind[:-7]
    head, _, inner = kind.partition("[")
    head = head.rpartition(".")[2].rpartition(":")[2]  # C++'s name, of a class that came later
    head = {"SupportsInt": "int", "SupportsIndex": "int", "SupportsFloat": "float"}.get(head, head)
    lower = head.lower()
    return (lower if lower in SEVERAL | FUNCTIONS | {"optional", "dict"} else head), inner[:-1]


def words(kind):
    """'int' is 'an int', 'Optional[tenure._tenure.Graph]' is 'a Graph or None'."""
    head, inner = parts(kind)
    if head == "optional":
        return f"{words(inner)} or None"
    if head in FUNCTIONS:
        return "a function"
    if head in SEVERAL:
        return f"a list, each {words(inner)}" if inner and "," not in inner else "a list"
    name = head.removesuffix("Base").lstrip("_")
    return PLAIN.get(head) or ("an " if name[:1] in "AEIO" else "a ") + name


def refusal(kind, value):
    """Why the value is none of this kind; '' if it is one, or nobody knows."""
    head, inner = parts(kind)
    told = f"must be {words(kind)}, not {'None' if value is None else type(value).__name__}"
    if head == "optional":
        return "" if value is None or not refusal(inner, value) else told
    if head == "Tensor":
        try:
            asarray(value)
            return told if value is None else ""
        except Exception as error:
            return f"is no tensor: {error}" if isinstance(value, (list, tuple)) else told
    if head in SEVERAL:
        if isinstance(value, (str, bytes, dict)) or not hasattr(type(value), "__iter__"):
            return told
        items = enumerate(value) if inner and "," not in inner and isinstance(value, (list, tuple)) else ()
        return next((f"has an item {i} that {why}" for i, item in items if (why := refusal(inner, item))), "")
    fits = {
        "str": lambda: isinstance(value, (str, bytes)),
        "int": lambda: hasattr(type(value), "__index__"),
        "float": lambda: hasattr(type(value), "__float__") or hasattr(type(value), "__index__"),
        "bool": lambda: isinstance(value, bool),
        "dict": lambda: isinstance(value, dict),
        "DType": lambda: isinstance(value, (DType, str)),
        "tuple[int, ...]": lambda: isinstance(value, (int, list, tuple)),
        "object": lambda: True,
        **dict.fromkeys(FUNCTIONS, lambda: callable(value)),
    }.get(head, lambda: any(t.__name__ == head for t in type(value).__mro__))
    return "" if fits() else told


def split(text):
    """At the commas that are in no brackets and no quotes."""
    found = re.findall(r"(?:[^,\[\](){}'\"]|'[^']*'|\"[^\"]*\"|[\[({](?:[^\[\](){}]|[\[({][^\[\](){}]*[\])}])*[\])}])+", text)
    return [part.strip() for part in found]


class Signature:
    """Of 'self: tenure._tenure.Graph, name: str, *, reuse: str = 'never''."""

    def __init__(self, text):
        self.kinds, self.required, self.places, self.takes_all = {}, [], None, False
        for part in split(text):
            if part == "*":
                self.places = len(self.kinds)
            elif part.startswith("*"):
                self.takes_all = True
            elif part != "/":
                name, _, rest = part.partition(": ")
                kind, _, default = rest.partition(" = ")
                self.kinds[name] = kind
                if not default:
                    self.required.append(name)
        self.places = len(self.kinds) if self.places is None else self.places

    def misfit(self, arguments, keywords):
        """Why the call is none of this: (whether number and names fit, the words)."""
        names = list(self.kinds)
        if len(arguments) > self.places and not self.takes_all:
            taken = self.places - names[:1].count("self")
            return False, f"takes at most {taken} positional argument{'s'[:taken != 1]}" + self.named()
        given = dict(zip(names, arguments))
        for name, value in keywords.items():
            if name in given:
                return False, f"'{name}' is given twice"
            if name not in self.kinds and not self.takes_all:
                return False, f"no argument '{name}'" + self.named()
            given[name] = value
        for name in self.required:
            if name not in given:
                return False, f"'{name}' is missing"
        for name, value in given.items():
            if why := refusal(self.kinds.get(name, "object"), value):
                return True, f"{name} {why}"
        for name, value in given.items():
            if parts(self.kinds.get(name, "object"))[0] == "int":
                return True, f"{name} is {value!r}, which is out of its range"[:200]
        return True, "cannot be called with " + ", ".join(type(v).__name__ for v in given.values())

    def named(self):
        names = [name for name in self.kinds if name != "self" and not name.startswith("arg")]
        return f"; it has {', '.join(names)}" if names else ""


def sentence(text, arguments, keywords):
    """What pybind11's text, for a call with these arguments, comes to."""
    name = text.partition("(")[0]
    found = re.findall(r"^    \d+\. ([\w.]*)\((.*)\)(?: -> .*)?$", text, re.M)
    if name == "__init__" and found:
        name = found[0][0].rpartition(".")[2]
        arguments = arguments[1:]
    name = name if name.startswith("__") else name.lstrip("_")
    answers = [Signature(inner).misfit(arguments, keywords) for _, inner in found]
    near = [words for fits, words in answers if fits] or [words for _, words in answers]
    told = ", or ".join(dict.fromkeys(near)) or "wrong arguments"
    if not name and len(arguments) == 2:  # an attribute is set
        why = told.replace("arg1", "the value", 1)
        return why if why != told else f"the value cannot be {arguments[1]!r}"[:200]
    return f"{name}(): {told}"
