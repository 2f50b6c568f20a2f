"""Says which relations of its arguments a call breaks that a kernel of PyTorch does not check. The table is relations.toml, in the same folder."""
import fnmatch
import functools
import math
import pathlib

import torch


@functools.cache
def table():
    """The operators and the expressions, compiled, of each relation."""
    import tomllib
    text = (pathlib.Path(__file__).parent / "relations.toml").read_text()
    return [(entry["operators"], [(need, compiled(need, text)) for need in entry["needs"]]) for entry in tomllib.loads(text).get("relation", [])]


def compiled(need, text):
    """An expression, or an error with its line in the table."""
    try:
        return compile(need, "relations.toml", "eval")
    except SyntaxError as error:
        line = next((at for at, line in enumerate(text.splitlines(), 1) if need in line), 0)
        raise SystemExit(f"src/verify/src/relations.toml:{line}: `{need}` is no expression of Python: {error.msg}") from error


@functools.cache
def needs_of(op):
    """The relations of an operator: each as text and compiled."""
    return [need for operators, needs in table() if any(fnmatch.fnmatchcase(op, operator) for operator in operators) for need in needs]


def broken(op, arguments):
    """The first relation that the arguments, by name, do not keep; None if they keep all."""
    return next((text for text, code in needs_of(op) if not keeps(code, arguments)), None)


def keeps(code, arguments):
    try:
        return bool(eval(code, {**NAMES, **arguments, "arguments": arguments}))
    except (AttributeError, IndexError, NameError, RuntimeError, TypeError, ValueError, ZeroDivisionError):
        # An argument has not even the rank or the kind of which the relation speaks.
        return False


def with_defaults(op, args):
    """The arguments of an operator, those that a call leaves out with their default."""
    return {argument.name: args.get(argument.name, argument.default_value) for argument in op._schema.arguments}


def shape(x):
    return None if x is None else tuple(x.shape)


def values(x):
    return x if isinstance(x, torch.Tensor) else torch.tensor(x)


def rises(x):
    # NaN comes last in PyTorch's order.
    before, after = x[..., :-1], x[..., 1:]
    return bool(((before <= after) | after.isnan()).all()) if x.dim() else True


def within(x, low, high):
    x = values(x)
    return bool(((x >= low) & (x <= high)).all())


def channels(arguments):
    """The arguments of a normalization that have an element for each channel. No channel of an empty tensor is looked at."""
    image = arguments["input"]
    names = ("weight", "bias", "running_mean", "running_var") if image.numel() or image.dim() < 2 else ()
    return [arguments.get(name) for name in names]


def fits_cell(input, state, w_ih, w_hh, *biases, hidden=None):
    """Whether weights are [gates * hidden, features] and [gates * hidden, state], biases [gates * hidden], all of one dtype."""
    tensors = [input, state, w_ih, w_hh, *(b for b in biases if b is not None)]
    hidden, rows = hidden or state.shape[-1], w_ih.shape[0]
    return len({x.dtype for x in tensors}) == 1 and hidden > 0 and rows % hidden == 0 and rows > 0 \
        and shape(w_ih) == (rows, input.shape[-1]) and shape(w_hh) == (rows, state.shape[-1]) and all(shape(b) in (None, (rows,)) for b in biases)


def fits_recurrence(input, hx, params, has_biases, layers, bidirectional):
    """Whether states are [layers * directions, batch, hidden] and each layer has weights that fit; `input` is [batch, time, features] or
    [time, features]. The first state of an LSTM may be projected to fewer features, by a last weight of each layer."""
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    directions = 1 + bidirectional
    count = layers * directions
    hidden, seen = states[-1].shape[-1], states[0].shape[-1]
    is_projected = hidden != seen
    each = 2 + 2 * has_biases + is_projected
    shapes_fit = all(shape(state)[:-1] == (count, *input.shape[:-2]) and state.dtype == input.dtype for state in states)
    if not shapes_fit or len(params) != count * each:
        return False
    for layer in range(count):
        weights = params[layer * each:(layer + 1) * each]
        features = input if layer < directions else input.new_zeros(1, seen * directions)
        if is_projected and shape(weights.pop()) != (seen, hidden) or not fits_cell(features, states[0], *weights, hidden=hidden):
            return False
    return True


def shape_of_convolution(arguments):
    """The shape of the result of a convolution whose gradient is wanted."""
    image, weight = arguments.get("input", arguments.get("self")), arguments["weight"]
    dims = weight.dim() - 2

    def given(name, default):
        value = arguments.get(name, default)
        return [value] * dims if isinstance(value, int) else list(value)
    return shape(torch.convolution(
        image.to("meta"), weight.to("meta"), None, given("stride", 1), given("padding", 0), given("dilation", 1),
        arguments.get("transposed", False), given("output_padding", 0), arguments.get("groups", 1)))


def unsqueezed(x, dims):
    """The shape of a tensor with dimensions of size 1 at some places."""
    sizes = list(x.shape)
    for dim in sorted(dims):
        sizes.insert(dim, 1)
    return sizes


def agree_with_factors(arguments):
    """Whether factors, where they are given beside a size, lead to it."""
    image = arguments.get("self", arguments.get("input"))
    size = arguments.get("output_size")
    factors = [x for name, x in arguments.items() if name.startswith("scales")]
    factors = arguments.get("scale_factors") or factors
    if not size or image is None or "grad_output" in arguments:
        return True
    sizes = zip(image.shape[-len(size):], size, factors)
    return all(factor is None or math.floor(old * factor) == new for old, new, factor in sizes)


NAMES = {"torch": torch, "math": math, "shape": shape, "values": values, "rises": rises, "within": within, "channels": channels, "fits_cell": fits_cell,
         "fits_recurrence": fits_recurrence, "unsqueezed": unsqueezed, "shape_of_convolution": shape_of_convolution, "agree_with_factors": agree_with_factors}
