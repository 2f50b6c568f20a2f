"""Random views for random programs: each is chosen for an example tensor, and is a function that returns a tensor or a list of tensors."""
import torch


def draw(r, x):
    """Returns a name and a function. The function is None if the chosen kind is not possible."""
    kinds = any_rank(r, x)
    if x.dim():
        kinds |= along_an_axis(r, x) | cut(r, x) | memory(r, x)
    if x.dim() >= 2:
        kinds |= of_matrices(r, x)
    if x.is_complex():
        kinds |= {"view_as_real": lambda: torch.view_as_real, "real": lambda: torch.real, "imag": lambda: torch.imag}
    elif x.is_floating_point() and x.dim() and x.shape[-1] == 2 and x.stride()[-1] == 1 and all(s % 2 == 0 for s in x.stride()[:-1]):
        kinds |= {"view_as_complex": lambda: torch.view_as_complex if x.storage_offset() % 2 == 0 else None}
    name = r.choice(sorted(kinds))
    return name, kinds[name]()


def any_rank(r, x):
    rank = x.dim()
    return {
        "detach": lambda: torch.detach,
        "alias": lambda: torch.ops.aten.alias,
        "unsqueeze": lambda: (lambda d: lambda t: t.unsqueeze(d))(r.randint(-rank - 1, rank)) if rank < 4 else None,
        "view_as": lambda: lambda t: t.view_as(t),
        "contiguous": lambda: torch.Tensor.contiguous,
        "to": lambda: lambda t: t.to(x.dtype),
        "squeeze": lambda: torch.squeeze,
        "clone": lambda: torch.clone,
        "expand": lambda: (lambda t: t.unsqueeze(0).expand(2, *t.shape)) if rank < 4 else None,
        "broadcast_to": lambda: (lambda t: t.broadcast_to(2, *t.shape)) if rank < 4 else None,
        "atleast_2d": lambda: torch.atleast_2d,
        "positive": lambda: torch.positive if x.dtype != torch.bool else None,
        "index_ellipsis": lambda: lambda t: t[..., None] if rank < 4 else t[...],
        "metadata_unsqueeze": lambda: (lambda t: torch.ops.aten.alias(t).unsqueeze_(0)) if rank < 4 else None,
    }


