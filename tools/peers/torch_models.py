"""PyTorch models that are exported to ONNX, with random weights.

Each has a batch symbol, dropout of ratio 0, and a loss that `reprise import`
can append. No two parameters are equal and none is constant, so that a
parameter of an imported model can be told by its content, and the exporters,
which store equal ones once, store each.
"""

import dataclasses
import typing

import torch
import torchvision
from torch import nn

CLASSES = 10
VOCABULARY = 50
LENGTH = 9
PADDING = 10  # tokens below it


class Encoder(nn.Module):
    """Tokens, with a table of positions that is a buffer; post-norm."""

    def __init__(self, activation="gelu", norm_first=False):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, 32)
        self.register_buffer("positions", torch.randn(LENGTH, 32))
        layer = nn.TransformerEncoderLayer(
            32,
            4,
            64,
            dropout=0.0,
            activation=activation,
            batch_first=True,
            norm_first=norm_first,
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, CLASSES)

    def masks(self, x):
        return {}

    def forward(self, x):
        y = self.encoder(self.tokens(x) + self.positions, **self.masks(x))
        return self.head(y.mean(1))


class MaskedEncoder(Encoder):
    """Tokens see those before them, padding aside; pre-norm, Relu."""

    def __init__(self):
        super().__init__(activation="relu", norm_first=True)

    def masks(self, x):
        later = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        # Every token sees one at least: the first is no padding.
        padding = (x < PADDING) & (torch.arange(LENGTH) > 0)
        return {
            "mask": later,
            "src_key_padding_mask": torch.where(padding, -torch.inf, 0.0),
            "is_causal": False,
        }


class Recurrent(nn.Module):
    def __init__(self, kind, layers, bidirectional):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, 16)
        self.rnn = kind(
            16, 24, num_layers=layers, bidirectional=bidirectional, batch_first=True
        )
        self.head = nn.Linear(48 if bidirectional else 24, CLASSES)

    def forward(self, x):
        return self.head(self.rnn(self.tokens(x))[0][:, -1])


class Autoencoder(nn.Module):
    """Convolutions down, transposed ones up, groups normalized."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.GroupNorm(8, 32),
            nn.SiLU(),
        )
        self.up = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1),
        )

    def forward(self, x):
        return self.up(self.down(x))


class VisionTransformer(nn.Module):
    """torchvision's, small."""

    def __init__(self):
        super().__init__()
        self.net = torchvision.models.VisionTransformer(
            image_size=32,
            patch_size=8,
            num_layers=2,
            num_heads=4,
            hidden_dim=32,
            mlp_dim=64,
            num_classes=CLASSES,
        )

    def forward(self, x):
        return self.net(x)


def images(batch, size):
    # Samples and channels differ, so that no gradient is nearly nothing.
    colours = torch.randn(batch, 3, 1, 1)
    return torch.randn(batch, 3, size, size) + 2 * colours


def tokens(batch):
    return torch.randint(0, VOCABULARY, (batch, LENGTH))


@dataclasses.dataclass
class Case:
    make: typing.Callable  # the module
    inputs: typing.Callable  # of a batch
    loss: str = "softmax_cross_entropy"
    training: bool = False  # in training mode, which batch norms ask about

    def module(self, seed):
        torch.manual_seed(seed)
        module = self.make()
        for name, parameter in module.named_parameters():
            parameter.data += 0.05 * torch.randn_like(parameter)
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(0.1 * torch.randn_like(buffer))
            elif name.endswith("running_var"):
                buffer.copy_(1 + torch.rand_like(buffer))
        return module.train(self.training)

    def label(self, output):
        if self.loss == "mse":
            return torch.randn_like(output)
        return torch.randint(0, CLASSES, (len(output),))

    def loss_of(self, output, label):
        if self.loss == "mse":
            return nn.functional.mse_loss(output, label)
        return nn.functional.cross_entropy(output, label)


def resnet():
    return torchvision.models.resnet18(num_classes=CLASSES)


def mobilenet():
    return torchvision.models.mobilenet_v2(num_classes=CLASSES, dropout=0.0)


CASES = {
    "resnet18": Case(resnet, lambda n: images(n, 64)),
    "resnet18_training": Case(resnet, lambda n: images(n, 64), training=True),
    "mobilenet_v2": Case(mobilenet, lambda n: images(n, 64)),
    "mobilenet_v2_training": Case(mobilenet, lambda n: images(n, 64), training=True),
    "autoencoder": Case(Autoencoder, lambda n: images(n, 32), loss="mse"),
    "vision_transformer": Case(VisionTransformer, lambda n: images(n, 32)),
    "encoder": Case(Encoder, tokens, training=True),
    "masked_encoder": Case(MaskedEncoder, tokens, training=True),
    "lstm": Case(lambda: Recurrent(nn.LSTM, 1, False), tokens),
    "lstm_deep": Case(lambda: Recurrent(nn.LSTM, 2, True), tokens),
    "gru_deep": Case(lambda: Recurrent(nn.GRU, 2, True), tokens),
}
