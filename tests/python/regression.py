"""A small problem, and what trains a model on it."""

import numpy as np

import tenure as tn


def regression(n=64):
    random = np.random.default_rng(0)
    x = random.standard_normal((n, 4)).astype("float32")
    return tn.tensor(x), tn.tensor(x.sum(1, keepdims=True))


def trainer_of(model, make=lambda model: tn.nn.Adam(model, 0.05), **options):
    optimizer = make(model)
    return tn.nn.Trainer(model, tn.mse_loss, optimizer, **options), optimizer
