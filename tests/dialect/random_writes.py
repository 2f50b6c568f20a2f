"""Random writes for random programs: each is chosen for an example tensor, and is a function of the tensor and another tensor."""
import torch


def draw(r, x, others):
    """Returns a name, a function of the tensor and another one, and the index of the other tensor or None."""
    number = literal(r, x.dtype)
    kinds = {name: (write, None) for name, write in alone(r, x, number).items()}
    fits = [i for i, o in enumerate(others) if broadcasts(o.shape, x.shape) and (x.is_complex() or not o.is_complex())]
    if fits:
        kinds |= {name: (write, fits) for name, write in copies().items()}
    safe = [i for i in fits if torch.can_cast(others[i].dtype, x.dtype) and torch.bool not in (x.dtype, others[i].dtype)]
    if safe:
        kinds |= {name: (write, safe) for name, write in arithmetic(x).items()}
    same = [i for i in safe if others[i].dtype == x.dtype and others[i].shape == x.shape]
    if same:
        kinds |= {name: (write, same) for name, write in outs(x).items()}
    rows = [i for i, o in enumerate(others) if o.dtype == x.dtype and x.dim() and o.shape == x.shape[1:]]
    if rows and x.shape[0]:
        kinds |= {name: (write, rows) for name, write in of_rows(r, x).items()}
    name = r.choice(sorted(kinds))
    write, pool = kinds[name]
    return name, write, r.choice(pool) if pool else None


def literal(r, dtype):
    if dtype == torch.bool:
        return r.random() < 0.5
    return r.randint(0, 3) if dtype == torch.uint8 else r.randint(-3, 3)


def alone(r, x, number):
    kinds = {
        "fill": lambda t, o: t.fill_(number),
        "fill_tensor": lambda t, o: t.fill_(torch.tensor(number)),
        "zero": lambda t, o: t.zero_(),
        "setitem": lambda t, o: t.__setitem__(Ellipsis, number),
    }
    if x.is_complex():
        return kinds | {"mul": lambda t, o: t.mul_(2), "add_complex": lambda t, o: t.add_(1 + 2j), "conj": lambda t, o: t.conj_physical_()}
    kinds |= {
        "masked_fill": lambda t, o: t.masked_fill_(t > 0 if t.dtype != torch.bool else t, number),
        "logical_not": lambda t, o: t.logical_not_(),
        "where_out": lambda t, o: torch.where(t > 0, t, t + 1, out=t) if t.dtype != torch.bool else t.logical_not_(),
    }
    if x.dtype != torch.bool:
        low = 0 if x.dtype == torch.uint8 else -4
        kinds |= {
            "add": lambda t, o: t.add_(number),
            "mul": lambda t, o: t.mul_(2),
            "sub_self": lambda t, o: t.sub_(t * 2),
            "clamp": lambda t, o: t.clamp_(low, 4),
            "clamp_min": lambda t, o: t.clamp_min_(0),
            "neg": lambda t, o: t.neg_(),
            "compare": lambda t, o: t.gt_(1),
            "floor_divide": lambda t, o: t.floor_divide_(2),
            "remainder": lambda t, o: t.remainder_(3),
            "abs": lambda t, o: t.abs_(),
            "square": lambda t, o: t.clamp_(low, 9).square_(),
        }
    if x.dtype.is_floating_point:
        kinds |= {
            "relu": lambda t, o: torch.relu_(t),
            "tanh": lambda t, o: t.tanh_(),
            "div": lambda t, o: t.div_(2),
            "sigmoid": lambda t, o: t.sigmoid_(),
            "hardtanh": lambda t, o: torch.nn.functional.hardtanh_(t),
            "threshold": lambda t, o: torch.nn.functional.threshold_(t, 0.5, 0.0),
            "leaky_relu": lambda t, o: torch.nn.functional.leaky_relu_(t, 0.1),
            "nan_to_num": lambda t, o: t.nan_to_num_(1.0),
            "lerp": lambda t, o: t.lerp_(t * 2, 0.5),
            "addcmul": lambda t, o: t.addcmul_(t.tanh(), t.sigmoid(), value=0.5),
        }
    if x.dim() and all(x.shape):
        kinds |= by_index(r, x, number)
    if x.dim() >= 2:
        kinds |= {"tril": lambda t, o: t.tril_(), "triu": lambda t, o: t.triu_(1)}
    if x.dim() == 2 and all(x.shape):
        kinds["fill_diagonal"] = lambda t, o: t.fill_diagonal_(number)
    return kinds


