"""Bits per character of a text's end under a context model of its beginning.

    python3 tools/context_model.py FILE [--order=2] [--holdout=0.1] [--characters=N]

The model predicts a byte from the `order` bytes before it, by what followed them
in the part that it learns from: the file without its last bytes, a fraction
`holdout` of it. Orders are mixed as Witten and Bell do: after a context that
was seen n times with d different bytes behind it, the next lower order has the
weight d / (n + d); below order 0 stands 1 / 256. With --characters only so many
of the bytes held out count: those that whole windows of a model cover.

source: Witten and Bell (1991), "The zero-frequency problem",
doi:10.1109/18.87000, method C.
"""

import argparse
import collections
import math


def held_out_bytes(size, holdout):
    """How many bytes `reprise train --holdout` holds out of a text."""
    return math.floor(holdout * size + 0.5)


def bits_per_character(text, order, holdout, characters=None):
    """The mean of -log2 p over the bytes held out, or the first of them."""
    cut = len(text) - held_out_bytes(len(text), holdout)
    end = len(text) if characters is None else min(len(text), cut + characters)
    followers = [collections.defaultdict(collections.Counter) for _ in range(order + 1)]
    for at in range(cut):
        for length in range(min(order, at) + 1):
            followers[length][text[at - length : at]][text[at]] += 1

    bits = 0.0
    for at in range(cut, end):
        probability = 1 / 256
        for length in range(order + 1):
            seen = followers[length].get(text[at - length : at])
            if seen is None:
                break
            times, different = sum(seen.values()), len(seen)
            probability = (seen[text[at]] + different * probability) / (times + different)
        bits -= math.log2(probability)
    return bits / (end - cut)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--holdout", type=float, default=0.1)
    parser.add_argument("--characters", type=int)
    args = parser.parse_args()
    with open(args.file, "rb") as file:
        text = file.read()
    print("%.4f" % bits_per_character(text, args.order, args.holdout, args.characters))


if __name__ == "__main__":
    main()
