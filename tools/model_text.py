"""A model file under construction, as text."""

import textwrap

LIST_WIDTH = 78


def dims(sizes):
    """The dims of a type; a size is a number or a symbol."""
    return " ".join(
        'dim { symbol: "%s" }' % size if isinstance(size, str) else "dim { value: %d }" % size
        for size in sizes
    )


def names(values):
    """One name or several, as the value of a repeated field."""
    if len(values) == 1:
        return '"%s"' % values[0]
    return "[%s]" % ", ".join('"%s"' % value for value in values)


class Model:
    """A graph under construction, as text."""

    def __init__(self, name, comment, symbols):
        comment = textwrap.dedent(comment).strip("\n").split("\n")
        self._lines = [("# " + line).rstrip() for line in comment]
        self._lines += ["", "format_version: 1", 'name: "%s"' % name, ""]
        for symbol, default in symbols.items():
            self._lines.append('symbol { name: "%s" default_value: %d }' % (symbol, default))
        self.name = name

    def blank(self, comment=None):
        """An empty line, and a comment that heads what follows."""
        self._lines.append("")
        if comment:
            self._lines.append("# " + comment)

    def input(self, name, dtype, sizes):
        self._lines += [
            "input {",
            '  name: "%s"' % name,
            "  type { dtype: %s %s }" % (dtype, dims(sizes)),
            "}",
        ]
        return name

    def parameter(self, name, sizes, initializer, extra=""):
        self._lines += [
            "parameter {",
            '  name: "%s"' % name,
            "  type { dtype: FLOAT32 %s }" % dims(sizes),
            "  initializer { %s }" % initializer,
        ]
        if extra:
            self._lines.append("  " + extra)
        self._lines.append("}")
        return name

    def state(self, name, sizes, constant, next_value):
        self._lines += [
            "state {",
            '  name: "%s"' % name,
            "  type { dtype: FLOAT32 %s }" % dims(sizes),
            "  initializer { constant: %g }" % constant,
            '  next: "%s"' % next_value,
            "}",
        ]
        return name

    def node(self, name, op, inputs, outputs, region="", **attributes):
        """Adds a node; attributes are ints, floats, strings or lists of ints."""
        head = 'name: "%s" op: "%s"' % (name, op)
        body = ["input: " + names(inputs), "output: " + names(outputs)]
        for key, value in attributes.items():
            if isinstance(value, list):
                text = "ints { v: [%s] }" % ", ".join(map(str, value))
            elif isinstance(value, float):
                text = "f: %g" % value
            elif isinstance(value, str):
                text = 's: "%s"' % value
            else:
                text = "i: %d" % value
            body.append('attribute { name: "%s" %s }' % (key, text))
        if region:
            body.append('region: "%s"' % region)
        line = "node { %s %s }" % (head, " ".join(body))
        if len(line) <= LIST_WIDTH:
            self._lines.append(line)
        else:
            self._lines += ["node {", "  " + head, *("  " + part for part in body), "}"]
        return outputs[0]

    def region(self, name):
        self._lines.append('region { name: "%s" policy { save_nothing: true } }' % name)

    def output(self, value):
        self._lines.append('output: "%s"' % value)

    def loss(self, value):
        self._lines.append('loss { value: "%s" }' % value)

    def text(self):
        return "\n".join(self._lines) + "\n"
