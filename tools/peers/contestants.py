"""What runs a model: a worker that holds a peer, and our program."""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import subprocess
import time

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
# Freed memory stays in the process, in huge pages: no page is faulted in twice.
KEPT_HEAP = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
    "glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=67108864"
)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A peer with settings: those of its backend, and of the C library's heap."""

    framework: str
    settings: tuple = ()  # pairs
    kept_heap: bool = False

    def describe(self):
        parts = [f"{key} {value}" for key, value in self.settings]
        return ", ".join(parts + ["kept heap"] * self.kept_heap) or "defaults"


@contextlib.contextmanager
def turn(lock):
    """Holds the file `lock` while something is measured; nothing without one."""
    if not lock:
        yield
        return
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def bind(threads):
    """For a child: one thread gets one processor, whatever its library starts."""
    if threads > 1:
        return None
    first = min(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {first})


def environment(variant, threads):
    changes = {"OMP_NUM_THREADS": str(threads)}
    if variant.kept_heap:
        changes["GLIBC_TUNABLES"] = KEPT_HEAP
    if variant.framework == "jax":
        changes["JAX_PLATFORMS"] = "cpu"
        changes["NPROC"] = str(threads)
        if threads == 1:
            changes["XLA_FLAGS"] = (
                "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            )
    return {**os.environ, **changes}


class Worker:
    """A peer's process; see worker.py for what it can be asked."""

    def __init__(self, python, variant, model, folder, threads):
        job = {
            "framework": variant.framework,
            "model": model,
            "folder": str(folder),
            "threads": threads,
            "settings": dict(variant.settings),
        }
        self.log = folder / "worker.log"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [python, str(WORKER), json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment(variant, threads),
                preexec_fn=bind(threads),
            )
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"{self.log}: the worker ended with code {code}")
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def resident_peak(pid):
    """Most bytes of a process that were resident so far; 0 once it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Reprise:
    """Our program: each question is a process of its own."""

    def __init__(self, program):
        self.program = program

    def text(self, *arguments):
        return subprocess.run(
            [self.program, *arguments], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def report(self, *arguments):
        return json.loads(self.text(*arguments, "--format=json"))

    def bench(self, graph, threads, seconds, *options):
        """The report, and `resident`: the most bytes of the process.

        Half of the seconds are measured without a clock around kernels, and
        these alone count. The rate is as small as the peers'.
        """
        process = subprocess.Popen(
            [
                self.program,
                "bench",
                str(graph),
                "--optimizer=adamw",
                "--lr=1e-7",
                f"--threads={threads}",
                f"--seconds={2 * seconds}",
                "--format=json",
                *options,
            ],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=bind(threads),
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident_peak(process.pid))
            time.sleep(0.02)
        output = process.stdout.read()
        if process.returncode:
            raise RuntimeError(f"reprise bench {graph}: exit {process.returncode}")
        return {**json.loads(output), "resident": peak}


def step_milliseconds(report):
    """(median, min) of a step of `reprise bench`; only the mean where it has no
    more."""
    found = report.get("step_nanoseconds")
    if found:
        return found["median"] / 1e6, found["min"] / 1e6
    mean = 1e3 / report["steps_per_second"]
    return mean, mean
