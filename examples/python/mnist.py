"""A convolutional network learns handwritten digits in less memory than its step would take.

    mnist.py [FOLDER WITH MNIST] [EPOCHS] [PERCENT OF THE PLAIN STEP'S MEMORY] [DRAWN DIGITS]

Without the folder it learns drawn digits, of which it makes a few thousand. `tools/fetch_mnist` gets the real ones.
"""

import sys

import tenure as tn
from tenure import data, nn

BATCH = 64

given = dict(enumerate(sys.argv[1:]))
folder, epochs, percent, count = given.get(0, ""), int(given.get(1, 1)), int(given.get(2, 50)), int(given.get(3, 2000))

if folder and data.has_mnist(folder):
    split = data.mnist(folder)
    train, test = split.train, split.test
else:
    print("no MNIST here: drawn digits take its place")
    train, test = data.digits(count, 1), data.digits(count // 4, 2)


def batches(digits, size):
    """Batches [images in [0, 1], labels], made ahead while others are learned."""
    return digits.batch(size).map(lambda row: [row[0].cast("float32").expand_dims(-1) / 255, row[1]]).prefetch(2)


tn.seed(1)
network = nn.Sequential(
    nn.Conv2d(1, 32, 3, relu=True),
    nn.Conv2d(32, 64, 3),
    nn.MaxPool2d(2),
    nn.Relu(),
    nn.Flatten(),
    nn.Dense(64 * 12 * 12, 128),
    nn.Relu(),
    nn.Dense(128, 10),
)
adam = nn.Adam(network)

# What the plain step would take, before anything runs.
images, labels = tn.spec((BATCH, 28, 28, 1)), tn.spec(BATCH, "int64")
plain = nn.Trainer(network, tn.cross_entropy, adam).plan(images, labels)
print(network.summary(images))

# The same step within a budget: some of it is computed twice. One that cannot be held names one that can.
budget = plain.peak - plain.plan.peak * (100 - percent) // 100
try:
    trainer = nn.Trainer(network, tn.cross_entropy, adam, metrics=[nn.accuracy()], budget=budget)
    plan = trainer.plan(images, labels)
except tn.BudgetError as error:
    print(str(error).splitlines()[0])
    budget = error.least
    trainer = nn.Trainer(network, tn.cross_entropy, adam, metrics=[nn.accuracy()], budget=budget)
    plan = trainer.plan(images, labels)
print(f"budget {tn.format_bytes(budget)}: the step takes {tn.format_bytes(plan.peak)} instead of"
      f" {tn.format_bytes(plain.peak)}, and {100 * plan.plan.recomputed:.0f} % more time")

learning = batches(train.shuffle(7), BATCH)
steps = len(learning) * epochs
history = nn.fit(trainer, learning, epochs=epochs,
                 schedule=nn.schedule.warm_up(min(100, steps // 4 + 1), nn.schedule.cosine(2e-3, steps, 1e-5)))
scores = nn.evaluate(trainer, batches(test, 250))
print(f"accuracy on {len(test)} digits it has not seen: {100 * scores.metrics[0]:.1f} %")
