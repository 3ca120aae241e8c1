"""The models in PyTorch: eager, or compiled by its inductor.

Convolutions run channels last unless settings say otherwise; weights of linear
layers are [out, in], as F.linear reads them. Settings:
  compile    "" (eager), "default", or another mode of torch.compile
  attention  "fused" (scaled_dot_product_attention) or "plain"
  layout     "last" or "first": where channels of images are
  optimizer  "fused" or "foreach"
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from models import MODELS

# So small that data of random labels are never learned: gradients that vanish
# become denormal numbers, which take a processor ten times as long.
RATE = 1e-7

DEFAULTS = {
    "compile": "",
    "attention": "fused",
    "layout": "last",
    "optimizer": "fused",
    "checkpoint": False,
    "float64": False,
}


class Backend:
    """What models.py asks for, over tensors by name."""

    def __init__(self, tensors, settings):
        self.tensors = tensors
        self.settings = settings

    def has(self, name):
        return name in self.tensors

    def parameter(self, name):
        return self.tensors[name]

    def blocks(self, pattern, suffix):
        i = 1
        while self.has(pattern % i + suffix):
            yield pattern % i
            i += 1

    def block(self, function, *inputs):
        if not self.settings["checkpoint"]:
            return function(*inputs)
        return checkpoint(
            function, *inputs, use_reentrant=False, preserve_rng_state=False
        )

    def linear(self, x, name):
        return F.linear(x, self.tensors[name + ".w"], self.tensors[name + ".b"])

    def relu(self, x):
        return F.relu(x, inplace=True)

    def gelu(self, x):
        return F.gelu(x)

    def image(self, x):
        return x

    def channels(self, x):
        return x.shape[1]

    def conv(self, x, name, stride, groups=1):
        w, b = self.tensors[name + ".w"], self.tensors.get(name + ".b")
        return F.conv2d(x, w, b, stride, w.shape[-1] // 2, 1, groups)

    def batch_norm(self, x, name):
        part = lambda suffix: self.tensors[name + suffix]
        return F.batch_norm(
            x, part(".mean"), part(".var"), part(".scale"), part(".bias"), True
        )

    def layer_norm(self, x, name, epsilon):
        scale, bias = self.tensors[name + ".scale"], self.tensors[name + ".bias"]
        return F.layer_norm(x, scale.shape, scale, bias, epsilon)

    def max_pool(self, x, kernel, stride, pad):
        return F.max_pool2d(x, kernel, stride, pad)

    def average(self, x):
        return x.mean((2, 3))

    def join(self, x, y):
        return torch.cat((x, y), 1)

    def double(self, x, name):
        w = self.tensors[name + ".conv.w"]
        return F.conv_transpose2d(x, w, self.tensors[name + ".b"], 2)

    def embedding(self, tokens, name):
        return F.embedding(tokens, self.tensors[name])

    def rows(self, x):
        return x.flatten(0, 1)

    def patches(self, x, size):
        n, c, h, w = x.shape
        x = x.reshape(n, c, h // size, size, w // size, size)
        return x.permute(0, 2, 4, 1, 3, 5).reshape(n, -1, c * size * size)

    def prepend(self, x, token):
        return torch.cat((token.expand(x.shape[0], -1, -1), x), 1)

    def attention(self, qkv, heads, length):
        width = qkv.shape[1] // 3
        parts = qkv.view(-1, length, 3, heads, width // heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        if self.settings["attention"] == "fused":
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            scale = (width // heads) ** -0.5
            y = ((q @ k.transpose(-1, -2)) * scale).softmax(-1) @ v
        return y.transpose(1, 2).reshape(-1, width)

    def cross_entropy(self, scores, labels):
        return F.cross_entropy(scores, labels)


def to_peer(name, array, settings):
    """One of our parameters, states or inputs as this backend holds it."""
    tensor = torch.from_numpy(np.array(array))
    if settings["float64"] and tensor.is_floating_point():
        tensor = tensor.double()
    if name.endswith(".rise.conv.w"):  # [4 to, from, 1, 1] to [from, to, 2, 2]
        tensor = tensor.reshape(-1, 2, 2, tensor.shape[1]).permute(3, 0, 1, 2)
    elif name.endswith(".rise.b"):
        tensor = tensor.flatten()
    elif name.endswith(".w") and tensor.dim() == 2:
        tensor = tensor.t()
    tensor = tensor.contiguous()
    if tensor.dim() == 4 and settings["layout"] == "last":
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    return tensor


def from_peer(name, tensor):
    """The inverse of `to_peer`, for gradients."""
    if name.endswith(".rise.conv.w"):
        tensor = tensor.permute(1, 2, 3, 0).reshape(-1, tensor.shape[0], 1, 1)
    elif name.endswith(".rise.b"):
        tensor = tensor.reshape(-1, 1, 1)
    elif name.endswith(".w") and tensor.dim() == 2:
        tensor = tensor.t()
    return tensor.detach().contiguous().numpy()


class Trainer:
    """Forward, backward and AdamW of one model.

    trained: names of the parameters that get a gradient, in any order.
    """

    def __init__(self, model, arrays, trained, batch, settings):
        self.settings = settings = {**DEFAULTS, **settings}
        self.tensors = {
            name: to_peer(name, array, settings).requires_grad_(name in trained)
            for name, array in arrays.items()
        }
        self.batch = {
            name: to_peer(name, array, settings) for name, array in batch.items()
        }
        self.parameters = {name: self.tensors[name] for name in trained}
        self.optimizer = torch.optim.AdamW(
            list(self.parameters.values()), lr=RATE, **{settings["optimizer"]: True}
        )
        build = MODELS[model]

        def loss(tensors, batch):
            return build(Backend(tensors, settings), batch)

        self.loss = loss
        if settings["compile"]:
            mode = settings["compile"]
            self.loss = torch.compile(loss, mode=mode, dynamic=False)

    def step(self):
        self.loss(self.tensors, self.batch).backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def gradients(self):
        """(loss, gradients by name in our layout) of the weights as they are."""
        loss = self.loss(self.tensors, self.batch)
        loss.backward()
        found = {name: from_peer(name, p.grad) for name, p in self.parameters.items()}
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item(), found


def set_threads(threads):
    torch.set_num_threads(threads)
