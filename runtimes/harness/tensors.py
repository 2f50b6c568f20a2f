"""Tensors in a file: the raw bytes one after the other, and a description of each that goes into the JSON of a message.

The form is read by runtimes in any language: a description has the name, the dtype (NumPy's name), the shape, the offset and the
number of bytes. Numbers are little-endian.
"""
import numpy as np

ALIGNMENT = 64


# Where ml_dtypes is not installed: the bits, under the name of the dtype.
BFLOAT16_BITS = np.dtype("uint16", metadata={"name": "bfloat16"})


def dtype_of(name):
    """Returns NumPy's dtype of a name. Those that NumPy lacks are in ml_dtypes, if it is installed; else a bfloat16 is its bits."""
    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            if name == "bfloat16":
                return BFLOAT16_BITS
            raise
        return np.dtype(getattr(ml_dtypes, name))


def name_of(dtype):
    return (dtype.metadata or {}).get("name", dtype.name)


def write(path, arrays):
    """Writes arrays by name and returns their descriptions."""
    described = []
    with open(path, "wb") as file:
        for name, array in arrays.items():
            array = np.asarray(array)
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            described.append({"name": name, "dtype": name_of(array.dtype), "shape": list(array.shape), "offset": file.tell(), "bytes": array.nbytes})
            file.write(array.tobytes())
    return described


def read(path, described):
    """Reads the described arrays, by name."""
    arrays = {}
    with open(path, "rb") as file:
        for tensor in described:
            file.seek(tensor["offset"])
            flat = np.frombuffer(bytearray(file.read(tensor["bytes"])), dtype_of(tensor["dtype"]))
            arrays[tensor["name"]] = flat.reshape(tensor["shape"])
    return arrays
