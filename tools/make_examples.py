"""Writes the models of examples/.

    python3 tools/make_examples.py [FOLDER]

FOLDER is where the files go; by default `examples` beside this script's folder.
With the standard library only.
"""

import pathlib
import sys

from lesson_models import lesson_models
from model_text import Model, dims

HE = "variance_scaling { scale: 2 mode: FAN_IN }"
GLOROT = "variance_scaling { scale: 1 mode: FAN_AVG }"
ZEROS = "constant: 0"
ONES = "constant: 1"


def gemm_layer(model, name, x, in_size, out_size, initializer, region="", activation=None):
    """x w + b, and an activation; returns its output."""
    model.blank()
    w = model.parameter(name + ".w", [in_size, out_size], initializer)
    b = model.parameter(name + ".b", [out_size], ZEROS)
    y = model.node(name + ".gemm", "Gemm", [x, w, b], [name + ".z"], region)
    if activation:
        y = model.node(name + ".relu", activation, [y], [name + ".y"], region)
    return y


def classifier_end(model, logits, labels, regions):
    """The loss, the regions and what the model returns."""
    model.blank()
    model.node("cross_entropy", "SoftmaxCrossEntropyLoss", [logits, labels], ["loss"])
    model.blank()
    for region in regions:
        model.region(region)
    model.output(logits)
    model.loss("loss")
    return model


def digits_mlp():
    model = Model(
        "digits_mlp",
        """
        A classifier of handwritten digits: four hidden layers in two regions.

        Data: 1,797 images of 8x8 pixels, 0 to 16, in data/digits.csv.gz. Four fifths
        of the rows train, a fifth tests; seconds in all:

          reprise train digits_mlp.textproto --data=data/digits.csv.gz \\
            --scale=0.0625 --holdout=0.2 --epochs=30 \\
            --config=digits_mlp.train.textproto --save=digits.safetensors

        What the regions do, with T = 4 x 32 x 128 = 16,384 bytes for an activation of
        a batch of 32 rows (h1 to h4 are the outputs of the hidden layers):

          lower = hidden layers 1 and 2: h1 is not kept, but replayed; h2 is kept, as
            the gradient of hidden3.w, outside of the region, reads it.
          upper = hidden layers 3 and 4: h3 is replayed; h4 is kept for logits.w.

        Most bytes are alive where hidden4.w gets its gradient from h3: with both
        regions x, h2, h3, h4's gradient and h3's, made just before, are there;
        without `lower` h1 too, so `lower` saves T. `upper` does not: h3 is needed
        just there, kept or replayed. Its verdict is `costs more`.
        """,
        {"batch": 32},
    )
    model.blank()
    x = model.input("x", "FLOAT32", ["batch", 64])
    model.input("label", "INT64", ["batch"])
    for i, (in_size, region) in enumerate(
        [(64, "lower"), (128, "lower"), (128, "upper"), (128, "upper")], start=1
    ):
        x = gemm_layer(model, "hidden%d" % i, x, in_size, 128, HE, region, "Relu")
    logits = gemm_layer(model, "logits", x, 128, 10, GLOROT)
    return classifier_end(model, logits, "label", ["lower", "upper"])


DEEP_LAYERS = 64
DEEP_REGION = 8


