"""What exporters make of a PyTorch model's parameters.

A form is a function from parameters to what stands in the ONNX file for them:
the parameter itself, its transpose, the weights of a recurrent layer with gates
in ONNX's order and directions stacked, or a convolution with a batch
normalization folded in. Through it, gradients by the file's parameters become
gradients by PyTorch's.
"""

import dataclasses
import typing

import torch
from torch import nn

# Where two float32 computations of a folded weight may differ.
FOLDED_TOLERANCE = 1e-5

# PyTorch's gates, as numbered there, in ONNX's order.
GATES = {nn.LSTM: (0, 3, 1, 2), nn.GRU: (1, 0, 2)}


@dataclasses.dataclass
class Form:
    kind: str
    parameters: tuple  # names
    apply: typing.Callable  # of these parameters


def in_order(gates, weight):
    parts = weight.chunk(len(gates))
    return torch.cat([parts[gate] for gate in gates])


def recurrent_forms(prefix, module):
    """W, R and B of each layer."""
    gates = GATES[type(module)]
    ways = ("", "_reverse") if module.bidirectional else ("",)

    def stack(*weights):
        return torch.stack([in_order(gates, weight) for weight in weights])

    def stack_biases(*biases):
        half = len(biases) // 2
        return torch.cat([stack(*biases[:half]), stack(*biases[half:])], 1)

    for layer in range(module.num_layers):
        names = {
            kind: [f"{prefix}{kind}_l{layer}{way}" for way in ways]
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        yield Form("gates", (*names["weight_ih"],), stack)
        yield Form("gates", (*names["weight_hh"],), stack)
        yield Form("gates", (*names["bias_ih"], *names["bias_hh"]), stack_biases)


def folded_forms(conv_prefix, conv, norm_prefix, norm):
    """Weight and bias of a convolution that also does what is behind it."""
    mean, deviation = norm.running_mean, torch.sqrt(norm.running_var + norm.eps)

    def weight(w, scale):
        return w * (scale / deviation).reshape(-1, *[1] * (w.dim() - 1))

    def bias(scale, shift, b=0):
        return (b - mean) * scale / deviation + shift

    scale, shift = norm_prefix + "weight", norm_prefix + "bias"
    yield Form("folded", (conv_prefix + "weight", scale), weight)
    own = () if conv.bias is None else (conv_prefix + "bias",)
    yield Form("folded", (scale, shift, *own), bias)


def as_image(weight):
    """One for each channel, as it meets an image."""
    return weight.reshape(-1, 1, 1)


def all_forms(module):
    for name, parameter in module.named_parameters():
        yield Form("same", (name,), lambda p: p)
        if parameter.dim() == 2:
            yield Form("transposed", (name,), lambda p: p.T)
    before = ("", None)
    for name, child in module.named_modules():
        prefix = name + "." if name else ""
        if type(child) in GATES:
            yield from recurrent_forms(prefix, child)
        if isinstance(child, nn.BatchNorm2d) and isinstance(before[1], nn.Conv2d):
            yield from folded_forms(*before, prefix, child)
        if isinstance(child, nn.GroupNorm):
            yield Form("reshaped", (prefix + "weight",), as_image)
            yield Form("reshaped", (prefix + "bias",), as_image)
        before = (prefix, child)


def find_form(forms, parameters, content, name):
    """The form whose result is `content`, or None; one of that name is first."""
    shape = tuple(content.shape)
    named = [form for form in forms if form.parameters == (name,)]
    for form in named + forms:
        with torch.no_grad():
            result = form.apply(*[parameters[p] for p in form.parameters])
        if tuple(result.shape) != shape:
            continue
        if torch.allclose(result, content, FOLDED_TOLERANCE, FOLDED_TOLERANCE):
            return form
    return None


@dataclasses.dataclass
class Pulled:
    gradients: dict  # by PyTorch's names
    kinds: dict  # how many forms of each kind
    strangers: list  # trained in the file, and no form of a parameter
    missing: list  # parameters that no form reads


def pull_back(module, contents, gradients, their_names):
    """Gradients by the module's parameters.

    contents, gradients: of the imported model, by its names.
    their_names:         from its names to those in the ONNX file.
    """
    parameters = dict(module.named_parameters())
    forms = list(all_forms(module))
    results, incoming = [], []
    kinds, strangers, read = {}, [], set()
    for name, gradient in gradients.items():
        content = torch.from_numpy(contents[name].copy())
        form = find_form(forms, parameters, content, their_names.get(name, name))
        if form is None:
            strangers.append(name)
            continue
        kinds[form.kind] = kinds.get(form.kind, 0) + 1
        read.update(form.parameters)
        results.append(form.apply(*[parameters[p] for p in form.parameters]))
        incoming.append(torch.from_numpy(gradient.copy()))
    # A result may be a parameter itself, which autograd takes for an output too.
    pulled = torch.autograd.grad(
        results, list(parameters.values()), incoming, allow_unused=True
    )
    found = {n: g.numpy() for n, g in zip(parameters, pulled) if g is not None}
    missing = [name for name in parameters if name not in read]
    return Pulled(found, kinds, strangers, missing)
