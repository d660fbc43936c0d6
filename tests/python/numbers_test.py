"""The numbers of ops, and of their gradients, beside PyTorch's.

Each row of ROWS is a name, our expression and theirs, over the same float64 inputs. What PyTorch gave stands in
torch_numbers.json, so that every row is compared where PyTorch is not installed, too; where it is, the file is
compared with it, and TENURE_RECORD=1 writes it anew. Gradients are those of a weighted sum of the results for every
input that PyTorch has one for.
"""

import json
import math
import os
import re
import unittest
from pathlib import Path

import tenure as tn
from support import TestCase

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

FILE = Path(__file__).resolve().with_name("torch_numbers.json")


def waves(*shape, phase=0.0, scale=1.5):
    """Numbers without ties, of both signs."""
    count = math.prod(shape)
    flat = [round(scale * math.sin(1.7 * i + phase), 4) for i in range(count)]
    for size in reversed(shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat


INPUTS = {
    "x": waves(3, 4),
    "y": waves(3, 4, phase=0.5),
    "z": waves(3, 4, phase=2.0),
    "v": waves(6, phase=1.0),
    "p": [[0.2, 0.9, 0.4], [0.6, 0.1, 0.75]],
    "q": [[0.3, 0.3, 0.4], [0.5, 0.25, 0.25]],
    "broken": [[1.0, math.nan, 3.0], [math.inf, -math.inf, 0.5]],
    "m": [[3.0, 0.5, -1.0], [0.25, 2.5, 0.75], [-0.5, 1.0, 4.0]],
    "s": [[4.0, 0.5, -1.0], [0.5, 3.0, 0.75], [-1.0, 0.75, 5.0]],
    "w": waves(3, 2, phase=0.3),
    "image": waves(1, 4, 5, 6),
    "signal": waves(2, 3, 9),
    "volume": waves(1, 2, 4, 4, 4),
    "kernel": waves(3, 4, 2, 2, phase=0.7),
    "back": waves(4, 3, 2, 2, phase=0.9),
    "places": [[[[-0.9, -0.4], [0.1, 0.6]], [[0.95, -1.2], [-0.3, 0.2]]]],
    "logits": waves(5, 2, 4, phase=0.2),
    "a4": waves(1, 2, 3, 4, phase=0.1),
    "b4": waves(1, 2, 3, 4, phase=0.6),
    "c4": waves(1, 2, 3, 4, phase=1.1),
    "g": waves(4, phase=0.4),
}
INTEGERS = {"t": [2, 0, 1], "n": [0, 3, 1, 3, 5, 1], "labels": [1, -1, 1], "words": [[1, 2], [3, 3]]}

ROWS = r"""
isclose | tn.isclose(x, x + 1e-9) | torch.isclose(x, x + 1e-9)
allclose | tn.allclose(x, y) | torch.tensor(torch.allclose(x, y))
array_equal | tn.array_equal(x, x) | torch.tensor(torch.equal(x, x))
diag | tn.diag(v), tn.diag(x, 1), tn.diag(v, -2) | torch.diag(v), torch.diag(x, 1), torch.diag(v, -2)
meshgrid | tn.meshgrid([v, g]) | torch.meshgrid(v, g, indexing="ij")
logspace | tn.logspace(-1, 2, 5, dtype="float64") | torch.logspace(-1, 2, 5, dtype=torch.float64)
unfold | tn.unfold(x, 1, 2, 2), tn.unfold(v, 0, 3) | x.unfold(1, 2, 2), v.unfold(0, 3, 1)
unbind | tn.unbind(x, 1) | torch.unbind(x, 1)
chunk | tn.chunk(v, 4), tn.chunk(x, 2, 1) | torch.chunk(v, 4), torch.chunk(x, 2, 1)
split | tn.split(v, 4) | torch.split(v, 4)
moveaxis | tn.moveaxis(image, 1, -1) | torch.moveaxis(image, 1, -1)
median | tn.median(w), tn.median(g[:3], 0) | torch.quantile(w, 0.5), torch.median(g[:3], 0).values
quantile | tn.quantile(x, 0.3), tn.quantile(x, 0.8, axes=1) | torch.quantile(x, 0.3), torch.quantile(x, 0.8, dim=1)
histogram | tn.histogram(v, 4, -2, 2).counts | torch.histc(v, 4, -2, 2).long()
bincount | tn.bincount(n, length=6), tn.bincount(n, v, 8) | torch.bincount(n), torch.bincount(n, v.detach(), 8)
searchsorted | tn.searchsorted(tn.sort(v), g), tn.searchsorted(tn.sort(v), v, right=True) | torch.searchsorted(v.sort().values, g), torch.searchsorted(v.sort().values, v, right=True)
count_nonzero | tn.count_nonzero(n), tn.count_nonzero(x > 0, 1) | torch.count_nonzero(n), torch.count_nonzero(x > 0, 1)
diff | tn.diff(x), tn.diff(x, 2, 0) | torch.diff(x), torch.diff(x, 2, 0)
cummax | tn.cummax(x, 1) | torch.cummax(x, 1)
cummin | tn.cummin(x, 0) | torch.cummin(x, 0)
cumsum | tn.cumsum(x, 1) | torch.cumsum(x, 1)
cumprod | tn.cumprod(x, 1) | torch.cumprod(x, 1)
nansum | tn.nansum(tn.where(x > 1, math.nan, y)) | torch.nansum(torch.where(x > 1, math.nan, y))
nanmean | tn.nanmean(tn.where(x > 1, math.nan, y), 0) | torch.nanmean(torch.where(x > 1, math.nan, y), 0)
outer | tn.outer(v, g) | torch.outer(v, g)
dot | tn.dot(v, v * 2) | torch.dot(v, v * 2)
kron | tn.kron(w, p) | torch.kron(w, p)
cross | tn.cross(m, s) | torch.cross(m, s, dim=-1)
trace | tn.trace(m) | torch.trace(m)
masked_fill | tn.masked_fill(x, y > 0, 7.0) | x.masked_fill(y > 0, 7.0)
nan_to_num | tn.nan_to_num(broken, 9.0, 8.0, 7.0) | torch.nan_to_num(broken, 9.0, 8.0, 7.0)
fmod | tn.fmod(x, y) | torch.fmod(x, y)
remainder | tn.remainder(x, y) | torch.remainder(x, y)
hypot | tn.hypot(x, y) | torch.hypot(x, y)
atan2 | tn.atan2(x, y) | torch.atan2(x, y)
lerp | tn.lerp(x, y, 0.3), tn.lerp(x, y, z) | torch.lerp(x, y, 0.3), torch.lerp(x, y, z)
logaddexp | tn.logaddexp(x, y) | torch.logaddexp(x, y)
erf | tn.erf(x), tn.erfc(x) | torch.erf(x), torch.erfc(x)
erfinv | tn.erfinv(x / 2) | torch.erfinv(x / 2)
lgamma | tn.lgamma(x + 2), tn.digamma(x + 2) | torch.lgamma(x + 2), torch.digamma(x + 2)
activations | tn.gelu(x), tn.gelu_tanh(x), tn.silu(x), tn.mish(x) | F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x)
linear units | tn.elu(x), tn.selu(x), tn.leaky_relu(x), tn.relu6(x * 6) | F.elu(x), F.selu(x), F.leaky_relu(x), F.relu6(x * 6)
soft units | tn.softplus(x), tn.softsign(x), tn.hard_sigmoid(x), tn.hard_swish(x) | F.softplus(x), F.softsign(x), F.hardsigmoid(x), F.hardswish(x)
softmax | tn.softmax(x, 1), tn.log_softmax(x, 0), tn.logsumexp(x, 1) | F.softmax(x, 1), F.log_softmax(x, 0), torch.logsumexp(x, 1)
norm | tn.norm(x), tn.norm(x, 1, 1), tn.norm(x, 3, 0) | torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 1, 1), torch.linalg.vector_norm(x, 3, 0)
var | tn.var(x, 1), tn.std(x), tn.var(x, correction=0) | torch.var(x, 1), torch.std(x), torch.var(x, unbiased=False)
topk | tn.topk(x, 2) | torch.topk(x, 2)
gather | tn.gather(x, 1, t[:, None]) | torch.gather(x, 1, t[:, None])
scatter | tn.scatter(x, 1, t[:, None], y[:, :1], mode="add") | x.scatter_add(1, t[:, None], y[:, :1])
pad | tn.pad(signal, [(0, 0), (0, 0), (1, 2)], mode="reflect") | F.pad(signal, (1, 2), mode="reflect")
einsum | tn.einsum("ij,kj->ik", [x, y]) | torch.einsum("ij,kj->ik", x, y)
interpolate nearest | tn.interpolate(image, (7, 3), mode="nearest", channels="first") | F.interpolate(image, (7, 3), mode="nearest")
interpolate linear | tn.interpolate(image, (7, 3), channels="first"), tn.interpolate(image, (3, 9), align_corners=True, channels="first") | F.interpolate(image, (7, 3), mode="bilinear"), F.interpolate(image, (3, 9), mode="bilinear", align_corners=True)
interpolate cubic | tn.interpolate(image, (7, 3), mode="cubic", channels="first") | F.interpolate(image, (7, 3), mode="bicubic")
grid_sample | tn.grid_sample(image, places, channels="first"), tn.grid_sample(image, places, mode="nearest", padding="border", channels="first") | F.grid_sample(image, places, align_corners=False), F.grid_sample(image, places, mode="nearest", padding_mode="border", align_corners=False)
grid_sample corners | tn.grid_sample(image, places, padding="border", align_corners=True, channels="first") | F.grid_sample(image, places, padding_mode="border", align_corners=True)
pixel_shuffle | tn.pixel_shuffle(image, 2) | F.pixel_shuffle(image, 2)
fft | tn.fft(tn.stack([x, y], -1)) | torch.view_as_real(torch.fft.fft(torch.complex(x, y)))
ifft | tn.ifft(tn.stack([x, y], -1), norm="ortho") | torch.view_as_real(torch.fft.ifft(torch.complex(x, y), norm="ortho"))
rfft | tn.rfft(x), tn.rfft(v, 4) | torch.view_as_real(torch.fft.rfft(x)), torch.view_as_real(torch.fft.rfft(v, 4))
irfft | tn.irfft(tn.rfft(v), 5) | torch.fft.irfft(torch.fft.rfft(v), 5)
fft2 | tn.fft2(tn.stack([x, y], -1)), tn.rfft2(x) | torch.view_as_real(torch.fft.fft2(torch.complex(x, y))), torch.view_as_real(torch.fft.rfft2(x))
stft | tn.stft(tn.tile(v, [5]), tn.hann_window(8, dtype="float64"), hop=3) | torch.view_as_real(torch.stft(v.tile(5), 8, 3, window=torch.hann_window(8, dtype=torch.float64), return_complex=True))
istft | tn.istft(tn.stft(tn.tile(v, [5]), tn.hamming_window(8, dtype="float64")), tn.hamming_window(8, dtype="float64")) | torch.istft(torch.stft(v.tile(5), 8, window=torch.hamming_window(8, dtype=torch.float64), return_complex=True), 8, window=torch.hamming_window(8, dtype=torch.float64))
cholesky | tn.cholesky(s) | torch.linalg.cholesky((s + s.T) / 2)
qr | tn.abs(tn.qr(w).r), tn.qr(w).q @ tn.qr(w).r | torch.abs(torch.linalg.qr(w).R), torch.linalg.qr(w).Q @ torch.linalg.qr(w).R
svd | tn.svd(x).s | torch.linalg.svdvals(x)
eigh | tn.eigh((s + s.T) / 2).values | torch.linalg.eigvalsh((s + s.T) / 2)
solve | tn.solve(m, w) | torch.linalg.solve(m, w)
inv | tn.inv(m) | torch.linalg.inv(m)
det | tn.det(m), tn.slogdet(m).logarithm | torch.linalg.det(m), torch.linalg.slogdet(m).logabsdet
lstsq | tn.lstsq(w, m) | torch.linalg.lstsq(w, m).solution
pinv | tn.pinv(w) | torch.linalg.pinv(w)
max_pool1d | tn.max_pool1d(signal, 2, stride=2, ceil_mode=True, channels="first") | F.max_pool1d(signal, 2, 2, ceil_mode=True)
max_pool2d | tn.max_pool2d(image, 3, stride=2, padding=1, ceil_mode=True, channels="first") | F.max_pool2d(image, 3, 2, 1, ceil_mode=True)
avg_pool2d | tn.avg_pool2d(image, 3, stride=2, padding=1, ceil_mode=True, count_padding=True, channels="first") | F.avg_pool2d(image, 3, 2, 1, ceil_mode=True)
pool3d | tn.max_pool3d(volume, 2, channels="first"), tn.avg_pool3d(volume, 2, channels="first") | F.max_pool3d(volume, 2), F.avg_pool3d(volume, 2)
adaptive pooling | tn.adaptive_avg_pool2d(image, (2, 4), channels="first"), tn.adaptive_max_pool2d(image, (3, 2), channels="first") | F.adaptive_avg_pool2d(image, (2, 4)), F.adaptive_max_pool2d(image, (3, 2))
conv2d | tn.conv2d(image, kernel, stride=2, padding=1, dilation=2, channels="first") | F.conv2d(image, kernel, stride=2, padding=1, dilation=2)
conv_transpose2d | tn.conv_transpose2d(image, back, stride=2, padding=1, output_padding=1, channels="first") | F.conv_transpose2d(image, back, stride=2, padding=1, output_padding=1)
layer_norm | tn.layer_norm(x, g, g * 2) | F.layer_norm(x, (4,), g, g * 2)
group_norm | tn.group_norm(image, 2, g, g + 1, channels="first") | F.group_norm(image, 2, g, g + 1)
attention | tn.attention(a4, b4, c4), tn.attention(a4, b4, c4, causal=True) | (a4 @ b4.mT / 2).softmax(-1) @ c4, (a4 @ b4.mT / 2 + torch.full((3, 3), -math.inf).triu(1)).softmax(-1) @ c4
embedding | tn.embedding(words, x.T @ y) | F.embedding(words, x.T @ y)
cross_entropy | tn.cross_entropy(m, t, g[1:] ** 2, label_smoothing=0.1), tn.cross_entropy(m, t, ignore_index=0) | F.cross_entropy(m, t, g[1:].detach() ** 2, label_smoothing=0.1), F.cross_entropy(m, t, ignore_index=0)
nll_loss | tn.nll_loss(m, t, tn.square(v[:3]), reduction="sum") | F.nll_loss(m, t, torch.square(v[:3].detach()), reduction="sum")
binary_cross_entropy | tn.binary_cross_entropy(p, q) | F.binary_cross_entropy(p, q.detach())
with logits | tn.binary_cross_entropy_with_logits(x, tn.sigmoid(z), tn.square(g)) | F.binary_cross_entropy_with_logits(x, torch.sigmoid(z.detach()), pos_weight=torch.square(g.detach()))
ctc_loss | tn.ctc_loss(tn.moveaxis(tn.log_softmax(logits, 2), 0, 1), words, tn.tensor([5, 4]), tn.tensor([2, 1]), reduction="none") | F.ctc_loss(F.log_softmax(logits, 2), words, torch.tensor([5, 4]), torch.tensor([2, 1]), reduction="none")
cosine_similarity | tn.cosine_similarity(x, y), tn.cosine_embedding_loss(x, y, labels, margin=0.2) | F.cosine_similarity(x, y), F.cosine_embedding_loss(x, y, labels, margin=0.2)
triplet_margin_loss | tn.triplet_margin_loss(x, y, z, swap=True) | F.triplet_margin_loss(x, y, z, swap=True)
huber_loss | tn.huber_loss(x, y, delta=0.7), tn.smooth_l1_loss(x, y, beta=0.7) | F.huber_loss(x, y, delta=0.7), F.smooth_l1_loss(x, y, beta=0.7)
kl_divergence | tn.kl_divergence(tn.log(p), q, reduction="sum") | F.kl_div(torch.log(p), q.detach(), reduction="sum")
"""


def rows():
    for line in filter(None, ROWS.splitlines()):
        yield [part.strip() for part in re.split(r" \| ", line)]


def as_tuple(value):
    """The tensors of a result of parts, one after the other."""
    return sum(map(as_tuple, value), ()) if isinstance(value, (tuple, list)) else (value,)


def plain(values):
    """Numbers as JSON has them."""
    return [float(f"{v:.10g}") if isinstance(v, float) and math.isfinite(v) else v if isinstance(v, (int, bool)) else repr(v)
            for v in values]


def record(expression):
    """{"shapes", "values", "gradients" by input} of PyTorch's side."""
    inputs = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in INPUTS.items()}
    names = {k: torch.tensor(v) for k, v in INTEGERS.items()} | inputs | {"torch": torch, "F": F, "math": math}
    results = as_tuple(eval(expression, names))
    loss = sum((r * weights_of(r)).sum() for r in results if r.requires_grad)
    if not isinstance(loss, int):
        loss.backward()
    return {"shapes": [list(r.shape) for r in results],
            "values": [plain(r.detach().reshape(-1).tolist()) for r in results],
            "differentiable": [i for i, r in enumerate(results) if r.requires_grad],
            "gradients": {k: plain(x.grad.reshape(-1).tolist()) for k, x in inputs.items() if x.grad is not None}}


