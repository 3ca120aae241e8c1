"""The zoo's models, once, over the operators of a backend.

A model takes a backend and a batch and returns the loss. A backend knows the
parameters by our names, so `b.linear(x, "first")` reads first.w and first.b; it
chooses layouts itself: nothing here depends on where channels are.
`b.block(f, x, ...)` is f(x, ...), checkpointed where that is asked for; blocks
are those of `reprise zoo NAME --regions=block`.
"""

MOBILENET_STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
RESNET_STAGES = (3, 4, 6, 3)
UNET_LEVELS = 4


def mlp(b, batch):
    x = b.relu(b.linear(batch["x"], "first"))
    for name in b.blocks("block%d", ".linear.w"):
        x = b.block(lambda x, n=name: b.relu(b.linear(x, n + ".linear")), x)
    return b.cross_entropy(b.linear(x, "logits"), batch["label"])


def conv_norm_relu(b, x, name, suffix, stride=1, groups=1):
    x = b.conv(x, f"{name}.conv{suffix}", stride, groups)
    return b.relu(b.batch_norm(x, f"{name}.norm{suffix}"))


def classify(b, x, batch):
    scores = b.linear(b.average(x), "logits")
    return b.cross_entropy(scores, batch["label"])


def cnn(b, batch):
    def block(x, name, stride):
        x = conv_norm_relu(b, x, name, "1", stride)
        return conv_norm_relu(b, x, name, "2")

    x = b.relu(b.conv(b.image(batch["x"]), "first", 1))
    for name in b.blocks("block%d", ".conv1.w"):
        stride = 1 if name == "block1" else 2
        x = b.block(lambda x, n=name, s=stride: block(x, n, s), x)
    return classify(b, x, batch)


def resnet50(b, batch):
    def block(x, name, stride):
        y = conv_norm_relu(b, x, name, "1")
        y = conv_norm_relu(b, y, name, "2", stride)
        y = b.batch_norm(b.conv(y, name + ".conv3", 1), name + ".norm3")
        if b.has(name + ".shortcut.conv.w"):
            x = b.conv(x, name + ".shortcut.conv", stride)
            x = b.batch_norm(x, name + ".shortcut.norm")
        return b.relu(y + x)

    x = conv_norm_relu(b, b.image(batch["x"]), "stem", "", 2)
    x = b.max_pool(x, 3, 2, 1)
    for stage, blocks in enumerate(RESNET_STAGES, 1):
        for i in range(1, blocks + 1):
            name = f"stage{stage}.block{i}"
            stride = 2 if stage > 1 and i == 1 else 1
            x = b.block(lambda x, n=name, s=stride: block(x, n, s), x)
    return classify(b, x, batch)


def mobilenet_v1(b, batch):
    def block(x, name, stride):
        x = conv_norm_relu(b, x, name, "1", stride, b.channels(x))
        return conv_norm_relu(b, x, name, "2")

    x = conv_norm_relu(b, b.image(batch["x"]), "stem", "", 2)
    for i, stride in enumerate(MOBILENET_STRIDES, 1):
        x = b.block(lambda x, n=f"block{i}", s=stride: block(x, n, s), x)
    return classify(b, x, batch)


def unet(b, batch):
    def two(x, name):
        return conv_norm_relu(b, conv_norm_relu(b, x, name, "1"), name, "2")

    def down(x, name):
        x = two(x, name)
        return x, b.max_pool(x, 2, 2, 0)

    def up(x, skip, name):
        x = b.double(x, name + ".rise")
        return two(b.join(skip, x), name)

    x, skips = b.image(batch["x"]), []
    for i in range(1, UNET_LEVELS + 1):
        skip, x = b.block(lambda x, n=f"down{i}": down(x, n), x)
        skips.append(skip)
    x = b.block(lambda x: two(x, "bottom"), x)
    for i in range(UNET_LEVELS, 0, -1):
        x = b.block(lambda x, s, n=f"up{i}": up(x, s, n), x, skips.pop())
    return b.cross_entropy(b.conv(x, "logits", 1), batch["label"])


def transformer_blocks(b, x, heads, length, epsilon):
    def block(x, name):
        y = b.layer_norm(x, name + ".norm1", epsilon)
        y = b.attention(b.linear(y, name + ".qkv"), heads, length)
        x = x + b.linear(y, name + ".out")
        y = b.layer_norm(x, name + ".norm2", epsilon)
        y = b.gelu(b.linear(y, name + ".up"))
        return x + b.linear(y, name + ".down")

    for name in b.blocks("block%d", ".qkv.w"):
        x = b.block(lambda x, n=name: block(x, n), x)
    return x


def gpt(b, batch, heads=8):
    tokens, targets = batch["tokens"], batch["targets"]
    x = b.rows(b.embedding(tokens, "embedding") + b.parameter("places"))
    x = transformer_blocks(b, x, heads, tokens.shape[1], 1e-5)
    scores = b.linear(b.layer_norm(x, "norm", 1e-5), "logits")
    return b.cross_entropy(scores, targets.reshape(-1))


def gpt2_small(b, batch):
    return gpt(b, batch, heads=12)


def vit_tiny(b, batch):
    x = b.linear(b.patches(batch["x"], 16), "patches")
    x = b.prepend(x, b.parameter("class.token")) + b.parameter("places")
    length = x.shape[1]
    x = transformer_blocks(b, b.rows(x), 3, length, 1e-6)
    x = x.reshape(-1, length, x.shape[-1])[:, 0]
    scores = b.linear(b.layer_norm(x, "norm", 1e-6), "logits")
    return b.cross_entropy(scores, batch["label"])


MODELS = {
    model.__name__: model
    for model in (mlp, cnn, gpt, resnet50, mobilenet_v1, unet, gpt2_small, vit_tiny)
}
