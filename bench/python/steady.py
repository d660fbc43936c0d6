"""Calls of every kind, in a round that leaves nothing behind."""

import pickle

import numpy as np

import tenure as tn


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Mixed:
    """What the rounds work on."""

    def __init__(self):
        tn.seed(0)
        self.x, self.w = tn.normal((4, 8)), tn.Variable(tn.normal((8, 8)), name="w")
        self.array = np.ones((4, 8), "float32")
        self.image = tn.ones((1, 6, 6, 2))
        self.kernel = tn.ones((3, 3, 2, 2))
        self.step = tn.function(lambda x: tn.tanh(x @ self.w + 1))
        self.cube = tn.op(infer=lambda x: x, name="steady_cube")(lambda x: x * x * x)
        self.layer = tn.nn.Dense(8, 2)
        self.optimizer = tn.nn.Sgd(self.layer, 0.01, momentum=0.9)

    def round(self):
        """Fifty calls and more; gives their number."""
        x, w = self.x, self.w
        for i in range(4):
            y = x + 1  # 1
            y = tn.tanh(y * 2 - i)  # 3
            y = x @ w  # 1
            z = y[1:, ::2].sum(0)  # 2
            z.shape, z.dtype, len(z), repr(z)  # 4
        tn.tensor(z.tolist())  # 2
        tn.asarray(self.array).numpy()  # 2
        tn.from_dlpack(x)  # 1
        pickle.loads(pickle.dumps(z))  # 2
        tn.conv2d(self.image, self.kernel)  # 1
        values, indices = tn.topk(x, 2)  # 1
        tn.where(x > 0, x, 0.0)  # 2
        y = tn.exp(tn.donate(x + 1))  # 3
        y[0] = 1.0  # 1
        self.step(x), self.cube(z)  # 2
        for wrong in (lambda: x @ tn.ones((3, 3)), lambda: x[9], lambda: tn.softmax(x, axis="last")):
            try:
                wrong()  # 2 on average
            except (tn.TenureError, TypeError):
                pass
        with tn.scope("round"), tn.GradientTape() as tape:  # 2
            loss = tn.mse_loss(self.layer(x), tn.zeros((4, 2)))  # 3
            gradients = tape.gradient(loss, self.optimizer.variables)  # 1
            self.optimizer.apply(gradients)  # 1
        tn.tidy(lambda: tn.ones(4) * 2)  # 3
        return 4 * 11 + 34


def run(calls):
    """Makes so many calls; gives (calls made, growth of the ledger, growth of resident bytes)."""
    mixed = Mixed()
    for _ in range(200):
        mixed.round()  # caches fill
    before, resident, made = tn.memory(), resident_bytes(), 0
    while made < calls:
        made += mixed.round()
    after = tn.memory()
    growth = {name: getattr(after, name) - getattr(before, name)
              for name in ("tensors", "storages", "bytes", "foreign_bytes", "metadata_bytes")}
    mixed.step.clear()
    return made, growth, resident_bytes() - resident