def deep_mlp():
    model = Model(
        "deep_mlp",
        """
        64 equal layers, 8 to a region: what checkpointing is for.

          layer i:  x_i = x_{i-1} + relu(x_{i-1} w_i + b_i)

        The input has the width of the layers, 64, so digits fit (see
        digits_mlp.textproto for the data); ten classes at the end.

        A layer's backward reads x_{i-1}, for the gradient of w_i, and the relu's
        output r_i; the sum's gradient reads nothing. With T = 4 x batch x 64 bytes,
        65,536 for a batch of 256, the residuals are

          without regions: r_1 to r_64 and x_1 to x_64            128 T
          with regions:    x_8, x_16, .. x_64, the regions' outputs  8 T

        and one pass of the layers' forward is paid for it, less the last sum of each
        region, which nothing in its backward reads. (x_64 is read by the gradient of
        the last matrix, which is in no region; all the logits' part stays as it is.)

          reprise residuals deep_mlp.textproto
        """,
        {"batch": 256},
    )
    model.blank()
    x = model.input("x", "FLOAT32", ["batch", 64])
    model.input("label", "INT64", ["batch"])
    regions = []
    for i in range(1, DEEP_LAYERS + 1):
        region = "layers%d_%d" % (
            (i - 1) // DEEP_REGION * DEEP_REGION + 1,
            ((i - 1) // DEEP_REGION + 1) * DEEP_REGION,
        )
        if region not in regions:
            regions.append(region)
        name = "layer%d" % i
        r = gemm_layer(
            model, name, x, 64, 64, "variance_scaling { scale: 0.1 mode: FAN_IN }", region, "Relu"
        )
        x = model.node(name + ".add", "Add", [x, r], [name + ".x"], region)
    logits = gemm_layer(model, "logits", x, 64, 10, GLOROT)
    return classifier_end(model, logits, "label", regions)


def mnist_cnn():
    model = Model(
        "mnist_cnn",
        """
        A convolutional classifier of MNIST's digits: two blocks and a head, each a
        region.

          block i:  convolution 3x3, batch normalization, relu, max-pool 2x2, dropout
          head:     a hidden layer with dropout

        Data: MNIST's four idx files, 28x28 pixels; bytes become fractions of 255:

          reprise train mnist_cnn.textproto --epochs=3 \\
            --data=train-images-idx3-ubyte.gz,train-labels-idx1-ubyte.gz \\
            --eval-data=t10k-images-idx3-ubyte.gz,t10k-labels-idx1-ubyte.gz \\
            --config=mnist_cnn.train.textproto --save=mnist.safetensors

        Bytes of a batch of 64, with c = 4 x 64 x 16 x 28 x 28 = 3,211,264 for what
        block1's convolution gives (block2's: c / 2, as 32 channels are 14 x 14).
        Kept for the backward pass, whatever the regions do:

          block1.y        c / 4   for the gradient of block2's filters    802,816
          block2.y        c / 8   for the gradient of hidden.w            401,408
          hidden.dropped          4 x 64 x 128, for that of logits.w       32,768
          logits.z                4 x 64 x 10, for that of the loss         2,560
                                                                        1,239,552

        and in place of these, replayed from a region's input:

          block1   the convolution's result, read by the normalization's gradient,
                   and the relu's, read by its own, c each; one byte for each result
                   of the max-pool, c / 16, for where it came from: 6,623,232
          block2   the same in half: 3,311,616
          head     the relu's result: 32,768

        Nothing is kept for dropout, whose mask is drawn again, nor the results of
        normalization and max-pool, which no gradient reads.

        Most bytes are alive where block1's max-pool has its gradient made: its
        convolution, relu and the relu's gradient (3 c), the places (c / 16), the
        gradient from above (c / 4), x, logits.z and the loss, on top of 2,484,352
        for parameters and Adam's state: 13,324,992. Without `block1` it would be the
        same place in block2, with what block1 then keeps beside it: 15,432,384. So
        `block1` saves 2,107,392 bytes; `block2` and `head` are not at the peak, and
        cost more. Scratchpads, which depend on the CPU, may change that a little.
        """,
        {"batch": 64},
    )
    model.blank()
    x = model.input("x", "FLOAT32", ["batch", 1, 28, 28])
    model.input("label", "INT64", ["batch"])
    for i, (in_channels, channels) in enumerate([(1, 16), (16, 32)], start=1):
        name = region = "block%d" % i
        model.blank()
        w = model.parameter(name + ".conv.w", [channels, in_channels, 3, 3], HE)
        scale = model.parameter(name + ".norm.scale", [channels], ONES)
        bias = model.parameter(name + ".norm.bias", [channels], ZEROS)
        mean = model.state(name + ".norm.mean", [channels], 0, name + ".norm.next_mean")
        var = model.state(name + ".norm.var", [channels], 1, name + ".norm.next_var")
        x = model.node(
            name + ".conv", "Conv", [x, w], [name + ".conv.y"], region,
            kernel_shape=[3, 3], pads=[1, 1, 1, 1],
        )
        x = model.node(
            name + ".norm", "BatchNormalization", [x, scale, bias, mean, var],
            [name + ".norm.y", name + ".norm.next_mean", name + ".norm.next_var"], region,
        )
        x = model.node(name + ".relu", "Relu", [x], [name + ".relu.y"], region)
        x = model.node(
            name + ".pool", "MaxPool", [x], [name + ".pool.y"], region,
            kernel_shape=[2, 2], strides=[2, 2],
        )
        x = model.node(name + ".drop", "Dropout", [x], [name + ".y"], region, ratio=0.1)
    model.blank()
    x = model.node("flatten", "Flatten", [x], ["flat"])
    x = gemm_layer(model, "hidden", x, 32 * 7 * 7, 128, HE, "head", "Relu")
    x = model.node("hidden.drop", "Dropout", [x], ["hidden.dropped"], "head", ratio=0.4)
    logits = gemm_layer(model, "logits", x, 128, 10, GLOROT)
    return classifier_end(model, logits, "label", ["block1", "block2", "head"])


CHAR_WINDOW = 64
CHAR_WIDTH = 64
CHAR_HEADS = 4
CHAR_BLOCKS = 4
CHAR_DROPOUT = 0.2


def char_transformer():
    window, width, heads = CHAR_WINDOW, CHAR_WIDTH, CHAR_HEADS
    model = Model(
        "char_transformer",
        """
        A small transformer that predicts the next byte of a text: embedding, four
        blocks with causal attention, each a region.

          block:  x = x + attention(norm(x));  x = x + mlp(norm(x))

        Data: any text. Here the licence that every Debian system has; the last tenth
        of it is held out:

          cp /usr/share/common-licenses/GPL-3 gpl.txt
          reprise train char_transformer.textproto --data=gpl.txt --holdout=0.1 \\
            --steps=2000 --config=char_transformer.train.textproto

        Bytes of a batch of 32, with E = 4 x 32 x 64 x 64 = 524,288 for the stream x,
        32 windows of 64 letters with 64 numbers each. Four heads' scores of 64 by 64
        letters are 4 E, and so is the mlp's hidden layer. A block without its region
        would keep 23 E and statistics:

          norm1's result, for the gradients of the weights of q, k and v       1 E
          q, k and v as the products read them                                 3 E
          softmax's result, for its own gradient, and after dropout            8 E
          what attention gives, for the gradient of out.w                      1 E
          x after attention, for the gradient of norm2, and norm2's result     2 E
          gelu's operand, for its own gradient, and its result, for down.w's   8 E
          the two norms' mean and deviation of 2,048 rows, 8,192 each          32,768

        12,091,392 in all. With the region all of that is replayed from x. Kept are:

          x before each of the blocks and after the last, for the last norm    5 E
          the last norm's result, for the gradient of head                     1 E
          its mean and deviation of 2,048 rows                                 16,384
          logits, 4 x 2,048 x 256, for the gradient of the loss                4 E

        5,259,264 instead of 53,624,832 bytes, for one more forward pass of the
        blocks. Most bytes are alive where the backward pass enters block4, which has
        then been replayed: the other regions save all of their 12,091,392 there,
        block4 a part.
        """,
        {"batch": 32},
    )
    model.blank()
    model.input("tokens", "INT64", ["batch", window])
    model.input("targets", "INT64", ["batch", window])
    normal = "normal { mean: 0 stddev: 0.02 }"

    model.blank("A letter, and its place in the window.")
    table = model.parameter("embedding", [256, width], normal)
    places = model.parameter("places", [window, width], normal)
    x = model.node("embed", "Gather", [table, "tokens"], ["embedded"], axis=0)
    x = model.node("place", "Add", [x, places], ["placed"])
    x = model.node("embed.drop", "Dropout", [x], ["x0"], ratio=CHAR_DROPOUT)

    model.blank("Added to scores: a letter must not see those after it.")
    rows = [
        ", ".join("0" if column <= row else "-1e9" for column in range(window))
        for row in range(window)
    ]
    model.parameter(
        "mask",
        [window, window],
        "value { type { dtype: FLOAT32 %s } f: [\n    %s] }"
        % (dims([window, window]), ",\n    ".join(rows)),
        "trainable: false",
    )

    regions = []
    for i in range(1, CHAR_BLOCKS + 1):
        region = block = "block%d" % i
        regions.append(region)

        def node(name, op, inputs, region=region, block=block, **attributes):
            name = "%s.%s" % (block, name)
            return model.node(name, op, inputs, [name + ".y"], region, **attributes)

        def linear(name, x, in_size, out_size, initializer=normal, block=block, node=node):
            w = model.parameter("%s.%s.w" % (block, name), [in_size, out_size], initializer)
            b = model.parameter("%s.%s.b" % (block, name), [out_size], ZEROS)
            return node(name + ".add", "Add", [node(name, "MatMul", [x, w]), b])

        def norm(name, x, block=block, node=node):
            scale = model.parameter("%s.%s.scale" % (block, name), [width], ONES)
            bias = model.parameter("%s.%s.bias" % (block, name), [width], ZEROS)
            return node(name, "LayerNormalization", [x, scale, bias], axis=-1)

        # What is added to the stream of x starts small, the smaller the more is added.
        last = "normal { mean: 0 stddev: %g }" % (0.02 / (2 * CHAR_BLOCKS) ** 0.5)

        model.blank()
        normed = norm("norm1", x)
        split = {}
        for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            y = linear(part, normed, width, width)
            y = node(part + ".heads", "Reshape", [y], shape=[0, 0, heads, width // heads])
            split[part] = node(part + ".turn", "Transpose", [y], perm=perm)
        factor = model.parameter(
            block + ".factor", [], "constant: %g" % (width // heads) ** -0.5, "trainable: false"
        )
        q = node("scale", "Mul", [split["q"], factor])
        scores = node("scores", "MatMul", [q, split["k"]])
        scores = node("causal", "Add", [scores, "mask"])
        weights = node("weights", "Softmax", [scores], axis=-1)
        weights = node("weights.drop", "Dropout", [weights], ratio=CHAR_DROPOUT)
        y = node("attend", "MatMul", [weights, split["v"]])
        y = node("turn", "Transpose", [y], perm=[0, 2, 1, 3])
        y = node("join", "Reshape", [y], shape=[0, 0, width])
        y = linear("out", y, width, width, last)
        y = node("out.drop", "Dropout", [y], ratio=CHAR_DROPOUT)
        x = node("residual1", "Add", [x, y])

        normed = norm("norm2", x)
        y = linear("up", normed, width, 4 * width)
        y = node("gelu", "Gelu", [y], approximate="tanh")
        y = linear("down", y, 4 * width, width, last)
        y = node("down.drop", "Dropout", [y], ratio=CHAR_DROPOUT)
        x = node("residual2", "Add", [x, y])

    model.blank()
    scale = model.parameter("norm.scale", [width], ONES)
    bias = model.parameter("norm.bias", [width], ZEROS)
    x = model.node("norm", "LayerNormalization", [x, scale, bias], ["normed"], axis=-1)
    x = model.node("flat", "Reshape", [x], ["flat.x"], shape=[-1, width])
    head = model.parameter("head", [width, 256], normal)
    logits = model.node("predict", "MatMul", [x, head], ["logits"])
    labels = model.node("flat.targets", "Reshape", ["targets"], ["labels"], shape=[-1])
    return classifier_end(model, logits, labels, regions)


def main(folder):
    models = [*lesson_models(), digits_mlp(), deep_mlp(), mnist_cnn(), char_transformer()]
    for model in models:
        (folder / (model.name + ".textproto")).write_text(model.text(), encoding="utf-8")


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "examples")
