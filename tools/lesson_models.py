"""The three models of the lesson: one net, its region drawn wider and wider."""

from model_text import Model


def lesson(name, comment, region, nodes_inside):
    """The lesson's net of three layers with a region around some nodes."""
    model = Model(name, comment, {"batch": 1024, "width": 64})
    model.blank()
    model.input("x", "FLOAT32", ["batch", "width"])
    for weight in ("w1", "w2", "w3"):
        model.parameter(weight, ["width", "width"], "identity: true")
    model.blank()
    for node, op, inputs, output in (
        ("matmul1", "MatMul", ["x", "w1"], "z1"),
        ("relu1", "Relu", ["z1"], "y1"),
        ("matmul2", "MatMul", ["y1", "w2"], "z2"),
        ("relu2", "Relu", ["z2"], "y2"),
        ("matmul3", "MatMul", ["y2", "w3"], "y3"),
        ("square", "Square", ["y3"], "squares"),
    ):
        model.node(node, op, inputs, [output], region if node in nodes_inside else "")
    model.node("sum", "ReduceSum", ["squares"], ["loss"], keepdims=0)
    model.blank()
    model.region(region)
    model.output("loss")
    model.loss("loss")
    return model


def lesson_models():
    yield lesson(
        "lesson",
        """
        Checkpointing one matmul changes nothing.

          y1 = relu(x w1)
          y2 = relu(region{ y1 w2 })
          y3 = y2 w3
          loss = sum(y3^2)

        What backward reads, with B = batch and W = width:

          gradient of   reads          so this is kept   bytes
          square        its input      y3                4 B W
          matmul3       its operands   y2 (and w3)       4 B W
          relu2         its output     y2, once more     -
          matmul2       its operands   y1 (and w2)       4 B W
          relu1         its output     y1, once more     -
          matmul1       its operands   x                 0, as x is an input

        z2 = y1 w2, the only value that the region may drop, is not in the list: the
        gradient of a product reads its operands, not the product. So the residuals
        are those of the net without the region, nothing is replayed, and the verdict
        is `no effect`:

          reprise residuals lesson.textproto

        With identity weights and x = [[1, 1]]: y1 = y2 = y3 = [[1, 1]], loss = 2.
        Then dy3 = 2 y3 = [[2, 2]]; the gradient of each weight is [[2, 2], [2, 2]]
        and that of x is [[2, 2]]:

          reprise run lesson.textproto --set batch=1 --set width=2 \\
            --input x=x.npy --grad=x,w1,w2,w3

        lesson_layer.textproto and lesson_two_layers.textproto draw the region wider.
        """,
        "product",
        {"matmul2"},
    )
    yield lesson(
        "lesson_layer",
        """
        Checkpointing a whole layer, matmul and relu, still changes nothing.

          y1 = relu(x w1)
          y2 = region{ relu(y1 w2) }
          y3 = y2 w3
          loss = sum(y3^2)

        y2 is the region's output, and the gradient of w3, outside of the region,
        reads it: y2 is kept, and what is kept serves the gradient of relu2 too. The
        gradient of matmul2 reads y1, the region's input, which relu1 keeps anyway.
        The region drops only z2 = y1 w2, which nobody reads:

          residuals with and without the region   y1, y2, y3, of 4 B W bytes each
          replayed                                nothing
          verdict                                 no effect

        lesson.textproto has the table of who reads what; lesson_two_layers.textproto
        draws the region wide enough.
        """,
        "layer2",
        {"matmul2", "relu2"},
    )
    yield lesson(
        "lesson_two_layers",
        """
        Checkpointing two layers at once drops what lies between them.

          y2 = region{ y1 = relu(x w1), relu(y1 w2) }
          y3 = y2 w3
          loss = sum(y3^2)

        y1 is now inside of the region, neither its input nor its output, so it is not
        kept: backward replays matmul1 and relu1 from x, which as an input costs
        nothing to keep. y2 is kept for the gradient of w3, so matmul2 and relu2 are
        not replayed.

        What that buys, with B = 1024 rows and W = 64 columns, in units of
        T = 4 B W = 262,144 bytes (weights and their gradients, of 4 W W = 16,384
        bytes each, come on top of either column):

          what lives at the step            without region     with it
          relu1                             x y1            2  x y1          2
          relu2                             x y1 y2         3  x y1 y2       3
          square of y3                      x y1 y2 y3 y3^2 5  x y2 y3 y3^2  4
          dy3 = 2 y3, in the bytes of y3    x y1 y2 dy3     4  x y2 dy3      3
          dy2 = dy3 w3^T                    x y1 y2 dy3 dy2 5  x y2 dy3 dy2  4
          dz2 = dy2 where y2 > 0, in place  x y1 dz2        3  x dz2         2
          matmul1, relu1 once more                             x dz2 y1      3
          dy1 = dz2 w2^T                    x y1 dz2 dy1    4  x dz2 y1 dy1  4

        The highest step falls from 5 T to 4 T, 262,144 bytes, for one matmul and one
        relu replayed; scratchpads of matmuls, which come on top and depend on the
        CPU, may take some of it back. The verdict is `saves`.
        """,
        "two_layers",
        {"matmul1", "relu1", "matmul2", "relu2"},
    )