def by_index(r, x, number):
    row, axis = r.randrange(x.shape[0]), r.randrange(x.dim())
    along = r.randrange(x.shape[axis])
    one = torch.tensor(number).to(x.dtype)

    def places(t):
        """Returns an index with the rank of the tensor and one element along the axis."""
        shape = list(t.shape)
        shape[axis] = 1
        return torch.full(shape, along)
    kinds = {
        "masked_set": lambda t, o: t.__setitem__(t > 0 if t.dtype != torch.bool else t, number),
        "index_fill": lambda t, o: t.index_fill_(axis, torch.tensor([along]), number),
        "index_put": lambda t, o: t.index_put_((torch.tensor([row]),), one),
        "setitem_row": lambda t, o: t.__setitem__(row, number),
        "setitem_slice": lambda t, o: t.__setitem__(slice(None, row + 1, 2), number),
        "setitem_last": lambda t, o: t.__setitem__((Ellipsis, -1), number),
        "setitem_rows": lambda t, o: t.__setitem__(torch.tensor([row, 0]), number),
        "scatter_value": lambda t, o: t.scatter_(axis, places(t), number),
        "scatter_src": lambda t, o: t.scatter_(axis, places(t), t * 1 if t.dtype != torch.bool else ~t),
        "index_copy": lambda t, o: t.index_copy_(axis, torch.tensor([along]), t.narrow(axis, 0, 1).clone()),
        "masked_scatter": lambda t, o: t.masked_scatter_(t > 0 if t.dtype != torch.bool else t, t.flip(0)),
        "put": lambda t, o: t.put_(torch.tensor([along]), one.reshape(1)),
    }
    if x.dtype != torch.bool:
        kinds |= {
            "scatter_add": lambda t, o: t.scatter_add_(axis, places(t), t.clone()),
            "index_add": lambda t, o: t.index_add_(axis, torch.tensor([along]), t.narrow(axis, 0, 1).clone()),
            "index_put_add": lambda t, o: t.index_put_((torch.tensor([row, row]),), one, accumulate=True),
            "cumsum": lambda t, o: t.clamp_(max=9).cumsum_(axis),
        }
    return kinds


def copies():
    return {
        "copy": lambda t, o: t.copy_(o),
        "copy_again": lambda t, o: t.copy_(o),
        "setitem_other": lambda t, o: t.__setitem__(Ellipsis, o),
    }


def arithmetic(x):
    kinds = {"add_other": lambda t, o: t.add_(o), "mul_other": lambda t, o: t.mul_(o), "isub": lambda t, o: t.sub_(o, alpha=2)}
    if x.is_floating_point():
        kinds["div_other"] = lambda t, o: t.div_(o * o + 1)
        kinds["addcmul_other"] = lambda t, o: t.addcmul_(o.to(t.dtype), o.to(t.dtype))
    return kinds


def outs(x):
    if x.dtype == torch.bool:
        return {"not_out": lambda t, o: torch.logical_not(o, out=t)}
    return {
        "add_out": lambda t, o: torch.add(o, 1, out=t),
        "mul_out": lambda t, o: torch.mul(o, o, out=t),
        "neg_out": lambda t, o: torch.neg(o, out=t),
        "stack_out": lambda t, o: torch.cat([o], out=t) if t.dim() else torch.neg(o, out=t),
    }


def of_rows(r, x):
    row = r.randrange(x.shape[0])
    return {
        "row_copy": lambda t, o: t[row].copy_(o),
        "row_set": lambda t, o: t.__setitem__(row, o),
        "row_put": lambda t, o: t.index_put_((torch.tensor([row]),), o),
    }


def is_undefined(name, x, other):
    """Whether the result of a write is undefined in PyTorch (which usually rejects it), because of overlapping elements."""
    repeats = not is_plain(x)
    if repeats and name not in ("fill", "zero", "setitem"):
        return True
    if other is None or other.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        return False
    same = other.data_ptr() == x.data_ptr() and other.shape == x.shape and other.stride() == x.stride()
    return not same and spans_meet(x, other)


def is_plain(x):
    """Whether all elements of the tensor have their own memory."""
    places = torch.arange(x.untyped_storage().nbytes() // x.element_size())
    seen = places.as_strided(x.shape, x.stride(), x.storage_offset()).flatten()
    return seen.unique().numel() == seen.numel()


def spans_meet(a, b):
    """Whether the memory ranges (first to last byte) of two tensors overlap."""
    def span(t):
        start = t.storage_offset()
        last = start + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else start - 1
        return start * t.element_size(), (last + 1) * t.element_size() - 1
    (a, b), (c, d) = span(a), span(b)
    return a <= d and c <= b


def broadcasts(small, large):
    if len(small) > len(large):
        return False
    return all(s in (1, n) for s, n in zip(reversed(small), reversed(large)))
