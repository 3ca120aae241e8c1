"""Compares the lesson's loss and gradients with JAX's, where JAX is installed.

    bazel build //tools:reprise
    python3 tools/compare_lesson_with_jax.py bazel-bin/tools/reprise

Runs the three lesson models on random and on negative inputs with random
weights, and prints the largest difference of each result, relative to its
largest element. Exit code 1 if one is above 1e-5: sums of some hundred float32
products, rounded in another order, differ by less.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    sys.exit("JAX is not installed; `pip install jax` does that")

TOLERANCE = 1e-5
BATCH, WIDTH = 12, 16
NAMES = ("x", "w1", "w2", "w3")
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def loss(x, w1, w2, w3):
    """The lesson."""
    y1 = jax.nn.relu(x @ w1)
    y2 = jax.nn.relu(y1 @ w2)
    y3 = y2 @ w3
    return jnp.sum(y3**2)


def write_safetensors(path, arrays):
    """Float32 arrays by name, in the format of safetensors."""
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def reprise_results(program, model, arrays, folder):
    """The loss and the gradients that `reprise run` writes."""
    np.save(folder / "x.npy", arrays["x"])
    weights = {name: arrays[name] for name in NAMES if name != "x"}
    write_safetensors(folder / "weights.safetensors", weights)
    subprocess.run(
        [
            program,
            "run",
            str(EXAMPLES / (model + ".textproto")),
            "--input",
            "x=%s" % (folder / "x.npy"),
            "--grad=" + ",".join(NAMES),
            "--load=%s" % (folder / "weights.safetensors"),
            "--out-dir=%s" % folder,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return [np.load(folder / "loss.npy")] + [
        np.load(folder / ("grad.%s.npy" % name)) for name in NAMES
    ]


def main(program):
    worst = 0.0
    for model in ("lesson", "lesson_layer", "lesson_two_layers"):
        for inputs, low, high in (("random", -1, 1), ("negative", -2, -1)):
            random = np.random.default_rng(1)
            arrays = {"x": random.uniform(low, high, (BATCH, WIDTH)).astype(np.float32)}
            for name in NAMES[1:]:
                arrays[name] = random.uniform(-1, 1, (WIDTH, WIDTH)).astype(np.float32)
            values = [jnp.asarray(arrays[name]) for name in NAMES]
            expected = [loss(*values), *jax.grad(loss, argnums=(0, 1, 2, 3))(*values)]
            with tempfile.TemporaryDirectory() as folder:
                results = reprise_results(program, model, arrays, pathlib.Path(folder))
            for name, result, want in zip(("loss", *NAMES), results, expected):
                want = np.asarray(want)
                difference = np.max(np.abs(result - want)) / np.max(np.abs(want))
                worst = max(worst, difference)
                what = name if name == "loss" else "gradient of " + name
                print("%-17s %-8s %-14s %.2e" % (model, inputs, what, difference))
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
