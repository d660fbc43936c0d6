"""Three loops that hold more and more, as people write them; who finds it, and what it takes to mend them."""

import tenure as tn

model = tn.nn.Sequential(tn.nn.Dense(8, 16), tn.nn.Relu(), tn.nn.Dense(16, 1))
optimizer = tn.nn.Sgd(model, 0.01)
x, y = tn.ones((4, 8)), tn.zeros((4, 1))


def step():
    with tn.GradientTape() as tape:
        loss = tn.mse_loss(model(x), y)
    optimizer.apply(tape.gradient(loss, optimizer.variables))
    return loss


class Logger:
    """Keeps every loss, as a tensor."""

    def __init__(self):
        self.losses = []

    def step(self):
        self.losses.append(step())


class Cache:
    """Makes a mask for each step, and keeps it for the next time that this step comes."""

    def __init__(self):
        self.masks = {}

    def step(self):
        mask = self.masks.setdefault(optimizer.steps, tn.ones((4, 1)))
        return step() * mask


class Node:
    """A node that knows itself: a reference cycle, which only Python's collector frees."""

    def step(self):
        node = Node()
        node.root, node.value = node, step()


def hunt(what, loop, steps=200):
    guard = tn.LeakGuard(what)
    for _ in range(steps):
        loop.step()
        try:
            guard.mark()
        except tn.LeakError as error:
            lines = str(error).splitlines()
            print("\n".join([lines[0], *(line for line in lines[2:] if " at " in line or "cycle" in line)]))
            return
    print(f"{what}: steady after {guard.iterations} steps")


print("-- as it was written")
for what, loop in {"logger": Logger(), "cache": Cache(), "nodes": Node()}.items():
    hunt(what, loop)
del loop

print("-- mended")


class Mended(Logger):
    """A number takes no tensor; a mask is made once; a node does not know itself."""

    mask = tn.ones((4, 1))

    def step(self):
        self.losses.append((step() * self.mask).sum().item())


hunt("all of them", Mended())

print("-- who holds what, if you want to look for yourself")
kept = [step() for _ in range(3)]
for info in tn.live_tensors():
    if info.id in {tensor.id for tensor in kept}:
        print(info.op, "at", info.site, info.category, "of", info.storage_bytes, "bytes")
print(tn.holders(kept[0]))
