"""PyTorch's side of the training benchmarks, for a python3 that has it.

Reads commands from standard input and answers each with a line: `threads N`, `make NAME MODE`
(eager or compiled) and `step NAME MODE N`, which takes N steps. Models, batches and optimizers are
those of train_models.cpp; the numbers in them are others, which changes no time.
"""

import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F


def mlp():
    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return model, torch.randn(128, 784), torch.randint(10, (128,))


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10),
    )
    model = model.to(memory_format=torch.channels_last)
    return model, torch.rand(64, 1, 28, 28), torch.randint(10, (64,))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    width, heads, layers, length, tokens = 256, 4, 4, 128, 96

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(self.tokens, self.width)
        self.positions = nn.Parameter(0.02 * torch.randn(self.length, self.width))
        self.blocks = nn.Sequential(*[Block(self.width, self.heads) for _ in range(self.layers)])
        self.norm, self.head = nn.LayerNorm(self.width), nn.Linear(self.width, self.tokens)

    def forward(self, tokens):
        x = self.blocks(self.table(tokens) + self.positions)
        return self.head(self.norm(x)).view(-1, self.tokens)


def gpt():
    def tokens(*shape):
        return torch.randint(Gpt.tokens, shape)

    return Gpt(), tokens(8, Gpt.length), tokens(8 * Gpt.length)


def step_of(make, mode):
    """Forward, backward and Adam, in PyTorch's own best way of that mode."""
    torch.manual_seed(1)
    model, x, target = make()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)

    def loss_of(x, target):
        return F.cross_entropy(model(x), target)

    run = torch.compile(loss_of) if mode == "compiled" else loss_of

    def step():
        adam.zero_grad(set_to_none=True)
        loss = run(x, target)
        loss.backward()
        adam.step()
        return loss.item()

    for _ in range(3):
        if not math.isfinite(step()):
            raise ValueError("the loss is no number")
    return step


def main():
    steps = {}
    answers = os.fdopen(os.dup(1), "w")  # which no other process gets
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever prints, prints there
    print(torch.__version__, file=answers, flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        try:
            if command == "threads":
                torch.set_num_threads(int(words[0]))
            elif command == "make":
                steps[words[0], words[1]] = step_of({"MLP": mlp, "CNN": cnn, "GPT": gpt}[words[0]], words[1])
            else:
                step = steps[words[0], words[1]]
                for _ in range(int(words[2])):
                    step()
            print("done", file=answers, flush=True)
        except Exception as error:  # whatever it is, the other side goes on without this peer
            print("failed:", *repr(error).split(), file=answers, flush=True)


main()
