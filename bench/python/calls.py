"""What calls from Python take, beside NumPy and, where it is installed, PyTorch, in the same run.

usage: calls.py [--json FILE]

Each figure is the least of many short runs, in nanoseconds of a call unless it says otherwise.
"""

import argparse
import json
import subprocess
import sys
import timeit

import numpy as np

import tenure as tn

try:
    import torch
except ImportError:
    torch = None


def nanoseconds(f, number=20000, rounds=15):
    return min(timeit.repeat(f, number=number, repeat=rounds)) / number * 1e9


def loop_cost():
    """Of calling a lambda that does nothing."""
    return nanoseconds(lambda: None)


def import_milliseconds(module):
    """Beyond Python's own start."""

    def start(code):
        words = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
        return min(float(subprocess.check_output([sys.executable, "-c", words])) for _ in range(7))

    return 1000 * (start(f"import {module}") - start("pass"))


def small_calls():
    a, b = np.ones(16, "float32"), np.ones(16, "float32")
    x, y = tn.tensor(a), tn.tensor(b)
    rows = {
        "add(x, y) of 16 floats": {"tenure": lambda: tn.add(x, y), "numpy": lambda: np.add(a, b)},
        "x + y of 16 floats": {"tenure": lambda: x + y, "numpy": lambda: a + b},
        "x.sum()": {"tenure": lambda: x.sum(), "numpy": lambda: a.sum()},
        "x.shape": {"tenure": lambda: x.shape, "numpy": lambda: a.shape},
        "x[1:3]": {"tenure": lambda: x[1:3], "numpy": lambda: a[1:3]},
    }
    if torch is not None:
        s, t = torch.ones(16), torch.ones(16)
        rows["add(x, y) of 16 floats"]["torch"] = lambda: torch.add(s, t)
        rows["x + y of 16 floats"]["torch"] = lambda: s + t
        rows["x.sum()"]["torch"] = lambda: s.sum()
        rows["x.shape"]["torch"] = lambda: s.shape
        rows["x[1:3]"]["torch"] = lambda: s[1:3]
    empty = loop_cost()
    return {what: {who: nanoseconds(f) - empty for who, f in calls.items()} for what, calls in rows.items()}


def training_step():
    """Microseconds of a trainer's step of a small network."""
    tn.seed(0)
    net = tn.nn.Sequential(tn.nn.Dense(64, 128), tn.nn.Relu(), tn.nn.Dense(128, 10))
    trainer = tn.nn.Trainer(net, tn.cross_entropy, tn.nn.Sgd(net, 0.01))
    x, y = tn.normal((32, 64)), tn.randint(0, 10, 32)
    trainer.step(x, y)
    return nanoseconds(lambda: trainer.step(x, y), number=100, rounds=10) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    figures = small_calls()
    for what, row in figures.items():
        print(f"{what:28}" + "".join(f"{who} {value:8.1f} ns   " for who, value in row.items()))
    figures["import tenure, ms"] = {"tenure": import_milliseconds("tenure"), "numpy": import_milliseconds("numpy")}
    figures["step of a 64-128-10 network, us"] = {"tenure": training_step()}
    for what in list(figures)[-2:]:
        print(f"{what:34}" + "".join(f"{who} {value:8.1f}   " for who, value in figures[what].items()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
