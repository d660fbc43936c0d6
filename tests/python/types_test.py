"""Checkers of types know the package: mypy accepts what runs, and refuses what does not."""

import ast
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tenure as tn

GOOD = """
import tenure as tn

x: tn.Tensor = tn.tensor([[1.0, 2.0]])
y: tn.Tensor = tn.softmax(x @ x.T + 1, axis=-1)
z: tn.Tensor = y.sum(0, keepdims=True)
values, indices = tn.topk(x, 1)
image = tn.conv2d(tn.ones((1, 3, 3, 1)), tn.ones((2, 2, 1, 1)), stride=2, padding="same")
rows: tn.Tensor = x.reshape(2, 1).astype("int64") + tn.zeros(2, 1, dtype="int64")
total: tn.Tensor = tn.einsum("ij,kj->ik", x, x) + tn.Variable(x).sum()
n: int = tn.memory().bytes
v = tn.Variable([1.0, 2.0])
w: tn.Tensor = (1 - v) / 2 + 2**v - (-v) @ v.T + v[0] + v.size + abs(v) // 1 + v % 2 + float(v[0]) + len(v.tolist())
bits: tn.Tensor = (1 << tn.tensor([1, 2]) >> 1 | 4) & 7 ^ 1
is_there: bool = 1.0 in x
v += 1
x += 1
shape: tuple[int, ...] = x.shape
model = tn.nn.Sequential(tn.nn.Dense(2, 3, kernel_initializer="he_normal"), tn.nn.Relu(), tn.nn.Dense(3, 1))
optimizer = tn.nn.AdamW(model, 1e-3, beta1=0.8)
optimizer.set_options(model.parameters(), weight_decay=0.1, rate_factor=0.5)
trainer = tn.nn.Trainer(model, tn.mse_loss, optimizer, metrics=[tn.nn.accuracy()], budget="1 MiB")
batches: tn.data.Dataset = tn.data.from_tensors([x, tn.ones((1, 1))]).map(lambda e: [e[0] * 2, e[1]]).batch(1)
history: tn.nn.History = tn.nn.fit(trainer, batches, progress="none", schedule=tn.nn.schedule.cosine(1e-3, 10),
                                   callbacks=[tn.nn.EarlyStopping(score="loss", patience=2)])
loss: float = history.epochs[0].training.loss
lstm = tn.nn.Lstm(2, 3, bidirectional=True).run(tn.ones((1, 4, 2)))
try:
    x @ tn.ones((5, 5))
except tn.ShapeError as error:
    text: str = str(error)
"""
BAD = [
    "tn.softmax(tn.ones(2), axis='last')",
    "tn.softmax()",
    "tn.conv2d(tn.ones(2), tn.ones(2), strides=2)",
    "tn.mse_loss(tn.ones(2), tn.ones(2), reduction='most')",
    "tn.no_such_op(1)",
    "tn.zeros(2, 'a', 3)",
    "x: int = tn.ones(4).reshape(2, 2)",
    "tn.ones(2).no_such_method()",
    "s: str = tn.ones(2).size",
    "tn.nn.Dense(2)",
    "tn.nn.Dense(2, 3, biass=True)",
    "tn.nn.Adam(3)",
    "tn.nn.Conv2d(1, 2, 3, channels='middle')",
    "tn.data.digits('ten', 1)",
]


PACKAGE = Path(tn.__file__).resolve().parent


def stub_of(module):
    """The file of a module's types, by the name that imports it."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path / "__init__.pyi" if (path / "__init__.pyi").exists() else path.with_suffix(".pyi")


def declared(module):
    """{name: what is declared in it}, with what the stub imports by *."""
    names = {}
    for node in ast.parse(stub_of(module).read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    names.update(declared(node.module))
                elif alias.asname == alias.name:  # goes on to who imports the stub
                    names[alias.name] = node
        elif isinstance(node, ast.Assign):
            names.update({target.id: node for target in node.targets})
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names[node.name] = node
    return names


def members(name, names):
    """Those of a class and of what it derives from."""
    node = names[name]
    found = {target.id for n in node.body if isinstance(n, ast.AnnAssign) for target in [n.target]}
    found |= {n.name for n in node.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    found |= {target.id for n in node.body if isinstance(n, ast.Assign) for target in n.targets}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in names:
            found |= members(base.id, names)
    return found


class Stubs(unittest.TestCase):
    def test_every_public_name_and_attribute_is_declared(self):
        modules = {"tenure._tenure": tn._tenure, "tenure._tenure._nn": tn._tenure._nn,
                   "tenure._tenure._nn.init": tn.nn.init, "tenure._tenure._nn.schedule": tn.nn.schedule,
                   "tenure._tenure._data": tn._tenure._data}
        missing, seen = [], 0
        for module, made in modules.items():
            names = {**declared("tenure._tenure"), **declared(module)}
            own = declared(module)
            for name, value in vars(made).items():
                if name.startswith("_"):
                    continue
                seen += 1
                if name not in own:
                    missing.append(f"{module}.{name}")
                elif isinstance(value, type) and isinstance(names[name], ast.ClassDef):
                    has = members(name, names)
                    missing += [f"{name}.{attribute}" for attribute in vars(value)
                                if not attribute.startswith("_") and attribute not in has
                                and hasattr(value, attribute)]  # names of other frameworks are none
        self.assertEqual(missing, [])
        self.assertGreater(seen, 400)

    def test_every_operator_is_declared(self):
        """What a + b and the like are for tensors and variables; __delitem__ is there to refuse."""
        names = declared("tenure._tenure")
        plain = {"__module__", "__delitem__", "__array_ufunc__", "__getattr__", "__copy__", "__deepcopy__"}
        for kind in (tn.Tensor, tn.Variable):
            has = members(kind.__name__, names)
            special = {name for name in vars(kind) if name.startswith("__") and name not in vars(object)} - plain
            in_place = {name for name in special if name.startswith("__i") and f"__{name[3:]}" in special}
            self.assertEqual(special - in_place - has, set())

    def test_the_package_has_no_other_names(self):
        """What `import tenure` gives is the extension's, or a module's of the package, whose source tells."""
        known = {*declared("tenure._tenure"), *vars(tn._tenure)}
        strange = [name for name, value in vars(tn).items() if not name.startswith("_") and name not in known
                   and not str(getattr(value, "__module__", "tenure")).startswith("tenure")]
        self.assertEqual(strange, [])


@unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
class Types(unittest.TestCase):
    def check(self, folder, name, text):
        path = os.path.join(folder, name)
        Path(path).write_text(text)
        packages = str(Path(tn.__file__).resolve().parents[1])
        return subprocess.run(["/usr/bin/mypy", "--cache-dir", os.path.join(folder, "cache"), path],
                              capture_output=True, text=True, env=dict(os.environ, MYPYPATH=packages), timeout=300)

    def test_what_runs_is_accepted_and_what_does_not_is_refused(self):
        exec(compile(GOOD, "good", "exec"), {})
        with tempfile.TemporaryDirectory() as folder:
            done = self.check(folder, "good.py", GOOD)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            done = self.check(folder, "bad.py", "import tenure as tn\n" + "\n".join(BAD) + "\n")
            lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
            self.assertEqual(lines, set(range(2, 2 + len(BAD))), done.stdout)


if __name__ == "__main__":
    unittest.main()