def along_an_axis(r, x):
    rank, sizes = x.dim(), x.shape
    axis, last = r.randrange(rank), r.randrange(rank)
    n = sizes[axis]
    start = r.randint(0, max(n - 1, 0))
    before = (slice(None),) * axis

    def part(make):
        index = before + (make,)
        return lambda t: t[index]

    def to_the_end(less):
        """A slice whose end depends on the size, which may be symbolic."""
        return lambda t: t[before + (slice(None, t.shape[axis] - less),)]
    kinds = {
        "slice": lambda: part(slice(start, None, r.randint(1, 3))),
        "slice_end": lambda: part(slice(None, r.randint(-1, 3))),
        "slice_both": lambda: part(slice(r.randint(-3, 2), r.randint(-2, 6))),
        "slice_by_size": lambda: to_the_end(r.randint(0, 2)),
        "slice_half": lambda: lambda t: t[before + (slice(t.shape[axis] // 2, None),)],
        "narrow": lambda: (lambda c: lambda t: t.narrow(axis, start, c))(r.randint(0, n - start)),
        "transpose": lambda: lambda t: t.transpose(axis, last),
        "swapaxes": lambda: lambda t: t.swapaxes(axis, last),
        "permute": lambda: (lambda p: lambda t: t.permute(p))(r.sample(range(-rank, 0), rank)),
        "movedim": lambda: lambda t: t.movedim(axis, last),
        "movedim_list": lambda: (lambda a, b: lambda t: t.movedim(a, b))(r.sample(range(rank), min(rank, 2)), r.sample(range(rank), min(rank, 2))),
        "squeeze_dim": lambda: lambda t: t.squeeze(axis),
        "squeeze_dims": lambda: lambda t: torch.squeeze(t, (axis,)),
        "index_select": lambda: lambda t: t.index_select(axis, torch.tensor([start])),
    }
    if n:
        kinds["select"] = lambda: (lambda i: lambda t: t.select(axis, i))(r.randint(-n, n - 1))
        kinds["select_last"] = lambda: lambda t: t.select(axis, t.shape[axis] - 1)
        kinds["select_row"] = lambda: (lambda i: lambda t: t[i])(r.randrange(sizes[0])) if sizes[0] else None
    return kinds


def cut(r, x):
    """Operators that return lists of views: one of them is used, or all."""
    axis = r.randrange(x.dim())
    n = x.shape[axis]
    if not n:
        return {}
    size, parts = r.randint(1, 3), r.randint(1, 3)
    at = sorted(r.randint(0, n) for _ in range(2))
    lists = {
        "split": lambda t: t.split(size, axis),
        "split_sizes": lambda t: t.split([at[0], t.shape[axis] - at[0]], axis),
        "chunk": lambda t: t.chunk(parts, axis),
        "tensor_split": lambda t: t.tensor_split(parts, axis),
        "tensor_split_at": lambda t: t.tensor_split(at, axis),
        "unbind": lambda t: t.unbind(axis),
    }
    # Not unsafe_split and unsafe_chunk: torch returns views, but its decompositions treat them as copies.
    if n % 2 == 0:
        lists["hsplit"] = lambda t: t.hsplit(2) if t.shape[min(1, t.dim() - 1)] % 2 == 0 else t.chunk(2)

    def one(function):
        i = r.randrange(4)
        return lambda t: (lambda found: found[i % len(found)])(function(t))
    kinds = {name: lambda f=function: one(f) for name, function in lists.items()}
    return kinds | {f"{name}_all": lambda f=function: lambda t: list(f(t)) for name, function in lists.items()}


def memory(r, x):
    """Views that depend on the memory layout."""
    rank = x.dim()
    axis = r.randrange(rank)
    n = x.shape[axis]
    window, step = r.randint(1, 2), r.randint(1, 3)
    return {
        "flatten": lambda: torch.flatten,
        "ravel": lambda: torch.ravel,
        "reshape": lambda: lambda t: t.reshape(-1),
        "reshape_rows": lambda: lambda t: t.reshape(t.shape[0], -1) if t.shape[0] else None,
        "view": lambda: (lambda t: t.view(-1)) if x.is_contiguous() else None,
        "view_rows": lambda: (lambda t: t.view(t.shape[0], -1)) if x.is_contiguous() and x.numel() else None,
        "unflatten": lambda: (lambda t: t.unflatten(axis, (2, -1))) if n % 2 == 0 and n and rank < 4 else None,
        "unfold": lambda: (lambda t: t.unfold(axis, window, step)) if n >= 2 and rank < 4 else None,
        "as_strided": lambda: strided(r, x),
        "channels_last": lambda: (lambda t: t.contiguous(memory_format=torch.channels_last)) if rank == 4 else None,
        "view_ints": lambda: (lambda t: t.view(torch.int32)) if x.dtype == torch.float32 and r.random() < 0.2 else None,
    }


def of_matrices(r, x):
    a, b = r.sample(range(x.dim()), 2)
    offset = r.randint(-1, 1)
    kinds = {
        "diagonal": lambda: lambda t: t.diagonal(offset, a, b),
        "mT": lambda: lambda t: t.mT,
        "flatten_two": lambda: lambda t: t.flatten(0, 1),
        "narrow_size": lambda: lambda t: t.narrow(1, 0, t.shape[1] // 2),
        "expand_as": lambda: lambda t: t[:1].expand_as(t) if t.shape[0] else None,
    }
    if x.dim() == 2:
        kinds |= {"t": lambda: torch.t, "T": lambda: lambda t: t.T}
    return kinds


def strided(r, x):
    """Returns a view of a part of the tensor's memory without overlapping elements."""
    if x.numel() < 4 or x.untyped_storage().nbytes() // x.element_size() < x.numel():
        return None
    total = x.untyped_storage().nbytes() // x.element_size()
    rows = r.randint(1, 2)
    columns = r.randint(1, total // rows // 2)
    step = r.randint(1, 2) if rows * columns * 2 <= total else 1
    offset = r.randint(0, total - rows * columns * step)
    return lambda t: t.as_strided((rows, columns), (columns * step, step), offset)
