"""Trains a network of one's own within a budget, and saves it."""

import os
import tempfile

import tenure as tn


class Net(tn.nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.body = [tn.nn.Dense(2, width), tn.nn.Dense(width, width)]
        self.out = tn.nn.Dense(width, 2)

    def forward(self, x):
        for layer in self.body:
            x = tn.relu(layer(x))
        return self.out(x)


tn.seed(0)
net = Net(32)
x = tn.uniform((512, 2), -1, 1)
inside = tn.cast(tn.sum(x * x, axis=1) < 0.5, "int64")  # of a circle
batches = tn.nn.from_tensors([x, inside]).shuffle(1).batch(64)

optimizer = tn.nn.Adam(net, 0.01)
trainer = tn.nn.Trainer(net, tn.cross_entropy, optimizer, metrics=[tn.nn.accuracy()], budget="256 KiB")
plan = trainer.plan(tn.spec((64, 2)), tn.spec(64, "int64"))
print("a step fits in 256 KiB:", plan.peak <= 256 * 1024)

history = tn.nn.fit(trainer, batches, epochs=60, progress="none")
print("finds the circle:", history.epochs[-1].training.metrics[0] > 0.95)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.safetensors")
    tn.nn.save_weights(net, path)
    again = Net(32)
    tn.nn.load_weights(again, path)
print("the same after saving:", (again(x) == net(x)).all().item())
