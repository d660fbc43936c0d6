"""The works of table.py in PyTorch and JAX, where this Python has them: {work: (seconds, bytes)} of each."""

import sys
import time


def median(times):
    return sorted(times)[len(times) // 2]


def torch_works():
    import torch
    from torch import nn

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    device = torch.device("cuda:0")
    torch.manual_seed(1)
    made = {}

    def measure(name, make, times):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        try:
            work = make()
            for _ in range(3):
                work()
            taken = []
            for _ in range(7):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(times):
                    work()
                torch.cuda.synchronize()
                taken.append((time.perf_counter() - begin) / times)
            made[name] = median(taken), torch.cuda.max_memory_allocated() - before
        except RuntimeError as error:  # out of memory
            made[name] = str(error).splitlines()[0]
        print("PyTorch:", name, made[name], file=sys.stderr, flush=True)

    def there(*shape):
        return torch.randn(*shape, device=device)

    def two(f):
        x, y = there(16), there(16)
        return lambda: f(x, y)

    measure("eager op on 16 floats", lambda: two(torch.add), 10000)
    measure("allocate + free 4 KiB", lambda: lambda: torch.empty(1024, device=device), 10000)
    n = 16 << 20

    def copy():
        x = there(n)
        return lambda: x.clone()

    def gate():
        a, b, c, d = (there(n) for _ in range(4))
        f = torch.compile(lambda a, b, c, d: torch.tanh(a * b + c) * torch.sigmoid(d))
        return lambda: f(a, b, c, d)

    measure("copy, 16M", copy, 50)
    measure("tanh(a*b+c)*sigmoid(d), 16M", gate, 50)

    def dense():
        model = nn.Sequential(*[part for _ in range(8) for part in (nn.Linear(256, 256), nn.ReLU())]).to(device)
        f = torch.compile(model, mode="reduce-overhead")
        x = there(1, 256)

        def run():
            with torch.no_grad():
                return f(x)

        return run

    measure("8 dense layers of 256 with relu, batch 1", dense, 200)

    def training(model, x, target, optimizer, autocast=False):
        model.to(device)
        adam = optimizer(model.parameters())
        loss_of = nn.CrossEntropyLoss()

        def forward(x, target):
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                y = model(x)
            return loss_of(y.float().reshape(-1, y.shape[-1]), target.reshape(-1))

        compiled = torch.compile(forward)

        def step():
            adam.zero_grad(set_to_none=True)
            compiled(x, target).backward()
            adam.step()

        return step

    def mlp():
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        return training(model, there(128, 784), torch.randint(10, (128,), device=device),
                        lambda p: torch.optim.Adam(p, fused=True))

    measure("MLP step (784-512-512-10, b128, Adam)", mlp, 100)

    class Gpt(nn.Module):
        def __init__(self, width, heads, layers, length, tokens, tied=False):
            super().__init__()
            self.tokens = nn.Embedding(tokens, width)
            self.positions = nn.Parameter(0.02 * torch.randn(length, width))
            block = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True,
                                               norm_first=True)
            self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, tokens, bias=not tied)
            if tied:  # as GPT-2 has it
                self.head.weight = self.tokens.weight
            mask = nn.Transformer.generate_square_subsequent_mask(length)
            self.register_buffer("mask", mask)

        def forward(self, x):
            x = self.tokens(x) + self.positions
            return self.head(self.norm(self.blocks(x, mask=self.mask, is_causal=True)))

    def gpt(batch, length, tokens, autocast=False, **sizes):
        model = Gpt(length=length, tokens=tokens, **sizes)
        x = torch.randint(tokens, (batch, length), device=device)
        return training(model, x, torch.randint(tokens, (batch, length), device=device),
                        lambda p: torch.optim.AdamW(p, fused=True), autocast)

    measure("GPT d256 L4 T128 B8 step", lambda: gpt(8, 128, 96, width=256, heads=4, layers=4), 20)
    measure("GPT-2 small B8 T1024 bf16 step",
            lambda: gpt(8, 1024, 50257, True, width=768, heads=12, layers=12, tied=True), 5)

    def resnet():
        from torchvision.models import resnet50

        model = resnet50().to(memory_format=torch.channels_last)
        x = there(64, 3, 224, 224).to(memory_format=torch.channels_last)
        return training(model, x, torch.randint(1000, (64,), device=device),
                        lambda p: torch.optim.SGD(p, lr=1e-3), True)

    try:
        measure("ResNet-50 b64 bf16 step", resnet, 5)
    except ImportError as error:
        made["ResNet-50 b64 bf16 step"] = str(error)
    return made


def jax_works():
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX sees no GPU")
    made = {}

    def measure(name, work, times):
        jax.block_until_ready(work())
        taken = []
        for _ in range(7):
            begin = time.perf_counter()
            for _ in range(times):
                last = work()
            jax.block_until_ready(last)
            taken.append((time.perf_counter() - begin) / times)
        made[name] = median(taken), None
        print("JAX:", name, made[name], file=sys.stderr, flush=True)

    key = jax.random.key(1)
    x = jax.random.normal(key, (16,))
    measure("eager op on 16 floats", lambda: x + x, 10000)
    a, b, c, d = jax.random.normal(key, (4, 16 << 20))
    gate = jax.jit(lambda a, b, c, d: jnp.tanh(a * b + c) * jax.nn.sigmoid(d))
    measure("tanh(a*b+c)*sigmoid(d), 16M", lambda: gate(a, b, c, d), 50)

    widths = [784, 512, 512, 10]
    weights = [(jax.random.normal(key, (i, o)) / i**0.5, jnp.zeros(o)) for i, o in zip(widths, widths[1:])]
    images, labels = jax.random.normal(key, (128, 784)), jnp.zeros(128, jnp.int32)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)

    def loss(weights):
        y = images
        for i, (w, b) in enumerate(weights):
            y = y @ w + b
            y = jax.nn.relu(y) if i + 1 < len(weights) else y
        return -jax.nn.log_softmax(y)[jnp.arange(128), labels].mean()

    @jax.jit
    def step(state):
        weights, first, second, number = state
        gradients = jax.grad(loss)(weights)
        tree = jax.tree_util.tree_map
        first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        weights = tree(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
        return weights, first, second, number + 1

    state = [(weights, zeros, zeros, jnp.float32(1))]

    def train():
        state[0] = step(state[0])
        return state[0][3]

    measure("MLP step (784-512-512-10, b128, Adam)", train, 100)
    return made


def all_peers():
    """{peer: works or the reason why there are none}"""
    found = {}
    for name, works in (("PyTorch", torch_works), ("JAX", jax_works)):
        try:
            found[name] = works()
        except (ImportError, RuntimeError) as error:
            found[name] = str(error)
    return found
