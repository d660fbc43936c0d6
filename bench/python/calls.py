"""What calls from Python take, beside NumPy and, where it is installed, PyTorch, in the same run.

usage: calls.py [--json FILE] [--calls N] [--step PROGRAM] [--turns N]

Each figure is the least of many short runs, in nanoseconds of a call unless it says otherwise. PROGRAM (step.cpp)
makes the call and the step of the MLP from C++; the steps take turns. N calls of every kind, 10 million
unless said otherwise, end the run: nothing may grow.
"""

import argparse
import json
import subprocess
import sys
import time
import timeit

import numpy as np

import steady
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


def small_calls(program):
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
    figures = {what: {who: nanoseconds(f) - empty for who, f in calls.items()} for what, calls in rows.items()}
    if program:
        figures["add(x, y) of 16 floats"]["c++"] = float(subprocess.check_output([program, "add"]))
    return figures


def python_step(seconds):
    """The least milliseconds of a training step: the MLP 784-512-512-10 with Adam, batch 128."""
    tn.seed(0)
    nn = tn.nn
    net = nn.Sequential(nn.Dense(784, 512), nn.Relu(), nn.Dense(512, 512), nn.Relu(), nn.Dense(512, 10))
    trainer = nn.Trainer(net, tn.cross_entropy, nn.Adam(net))
    x, target = tn.normal((128, 784)), tn.randint(0, 10, 128)
    for _ in range(3):
        trainer.step(x, target)
    least, begin = 1e9, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        trainer.step(x, target)
        least = min(least, time.perf_counter() - start)
    return 1000 * least


def training_steps(program, turns, seconds=1.0):
    """Of Python and of C++, in turns, each in a process of its own."""
    here = [sys.executable, __file__, "--one-step", str(seconds)]
    sides = {"python": here} | ({"c++": [program, str(seconds)]} if program else {})
    taken = {who: [] for who in sides}
    for turn in range(turns):
        for who in list(sides) if turn % 2 == 0 else reversed(list(sides)):
            taken[who].append(float(subprocess.check_output(sides[who])))
    return {who: min(times) for who, times in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--calls", type=int, default=10_000_000, metavar="N")
    parser.add_argument("--step", metavar="PROGRAM", help="C++'s step, which ./dev bench python builds")
    parser.add_argument("--turns", type=int, default=6, metavar="N")
    parser.add_argument("--one-step", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_step:
        print(python_step(options.one_step))
        return
    figures = small_calls(options.step)
    for what, row in figures.items():
        print(f"{what:28}" + "".join(f"{who} {value:8.1f} ns   " for who, value in row.items()))
    figures["import, ms"] = {"tenure": import_milliseconds("tenure"), "numpy": import_milliseconds("numpy")}
    figures["step of the MLP, ms"] = training_steps(options.step, options.turns)
    for what in list(figures)[-2:]:
        print(f"{what:28}" + "".join(f"{who} {value:8.3f}   " for who, value in figures[what].items()))
    made, growth, resident = steady.run(options.calls)
    figures["growth"] = {"calls": made, "resident bytes": resident, **growth}
    print(f"{made} mixed calls: " + ", ".join(f"{what} {n:+d}" for what, n in growth.items()) +
          f"; resident memory {resident / 2**20:+.2f} MiB")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
