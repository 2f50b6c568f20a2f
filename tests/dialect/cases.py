"""What a program of the tests is made of."""
import torch


class Case:
    """A module, what it is called with, and what is to come of it.

    others: inputs on which the exported model is to be right too
    shapes: dynamic_shapes of torch.export
    steps: how often it is called, its state being kept (`--keep-mutations`)
    flags: further arguments of `aten2onnx export`
    inputs_are, outputs_are: names, in order, and perhaps shapes: `["x", ("y", ["batch", 3])]`
    says: what the notes must tell
    refused: what the error must tell, in place of all that
    default: what torch.set_default_dtype was given
    path: an archive that is there already, in the place of the module and its inputs
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
    """A function of a module with a weight and a count."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.w = torch.nn.Parameter(torch.randn(3, 3) / 2)
        self.register_buffer("steps", torch.tensor(0))
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)
