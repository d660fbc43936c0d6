#!/usr/bin/env python3
"""The figures of a GPU beside PyTorch and JAX of this Python: `./dev bench cuda`.

    table.py PROGRAM [--small]

PROGRAM is tenure_bench_cuda. Where there is no GPU nothing is measured, and the reason is said.
"""

import json
import subprocess
import sys

import peers

# What was set out to reach on an H200: most seconds, most bytes.
GOALS = {
    "eager op on 16 floats": (5.5e-6, None),
    "allocate + free 4 KiB": (100e-9, None),
    "8 dense layers of 256 with relu, batch 1": (25e-6, None),
    "MLP step (784-512-512-10, b128, Adam)": (60e-6, 10 << 20),
    "GPT d256 L4 T128 B8 step": (0.7e-3, None),
    "GPT-2 small B8 T1024 bf16 step": (20e-3, 5200 << 20),
    "GPT-2 small B8 T1024 bf16 step in 4096 MiB": (24e-3, 4096 << 20),
    "ResNet-50 b64 bf16 step": (18e-3, None),
    "ResNet-50 b64 bf16 step in 1840 MiB": (24e-3, 1840 << 20),
}
GATE, COPY = "tanh(a*b+c)*sigmoid(d), 16M", "copy, 16M"


def time_of(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def cell(entry):
    if entry is None:
        return "-"
    if isinstance(entry, str):
        return entry[:40]
    seconds, size = entry
    return time_of(seconds) + ("" if size is None else f" / {size / (1 << 20):.4g} MiB")


def main(program, options):
    run = subprocess.run([program, *options], stdout=subprocess.PIPE, text=True)
    if run.returncode == 77:
        print("skipped:", run.stdout.strip())
        return 0
    if run.returncode != 0:
        print(run.stdout)
        return run.returncode
    ours = {}
    for line in run.stdout.splitlines():
        figure = json.loads(line)
        ours[figure["work"]] = figure.get("problem") or (figure["seconds"], figure["bytes"])
    others = {} if "--small" in options else peers.all_peers()
    for name, works in others.items():
        if isinstance(works, str):
            print(f"{name}: {works}")
    others = {name: works for name, works in others.items() if isinstance(works, dict)}
    print("| " + " | ".join(["work", "Tenure", *others, "goal"]) + " |")
    print("|---" * (len(others) + 3) + "|")
    for work, entry in ours.items():
        goal = cell(GOALS[work]) if work in GOALS else ""
        if work == GATE and not isinstance(entry, str) and not isinstance(ours.get(COPY, ""), str):
            # It reads four arrays and writes one; a copy reads one and writes one.
            goal = f"{2.5 * ours[COPY][0] / entry[0]:.2f} of a copy's bandwidth (goal 0.9)"
        print("| " + " | ".join([work, cell(entry), *(cell(w.get(work)) for w in others.values()), goal]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
