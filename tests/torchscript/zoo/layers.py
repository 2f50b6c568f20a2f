"""Judges quantized models layer by layer.

A number that lies between two quanta may be rounded to either of them, because floats and PyTorch's integers are added in other
orders. A deep network makes much of one such quantum, so its results say nothing. Here each layer of the exported model is given the integers
that PyTorch has before it, and what it makes of them is compared with the integers that PyTorch has after it.
"""
import numpy as np
import onnx
import torch

# The share of a layer's numbers that may be the next quantum.
MOST = 1e-3


def recorded(module, inputs):
    """The integers that each module of PyTorch returns, by its path, if it is called once."""
    found = {}

    def keep(path):
        def hook(_, __, result):
            if isinstance(result, torch.Tensor) and result.is_quantized:
                found[path] = None if path in found else result.int_repr().numpy()
        return hook

    hooks = [m.register_forward_hook(keep(path)) for path, m in module.named_modules()]
    module(*inputs)
    for hook in hooks:
        hook.remove()
    return {path: integers for path, integers in found.items() if integers is not None}


def differs(model, load, module, inputs):
    """How a layer of an exported model differs from PyTorch, and how many layers and numbers were compared."""
    wanted = recorded(module, inputs)
    model = onnx.load(model)
    rounds = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            rounds.setdefault(node.name.split("/QuantizeLinear")[0].rsplit("/", 1)[-1], []).append(node)
    # A sum at the end of a block has the name of the module that adds; its result is that of the block.
    for path in list(rounds):
        block = path.rpartition(".")[0]
        if path not in wanted and block in wanted and block not in rounds:
            rounds[block] = rounds.pop(path)
    chosen = {path: nodes[-1] for path, nodes in rounds.items() if path in wanted}
    results = [output.name for output in model.graph.output]
    for path, node in chosen.items():
        computed = node.output[0]
        kind = onnx.TensorProto.UINT8 if wanted[path].dtype == np.uint8 else onnx.TensorProto.INT8
        model.graph.input.append(onnx.helper.make_tensor_value_info(f"given {path}", kind, None))
        model.graph.output.append(onnx.helper.make_tensor_value_info(computed, kind, None))
        for other in model.graph.node:
            for index, name in enumerate(other.input):
                if name == computed:
                    other.input[index] = f"given {path}"
    session = load(model.SerializeToString())
    names = [port.name for port in session.get_inputs()][:len(inputs)]
    feed = {name: tensor.numpy() for name, tensor in zip(names, inputs)}
    feed.update({f"given {path}": wanted[path] for path in chosen})
    found = session.run(None, feed)[len(results):]
    count = other = 0
    for (path, node), integers in zip(chosen.items(), found):
        if integers.shape != wanted[path].shape:
            return f"layer {path}: shape {integers.shape} instead of {wanted[path].shape}", None
        apart = np.abs(integers.astype(int) - wanted[path].astype(int))
        share = (apart > 0).mean()
        if apart.max(initial=0) > 1 or (share > MOST and apart.sum() > 1):
            return f"layer {path}: {share:.2%} of its integers differ, by {apart.max()} at most", None
        count, other = count + apart.size, other + int(apart.sum())
    if not chosen:
        return "no layer is known by its name", None
    return None, f"{len(chosen)} layers, {other} of {count} integers are the next quantum"
