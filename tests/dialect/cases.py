"""The test cases: a program with its inputs and the expected outcome."""
import torch


class Case:
    """A module, its inputs, and the expected outcome.

    others: other inputs that the exported model is also run with
    shapes: dynamic_shapes of torch.export
    steps: number of calls that pass the state on (`--keep-mutations`)
    flags: other arguments of `aten2onnx export`
    inputs_are, outputs_are: expected names in order, optionally with shapes: `["x", ("y", ["batch", 3])]`
    says: expected parts of the notes
    refused: expected part of the error, if the export must fail
    default: the argument of torch.set_default_dtype
    path: an existing archive, used instead of a module and inputs
    """

    def __init__(self, module, *inputs, kwargs=None, others=(), shapes=None, decomposed=False, strict=False, opset=9, newest=99, steps=0, flags=(), inputs_are=None,
                 outputs_are=None, says=(), refused=None, tolerance=1e-4, default=torch.float32, path=None):
        self.module, self.inputs, self.kwargs = module, inputs, kwargs or {}
        self.others, self.shapes, self.decomposed, self.strict = others, shapes, decomposed, strict
        self.opset, self.newest, self.steps = opset, newest, steps
        self.flags = [*flags, *["--keep-mutations"] * bool(steps)]
        self.inputs_are, self.outputs_are, self.says, self.refused = inputs_are, outputs_are, says, refused
        self.tolerance, self.default, self.path = tolerance, default, path


class Function(torch.nn.Module):
    """A module with a weight and a counter that calls a function."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.w = torch.nn.Parameter(torch.randn(3, 3) / 2)
        self.register_buffer("steps", torch.tensor(0))
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)
