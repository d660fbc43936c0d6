"""Each layer from Python, initializers, and how layers are told."""

import unittest

import numpy as np

import tenure as tn
from support import TestCase


class Layers(TestCase):
    def test_each_layer_applies(self):
        image, rows, line = tn.ones((2, 8, 8, 4)), tn.ones((2, 5, 8)), tn.ones((2, 8, 4))
        volume = tn.ones((2, 4, 4, 4, 4))
        nn = tn.nn
        for layer, x, shape in [
            (nn.Conv(1, 4, 6, 3), line, (2, 6, 6)), (nn.Conv1d(4, 6, 3), line, (2, 6, 6)),
            (nn.Conv2d(4, 6, 3, channels="first", padding=1), tn.ones((2, 4, 8, 8)), (2, 6, 8, 8)),
            (nn.Conv3d(4, 6, 3), volume, (2, 2, 2, 2, 6)),
            (nn.ConvTranspose(2, 4, 6, 2, stride=2), image, (2, 16, 16, 6)),
            (nn.ConvTranspose1d(4, 6, 2, stride=2), line, (2, 16, 6)),
            (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), image, (2, 16, 16, 6)),
            (nn.ConvTranspose3d(4, 6, 2, stride=2), volume, (2, 8, 8, 8, 6)),
            (nn.MaxPool1d(2), line, (2, 4, 4)), (nn.MaxPool3d(2), volume, (2, 2, 2, 2, 4)),
            (nn.AvgPool1d(2), line, (2, 4, 4)), (nn.AvgPool3d(2), volume, (2, 2, 2, 2, 4)),
            (nn.MaxPool2d(3, stride=2, ceil_mode=True), image, (2, 4, 4, 4)),
            (nn.AdaptiveMaxPool1d(3), line, (2, 3, 4)), (nn.AdaptiveMaxPool2d(3), image, (2, 3, 3, 4)),
            (nn.AdaptiveMaxPool3d(2), volume, (2, 2, 2, 2, 4)), (nn.AdaptiveAvgPool1d(3), line, (2, 3, 4)),
            (nn.AdaptiveAvgPool2d((2, 1)), image, (2, 2, 1, 4)), (nn.AdaptiveAvgPool3d(1), volume, (2, 1, 1, 1, 4)),
            (nn.GlobalAvgPool2d(), image, (2, 4)), (nn.Upsample(2), image, (2, 16, 16, 4)),
            (nn.GroupNorm(2, 4), image, (2, 8, 8, 4)), (nn.InstanceNorm(4), image, (2, 8, 8, 4)),
            (nn.BatchNorm(4, layout="first"), tn.ones((2, 4, 8, 8)), (2, 4, 8, 8)),
            (nn.PRelu(4), image, (2, 8, 8, 4)), (nn.Lstm(8, 6, layers=2, bidirectional=True), rows, (2, 5, 12)),
            (nn.Gru(8, 6), rows, (2, 5, 6)), (nn.Tanh(), rows, rows.shape), (nn.Sigmoid(), rows, rows.shape),
            (nn.Gelu(), rows, rows.shape), (nn.Silu(), rows, rows.shape), (nn.Softmax(), rows, rows.shape),
            (nn.Lambda("Twice", lambda x: x * 2), rows, rows.shape),
        ]:
            self.assertEqual(layer(x).shape, shape, layer)
        with self.assertRaises(ValueError):
            nn.Conv2d(4, 6, 3, channels="middle")
        with self.assertRaises(TypeError):
            nn.Lambda("Text", lambda x: "text")(rows)

    def test_recurrent_states(self):
        layer = tn.nn.Lstm(3, 4)
        x = tn.normal((2, 5, 3))
        whole = layer.run(x)
        first = layer.run(x[:, :2])
        rest = layer.run(x[:, 2:], h=first.h, c=first.c)
        np.testing.assert_allclose(whole.h.numpy(), rest.h.numpy(), rtol=1e-5)
        self.assertEqual(layer.run(x, lengths=tn.tensor([5, 2])).sequence[1, 4].tolist(), [0.0] * 4)
        self.assertIsNone(tn.nn.Gru(3, 4).run(x).c)
        with self.assertRaises(tn.ShapeError):
            layer.run(x, h=tn.ones((1, 1, 1)))

    def test_attention_with_masks_memory_and_cache(self):
        layer = tn.nn.MultiHeadAttention(8, 2, causal=True)
        x = tn.normal((1, 4, 8))
        whole = layer(x)
        cache = tn.nn.KeyValueCache()
        parts = [layer(x[:, i:i + 1], cache=cache) for i in range(4)]
        np.testing.assert_allclose(tn.concat(parts, 1).numpy(), whole.numpy(), atol=1e-5)
        self.assertEqual((cache.length, cache.keys.shape), (4, (1, 2, 4, 4)))
        free = tn.nn.MultiHeadAttention(8, 2)
        self.assertEqual(free(x, tn.normal((1, 7, 8))).shape, (1, 4, 8))
        seen = tn.tensor([[[[True, True, False, False]]]])
        np.testing.assert_allclose(free(x, mask=seen).numpy(), free(x, x[:, :2]).numpy(), atol=1e-5)
        block = tn.nn.TransformerBlock(8, 2)
        self.assertEqual(block(x, cache=tn.nn.KeyValueCache()).shape, (1, 4, 8))

    def test_initializers(self):
        init = tn.nn.init
        self.assertEqual(init.constant(3)((2,)).tolist(), [3.0, 3.0])
        self.assertEqual(init.uniform(1, 2)((4,), "float64").dtype, "float64")
        dense = tn.nn.Dense(2, 2, kernel_initializer=init.constant(2), bias_initializer="ones")
        self.assertEqual(dense(tn.ones((1, 2))).tolist(), [[5.0, 5.0]])
        for wrong, kind in (("no_such", ValueError), ("__name__", ValueError), (3, TypeError)):
            with self.assertRaises(kind):
                tn.nn.Dense(2, 2, kernel_initializer=wrong)
        padded = tn.nn.Embedding(4, 2, padding_index=0)
        self.assertEqual(padded(tn.tensor([0])).tolist(), [[0.0, 0.0]])

    def test_repr_tells(self):
        class Net(tn.nn.Layer):
            def __init__(self):
                super().__init__()
                self.body = tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Relu(), tn.tanh)
                self.heads = [tn.nn.Dense(8, 2)]
                self.scale = tn.nn.Parameter(tn.ones(2))

        self.assertEqual(repr(Net()), "\n".join([
            "Net(", "  body: Sequential(", "    0: Dense(4 -> 8)", "    1: Relu()", "    2: tanh", "  )",
            "  heads0: Dense(8 -> 2)", "  scale: float32[2]", ")"]))
        self.assertIn("query: Dense", repr(tn.nn.MultiHeadAttention(8, 2)))
        self.assertEqual(repr(tn.nn.accuracy()), "<metric accuracy>")


if __name__ == "__main__":
    unittest.main()
