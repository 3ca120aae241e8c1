"""The models in JAX: one jitted step with donated buffers, AdamW within.

Settings:
  layout     "last" or "first": where channels of images are
  checkpoint jax.checkpoint around every block
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models import MODELS

DEFAULTS = {"layout": "last", "checkpoint": False}
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-7, 0.9, 0.999, 1e-8, 0.01


class Backend:
    """What models.py asks for, over arrays by name.

    updates: the states that batch norms replace.
    """

    def __init__(self, arrays, settings):
        self.arrays = arrays
        self.settings = settings
        self.updates = {}
        last = settings["layout"] == "last"
        self.channel_axis = 3 if last else 1
        self.pixel_axes = (1, 2) if last else (2, 3)
        image, kernel = ("NHWC", "HWIO") if last else ("NCHW", "OIHW")
        self.conv_layout = (image, kernel, image)

    def has(self, name):
        return name in self.arrays

    def parameter(self, name):
        return self.arrays[name]

    def blocks(self, pattern, suffix):
        i = 1
        while self.has(pattern % i + suffix):
            yield pattern % i
            i += 1

    def block(self, function, *inputs):
        if not self.settings["checkpoint"]:
            return function(*inputs)

        @jax.checkpoint
        def pure(*inputs):
            outer, self.updates = self.updates, {}
            results = function(*inputs)
            updates, self.updates = self.updates, outer
            return results, updates

        results, updates = pure(*inputs)
        self.updates.update(updates)
        return results

    def linear(self, x, name):
        return x @ self.arrays[name + ".w"] + self.arrays[name + ".b"]

    def relu(self, x):
        return jax.nn.relu(x)

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=False)

    def image(self, x):
        return x

    def channels(self, x):
        return x.shape[self.channel_axis]

    def along_channels(self, vector):
        """A vector of a number for each channel, to be broadcast over images."""
        return vector if self.channel_axis == 3 else vector[:, None, None]

    def conv(self, x, name, stride, groups=1):
        w = self.arrays[name + ".w"]
        kernel = w.shape[0] if self.channel_axis == 3 else w.shape[-1]
        pad = kernel // 2
        y = lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            ((pad, pad), (pad, pad)),
            dimension_numbers=self.conv_layout,
            feature_group_count=groups,
        )
        if self.has(name + ".b"):
            y = y + self.along_channels(self.arrays[name + ".b"])
        return y

    def batch_norm(self, x, name):
        axes = (0, *self.pixel_axes)
        mean = x.mean(axes)
        var = jnp.maximum((x * x).mean(axes) - mean * mean, 0)
        count = x.size // mean.size
        for suffix, new in ((".mean", mean), (".var", var * (count / (count - 1)))):
            old = self.arrays[name + suffix]
            self.updates[name + suffix] = lax.stop_gradient(0.9 * old + 0.1 * new)
        factor = self.arrays[name + ".scale"] * lax.rsqrt(var + 1e-5)
        term = self.arrays[name + ".bias"] - mean * factor
        return x * self.along_channels(factor) + self.along_channels(term)

    def layer_norm(self, x, name, epsilon):
        mean = x.mean(-1, keepdims=True)
        var = jnp.square(x - mean).mean(-1, keepdims=True)
        y = (x - mean) * lax.rsqrt(var + epsilon)
        return y * self.arrays[name + ".scale"] + self.arrays[name + ".bias"]

    def max_pool(self, x, kernel, stride, pad):
        if kernel == stride and pad == 0:
            return self.max_of_windows(x, kernel)
        window, strides, pads = [1] * 4, [1] * 4, [(0, 0)] * 4
        for axis in self.pixel_axes:
            window[axis], strides[axis], pads[axis] = kernel, stride, (pad, pad)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, pads)

    def max_of_windows(self, x, kernel):
        """Pooling without overlap: its gradient needs no select-and-scatter."""
        first, second = self.pixel_axes
        shape = list(x.shape)
        for axis in (second, first):
            shape[axis : axis + 1] = [shape[axis] // kernel, kernel]
        return x.reshape(shape).max((first + 1, second + 2))

    def average(self, x):
        return x.mean(self.pixel_axes)

    def join(self, x, y):
        return jnp.concatenate((x, y), self.channel_axis)

    def double(self, x, name):
        """A transposed convolution of 2x2 and stride 2, as a 1x1 and a shuffle."""
        w, b = self.arrays[name + ".conv.w"], self.arrays[name + ".b"]
        if self.channel_axis == 3:
            n, h, w_, _ = x.shape
            y = jnp.einsum("nhwk,kcpq->nhpwqc", x, w)
            return y.reshape(n, 2 * h, 2 * w_, -1) + b
        n, _, h, w_ = x.shape
        y = jnp.einsum("nkhw,kcpq->nchpwq", x, w)
        return y.reshape(n, -1, 2 * h, 2 * w_) + b[:, None, None]

    def embedding(self, tokens, name):
        return self.arrays[name][tokens]

    def rows(self, x):
        return x.reshape(-1, x.shape[-1])

    def patches(self, x, size):
        if self.channel_axis == 3:
            x = x.transpose(0, 3, 1, 2)
        n, c, h, w = x.shape
        x = x.reshape(n, c, h // size, size, w // size, size)
        return x.transpose(0, 2, 4, 1, 3, 5).reshape(n, -1, c * size * size)

    def prepend(self, x, token):
        token = jnp.broadcast_to(token, (x.shape[0], *token.shape[1:]))
        return jnp.concatenate((token, x), 1)

    def attention(self, qkv, heads, length):
        width = qkv.shape[1] // 3
        parts = qkv.reshape(-1, length, 3, heads, width // heads)
        q, k, v = parts.transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("bhid,bhjd->bhij", q, k) * (width // heads) ** -0.5
        y = jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores, -1), v)
        return y.transpose(0, 2, 1, 3).reshape(-1, width)

    def cross_entropy(self, scores, labels):
        axis = self.channel_axis if scores.ndim == 4 else 1
        right = jnp.take_along_axis(scores, jnp.expand_dims(labels, axis), axis)
        return (jax.nn.logsumexp(scores, axis, keepdims=True) - right).mean()


def to_peer(name, array, settings):
    """One of our parameters, states or inputs as this backend holds it."""
    array = np.asarray(array)
    if name.endswith(".rise.conv.w"):  # [4 to, from, 1, 1] to [from, to, 2, 2]
        array = array.reshape(-1, 2, 2, array.shape[1]).transpose(3, 0, 1, 2)
    elif name.endswith(".rise.b"):
        array = array.reshape(-1)
    elif array.ndim == 4 and settings["layout"] == "last":
        perm = (2, 3, 1, 0) if name.endswith(".w") else (0, 2, 3, 1)
        array = array.transpose(perm)
    if array.dtype == np.int64:
        array = array.astype(np.int32)
    return jnp.array(np.ascontiguousarray(array))


def from_peer(name, array, settings):
    """The inverse of `to_peer`, for gradients."""
    array = np.asarray(array)
    if name.endswith(".rise.conv.w"):
        return array.transpose(1, 2, 3, 0).reshape(-1, array.shape[0], 1, 1)
    if name.endswith(".rise.b"):
        return array.reshape(-1, 1, 1)
    if name.endswith(".w") and array.ndim == 4 and settings["layout"] == "last":
        return array.transpose(3, 2, 0, 1)
    return array


def adamw(parameter, gradient, mean, square, step):
    """(parameter, mean, square) after a step with decoupled weight decay."""
    mean = BETA1 * mean + (1 - BETA1) * gradient
    square = BETA2 * square + (1 - BETA2) * gradient * gradient
    unbiased = square / (1 - BETA2**step)
    change = mean / (1 - BETA1**step) / (jnp.sqrt(unbiased) + EPSILON)
    return parameter * (1 - RATE * DECAY) - RATE * change, mean, square


class Trainer:
    """Forward, backward and AdamW of one model.

    trained: names of the parameters that get a gradient, in any order.
    """

    def __init__(self, model, arrays, trained, batch, settings):
        self.settings = settings = {**DEFAULTS, **settings}
        arrays = {name: to_peer(name, a, settings) for name, a in arrays.items()}
        self.batch = {name: to_peer(name, a, settings) for name, a in batch.items()}
        parameters = {name: arrays.pop(name) for name in trained}
        zeros = {name: jnp.zeros_like(p) for name, p in parameters.items()}
        again = {name: jnp.zeros_like(p) for name, p in parameters.items()}
        self.carried = (parameters, arrays, zeros, again, jnp.zeros((), jnp.float32))

        def loss(parameters, states, batch):
            backend = Backend({**states, **parameters}, settings)
            return MODELS[model](backend, batch), backend.updates

        self.value_and_grad = jax.value_and_grad(loss, has_aux=True)

        @functools.partial(jax.jit, donate_argnums=0)
        def step(carried, batch):
            parameters, states, means, squares, count = carried
            (value, updates), gradients = self.value_and_grad(
                parameters, states, batch
            )
            count = count + 1
            new = {
                name: adamw(p, gradients[name], means[name], squares[name], count)
                for name, p in parameters.items()
            }
            parts = ({name: n[i] for name, n in new.items()} for i in range(3))
            parameters, means, squares = parts
            return (parameters, {**states, **updates}, means, squares, count), value

        self.jitted = step

    def step(self):
        self.carried, loss = self.jitted(self.carried, self.batch)
        jax.block_until_ready((self.carried, loss))

    def gradients(self):
        """(loss, gradients by name in our layout) of the weights as they are."""
        parameters, states, *_ = self.carried
        function = jax.jit(self.value_and_grad)
        (loss, _), found = function(parameters, states, self.batch)
        return float(loss), {
            name: from_peer(name, g, self.settings) for name, g in found.items()
        }


def set_threads(threads):
    """Threads are bound by the environment, before JAX is loaded."""