def weights_of(r):
    return torch.cos(torch.arange(r.numel(), dtype=torch.float64)).reshape(r.shape)


class Numbers(TestCase):
    def assert_near(self, ours, theirs, what):
        self.assertEqual(len(ours), len(theirs), what)
        for i, (a, b) in enumerate(zip(ours, theirs)):
            b = float(b)  # 'nan' is a text in the file
            self.assertTrue(a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= 1e-7 + 1e-7 * abs(b),
                            f"{what}[{i}]: {a} beside {b}")

    def check(self, expression, expected):
        integers = {k: tn.tensor(v) for k, v in INTEGERS.items()}

        def results(inputs):
            return as_tuple(eval(expression, {"tn": tn, "math": math} | integers | inputs))

        inputs = {k: tn.tensor(v, dtype="float64") for k, v in INPUTS.items()}
        for i, r in enumerate(results(inputs)):
            self.assertEqual(list(r.shape), expected["shapes"][i])
            self.assert_near([float(v) for v in r.flatten().tolist()], expected["values"][i], f"result {i}")
        for name, gradient in expected["gradients"].items():

            def loss(x):
                total = 0.0
                given = results(inputs | {name: x})
                for i in expected["differentiable"]:
                    r = given[i]
                    total = total + (r * tn.cos(tn.arange(r.size, dtype="float64")).reshape(r.shape)).sum()
                return total

            self.assert_near(tn.grad(loss)(inputs[name]).flatten().tolist(), gradient, f"gradient of {name}")

    def test_are_torchs(self):
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        if torch is not None and os.environ.get("TENURE_RECORD"):
            known = {name: record(theirs) for name, _, theirs in rows()}
            FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in known.items()) + "\n}\n")
        for name, ours, theirs in rows():
            with self.subTest(name):
                self.check(ours, known[name])
        self.assertEqual(list(known), [name for name, _, _ in rows()])

    @unittest.skipIf(torch is None, "PyTorch is not installed: python3-torch")
    def test_the_file_is_what_torch_says(self):
        known = json.loads(FILE.read_text())
        for name, _, theirs in rows():
            with self.subTest(name):
                now = record(theirs)
                for kind in ("shapes", "differentiable"):
                    self.assertEqual(now[kind], known[name][kind])
                for a, b in zip(now["values"], known[name]["values"]):
                    self.assert_near([float(v) for v in a], b, "value")
                self.assertEqual(set(now["gradients"]), set(known[name]["gradients"]))
                for key, gradient in now["gradients"].items():
                    self.assert_near(gradient, known[name]["gradients"][key], key)


if __name__ == "__main__":
    unittest.main()
