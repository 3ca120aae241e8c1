"""Compares imported ONNX files with the PyTorch models they were exported from.

    bazel build //tools:reprise
    python3 tools/compare_import_with_torch.py bazel-bin/tools/reprise

wants a Python with torch, torchvision, onnx and onnxscript. Each model is
exported by both exporters, imported with a loss, and run with gradients on
another batch size than the one it was exported with. Outputs, the loss and the
gradient of every parameter are compared with PyTorch's; each figure is the
largest difference, relative to the largest element of the same tensor. What an
exporter transposed, stacked or folded is told by its content (see
peers/parameter_forms.py), and gradients go back through that, so every
parameter of PyTorch's has one: one that has none is a failure, and so is a
trained parameter of the import that stands for none of PyTorch's.

Exit code 1 if any figure is above 1e-3. Sums of some thousand float32 products,
rounded in another order, differ by 1e-6 or so; in twenty layers with batch
statistics and kinks that grows by two orders of magnitude. A wrong formula is
off by far more.
"""

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnxscript
    import torch
    import torchvision
except ImportError as error:
    sys.exit(f"{error}; torch, torchvision, onnx and onnxscript are needed")

from peers import parameter_forms, torch_models, weights

TOLERANCE = 1e-3

# Of the largest gradient: one below it may be 0 but for rounding, as that of a
# bias in front of a normalization is, and is judged as if it were that large.
NOTHING = 1e-3

EXPORTED_BATCH = 3  # not the batch that is run
BATCH = 6

# Exporters and the operator sets that they write.
EXPORTS = {"dynamo": (18, 21, 23), "torchscript": (14, 17, 20)}


def export(case, module, exporter, opset, path):
    """Writes the module; a large one gets a file of weights beside it."""
    example = case.inputs(EXPORTED_BATCH)
    if exporter == "dynamo":
        torch.onnx.export(
            module,
            (example,),
            path,
            dynamo=True,
            opset_version=opset,
            input_names=["x"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            external_data=True,
            optimize=not trains_batch_norm(case, module),
            verbose=False,
        )
        return
    mode = torch.onnx.TrainingMode
    torch.onnx.export(
        module,
        (example,),
        path,
        dynamo=False,
        opset_version=opset,
        input_names=["x"],
        dynamic_axes={"x": {0: "batch"}},
        training=mode.TRAINING if case.training else mode.PRESERVE,
        do_constant_folding=False,
    )


def trains_batch_norm(case, module):
    """Of these the dynamo exporter writes the inference mode, and its optimizer
    folds that into convolutions."""
    norms = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)
    return case.training and any(isinstance(m, norms) for m in module.modules())


