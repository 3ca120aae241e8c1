"""A process that trains one model in one framework, on command.

    worker.py '{"framework": "torch", "model": "mlp", "folder": FOLDER, ...}'

FOLDER has weights.safetensors, batch.npz and trained.json (the names of the
parameters that get a gradient). Each line of the input is a command, each line
of the output its answer, as JSON:

  measure SECONDS    steps for that long, at least two: median and least
                     milliseconds, and their number
  memory             bytes resident before the model was built (the framework
                     loaded and warm: it has trained a tiny model), at the peak
                     of everything since, and at the peak of two steps alone
  gradients FILE     loss; gradients of all parameters into a .npz file
"""

import importlib
import json
import os
import pathlib
import sys
import time

import numpy as np

import weights


def resident(key):
    """Bytes of VmRSS, now, or VmHWM, at the peak."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key + ":"):
                return 1024 * int(line.split()[1])
    raise KeyError(key)


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def tiny_trainer(backend, settings):
    """An mlp of a few numbers, that loads what a first step loads."""
    generator = np.random.default_rng(0)
    arrays = {}
    for name in ("first", "block1.linear", "logits"):
        arrays[name + ".w"] = generator.standard_normal((8, 8), np.float32)
        arrays[name + ".b"] = generator.standard_normal(8, np.float32)
    batch = {
        "x": generator.standard_normal((4, 8), np.float32),
        "label": generator.integers(0, 8, 4),
    }
    return backend.Trainer("mlp", arrays, list(arrays), batch, settings)


def load_trainer(backend, job):
    folder = pathlib.Path(job["folder"])
    arrays = weights.read_safetensors(folder / "weights.safetensors")
    trained = json.loads((folder / "trained.json").read_text())
    batch = dict(np.load(folder / "batch.npz"))
    return backend.Trainer(job["model"], arrays, trained, batch, job["settings"])


def measure(trainer, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        trainer.step()
        times.append(1e3 * (time.perf_counter() - start))
    return {
        "median": float(np.median(times)),
        "min": min(times),
        "steps": len(times),
    }


def memory(trainer, base):
    peak = resident("VmHWM")
    reset_peak()
    for _ in range(2):
        trainer.step()
    step_peak = resident("VmHWM")
    return {"base": base, "peak": max(peak, step_peak), "step_peak": step_peak}


def gradients(trainer, path):
    loss, found = trainer.gradients()
    np.savez(path, **found)
    return {"loss": loss}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print does not mix with answers
    job = json.loads(sys.argv[1])
    backend = importlib.import_module(job["framework"] + "_backend")
    backend.set_threads(job["threads"])
    tiny = tiny_trainer(backend, job["settings"])
    for _ in range(2):
        tiny.step()
    del tiny
    reset_peak()
    base = resident("VmRSS")
    trainer = load_trainer(backend, job)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "measure":
            answer = measure(trainer, float(arguments[0]))
        elif command == "memory":
            answer = memory(trainer, base)
        elif command == "gradients":
            answer = gradients(trainer, arguments[0])
        else:
            raise ValueError(f"unknown command {command}")
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
