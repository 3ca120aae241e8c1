"""Weights and batches that every contestant reads: safetensors and .npy files.

Parameters and inputs are those that `reprise check` lists, so names, shapes and
layouts are ours; a peer turns them into its own.
"""

import json
import re
import struct

import numpy as np


def write_safetensors(path, arrays):
    """Float32 arrays by name."""
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(array.astype("<f4").tobytes())


DTYPES = {"F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}


def read_safetensors(path):
    """Arrays by name; they share the memory of one buffer."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{path}: {name} is {entry['dtype']}")
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def dims(type_text):
    """(8, 128) of "i64[8,128]"."""
    inner = type_text[type_text.index("[") + 1 : -1]
    return tuple(int(dim) for dim in inner.split(",")) if inner else ()


def frozen_constants(graph_text):
    """Contents of the parameters that are not trained: each is a constant."""
    pattern = r'^parameter \{ name: "([^"]+)".*constant: (\S+) .*trainable: false'
    found = re.findall(pattern, graph_text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def random_parameter(generator, name, shape, has_relu):
    """Contents that keep a signal's size, and gradients comparable.

    A relu has a kink, and whoever rounds a zero to the other side has another
    gradient. So where there are relus, most of what they read is far from zero
    (`has_relu`): biases are plus or minus one, what is added to them varies by
    a seventh, and a channel is on or off. Residual sums are on.
    """
    normal = generator.standard_normal(shape)
    layer = name.rsplit(".", 1)[0]
    bounded = has_relu and layer != "logits"
    if name.endswith(".scale"):
        return (0.15 if bounded else 1) * (1 + 0.1 * normal)
    if name.endswith((".b", ".bias")):
        if not bounded:
            return 0.1 * normal
        sums = layer.endswith((".norm3", ".shortcut.norm"))
        return np.abs(np.sign(normal)) if sums else np.sign(normal)
    if not name.endswith(".w"):
        return 0.5 * normal  # embeddings
    fan_in = shape[0] if len(shape) == 2 else np.prod(shape[1:])
    return (0.15 if bounded else 1) / np.sqrt(fan_in) * normal


def random_weights(check, graph_text, seed):
    """Parameters and states for a model, from its `check` report and its text."""
    generator = np.random.default_rng(seed)
    constants = frozen_constants(graph_text)
    has_relu = any(node["op"] == "Relu" for node in check["nodes"])
    arrays = {}
    for parameter in check["parameters"]:
        name, shape = parameter["name"], dims(parameter["type"])
        if parameter["trainable"]:
            arrays[name] = random_parameter(generator, name, shape, has_relu)
        else:
            arrays[name] = np.full(shape, constants[name])
    for state in check["states"]:
        fill = np.ones if state["name"].endswith(".var") else np.zeros
        arrays[state["name"]] = fill(dims(state["type"]))
    return {name: np.asarray(a, np.float32) for name, a in arrays.items()}


def random_batch(check, classes, seed):
    """Inputs by name: numbers of order one, and integers below `classes`."""
    generator = np.random.default_rng(seed)
    batch = {}
    for entry in check["inputs"]:
        shape = dims(entry["type"])
        if entry["type"].startswith("i64"):
            batch[entry["name"]] = generator.integers(0, classes, shape)
        else:
            batch[entry["name"]] = generator.standard_normal(shape, np.float32)
        if len(shape) == 4:  # images have colours, so that samples differ
            colours = generator.standard_normal((*shape[:2], 1, 1), np.float32)
            batch[entry["name"]] += 2 * colours
    return batch