class Reprise:
    """The program, in a folder of its own."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def report(self, *arguments):
        found = subprocess.run(
            [self.program, *arguments, "--format=json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if found.returncode != 0:
            raise RuntimeError(found.stderr.strip() or f"exit {found.returncode}")
        return json.loads(found.stdout)

    def run(self, path, options, x, label):
        """Imports and runs; returns contents, gradients, names and results."""
        imported = self.folder / "imported"
        results = self.folder / "results"
        report = self.report("import", path, f"--out={imported}", *options)
        model = str(imported / "model.textproto")
        load = f"--load={imported / 'weights.safetensors'}"
        names = json.loads((imported / "names.json").read_text())["values"]
        trained = [
            parameter["name"]
            for parameter in self.report("check", model)["parameters"]
            if parameter["trainable"]
        ]
        arguments = []
        for name, array in zip(report["inputs"], (x, label)):
            np.save(self.folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / f'{name}.npy'}"]
        arguments += [f"--grad={','.join(trained)}", f"--out-dir={results}"]
        self.report("run", model, load, *arguments)

        def result(name, prefix=""):
            name = name.replace("/", "_").replace(":", "_")
            return np.load(results / f"{prefix}{name}.npy")

        contents = weights.read_safetensors(imported / "weights.safetensors")
        gradients = {name: result(name, "grad.") for name in trained}
        return contents, gradients, names, result(report["outputs"][0]), result("loss")


def largest(array):
    return float(np.max(np.abs(array)))


def difference(found, want, least=0.0):
    """Relative to the largest element of `want`, or to `least` if that is more."""
    if found.shape != want.shape:
        return float("inf")
    off = largest(found - want) / (max(largest(want), least) or 1)
    return off if np.isfinite(off) else float("inf")


def written_opset(path):
    """An exporter may write another version than it is asked for."""
    model = onnx.load(path, load_external_data=False)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    return versions.get("", versions.get("ai.onnx"))


def compare(case, exporter, opset, reprise, seed):
    """One row of the table."""
    module = case.module(seed)
    path = str(reprise.folder / "model.onnx")
    with contextlib.redirect_stdout(io.StringIO()):  # exporters print graphs
        export(case, module, exporter, opset, path)
    opset = written_opset(path)

    # Tracing moved running statistics; they are as they were in a new one.
    module = case.module(seed)
    torch.manual_seed(seed + 1)
    x = case.inputs(BATCH)
    output = module(x)
    label = case.label(output)
    loss = case.loss_of(output, label)
    loss.backward()
    options = [f"--loss={case.loss}"]
    if exporter == "dynamo" and trains_batch_norm(case, module):
        options.append("--train-batch-norm")
    if exporter == "torchscript":  # its files do not tell what is a buffer
        options += [f"--freeze={name}" for name, _ in module.named_buffers()]
    contents, gradients, names, our_output, our_loss = reprise.run(
        path, options, x.numpy(), label.numpy()
    )
    pulled = parameter_forms.pull_back(case.module(seed), contents, gradients, names)
    exact = {n: p.grad.numpy() for n, p in module.named_parameters()}
    nothing = NOTHING * max(largest(gradient) for gradient in exact.values())
    by_parameter = {
        name: difference(pulled.gradients[name], gradient, nothing)
        for name, gradient in exact.items()
        if name in pulled.gradients
    }
    worst = max(by_parameter, key=by_parameter.get)
    row = {
        "opset": opset,
        "parameters": len(by_parameter),
        "forms": ", ".join(f"{n} {kind}" for kind, n in sorted(pulled.kinds.items())),
        "output": difference(our_output, output.detach().numpy()),
        "loss": difference(our_loss.reshape(()), loss.detach().numpy()),
        "gradients": by_parameter[worst],
        "worst": worst,
    }
    problems = []
    if pulled.strangers:
        problems.append("trained, and no parameter: " + ", ".join(pulled.strangers))
    if pulled.missing:
        problems.append("not in the import: " + ", ".join(pulled.missing))
    for key in ("output", "loss", "gradients"):
        if not row[key] <= TOLERANCE:
            problems.append(f"{key} off by {row[key]:.1e}")
    return row, problems


def attempt(flags, name, exporter, opset):
    """As compare; an export or import that fails is a problem, and no row."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if flags.keep:
            folder = flags.keep / f"{name}.{exporter}.{opset}"
            folder.mkdir(parents=True, exist_ok=True)
        reprise = Reprise(str(pathlib.Path(flags.reprise).resolve()), folder)
        case = torch_models.CASES[name]
        try:
            return compare(case, exporter, opset, reprise, flags.seed)
        except Exception as error:  # whatever an exporter raises
            return None, [f"{type(error).__name__}: {error}"]


def line(name, exporter, opset, row):
    if row is None:
        return f"| {name} | {exporter} | {opset} | | | | |"
    return (
        f"| {name} | {exporter} | {row['opset']} "
        f"| {row['parameters']}: {row['forms']} "
        f"| {row['output']:.0e} | {row['loss']:.0e} "
        f"| {row['gradients']:.0e} {row['worst']} |"
    )


def names(text):
    return [name for name in text.split(",") if name]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reprise", help="the program")
    parser.add_argument("--models", type=names, default=list(torch_models.CASES))
    parser.add_argument("--exporters", type=names, default=list(EXPORTS))
    parser.add_argument("--opsets", type=names, default=[], help="in place of all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files")
    flags = parser.parse_args()
    for name in flags.models:
        if name not in torch_models.CASES:
            parser.error(f"{name!r} is none of {', '.join(torch_models.CASES)}")
    for name in flags.exporters:
        if name not in EXPORTS:
            parser.error(f"{name!r} is none of {', '.join(EXPORTS)}")
    return flags


def main():
    flags = parse()
    warnings.filterwarnings("ignore")
    print(
        f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}, "
        f"onnx {onnx.__version__}, onnxscript {onnxscript.__version__}\n"
    )
    print("| model | exporter | opset | parameters | output | loss | gradients |")
    print("|---|---|---|---|---|---|---|")
    passed = failed = 0
    for name in flags.models:
        for exporter in flags.exporters:
            for opset in map(int, flags.opsets or EXPORTS[exporter]):
                row, problems = attempt(flags, name, exporter, opset)
                print(line(name, exporter, opset, row), flush=True)
                for problem in problems:
                    print(f"{name}, {exporter} {opset}: {problem}", file=sys.stderr)
                passed += not problems
                failed += bool(problems)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
