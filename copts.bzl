"""Compiler options that a target's code needs wherever it is built.

Warnings are not among them: .bazelrc switches them on, as errors, for the code
of this repository only, so no target has to name them and no embedder meets them.
"""

REPRISE_COPTS = ["-fopenmp"]
