#!/usr/bin/env python3
"""Checks products of evenpath on tensors of NumPy, PyTorch and CuPy, which it takes and gives by DLPack.

usage: check.py LIBRARY [numpy] [torch] [cupy]

LIBRARY is what `cargo build -p evenpath-dlpack-tests` makes. NumPy is checked on the CPU, PyTorch there and on a GPU if it sees one,
CuPy on a GPU.
"""

import ctypes
import sys

import numpy as np

SIDE = 40
ROWS = SIDE * SIDE

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
rename_capsule = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
is_capsule = ctypes.pythonapi.PyCapsule_IsValid
is_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}


class Result:
    """What a product gave, for `from_dlpack`, which takes it once."""

    def __init__(self, pointer, name, device):
        self.pointer, self.name, self.device = pointer, name, device

    def __dlpack__(self, **_):
        return new_capsule(self.pointer, self.name, None)

    def __dlpack_device__(self):
        return self.device


def take(tensor, name, **arguments):
    """The pointer of a tensor's capsule, which is used up by it."""
    capsule = tensor.__dlpack__(**arguments)
    if not is_capsule(capsule, name):
        return None
    pointer = capsule_pointer(capsule, name)
    rename_capsule(capsule, USED[name])
    return pointer


def product(values):
    """A times a matrix, row by row of the grid."""
    grid = values.reshape(SIDE, SIDE, -1).astype(np.float64)
    result = 4 * grid
    result[1:] -= grid[:-1]
    result[:-1] -= grid[1:]
    result[:, 1:] -= grid[:, :-1]
    result[:, :-1] -= grid[:, 1:]
    return result.reshape(values.shape)


class Library:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        library.message.restype = ctypes.c_char_p
        library.open_device.restype = ctypes.c_void_p
        library.open_device.argtypes = [ctypes.c_int, ctypes.c_uint32]
        library.close_device.argtypes = [ctypes.c_void_p]
        for name in ["multiply_vector", "multiply_matrix"]:
            getattr(library, name).restype = ctypes.c_void_p
            getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.library = library

    def checked(self, pointer):
        if not pointer:
            raise RuntimeError(self.library.message().decode())
        return pointer

    def check(self, name, make, to_numpy, from_dlpack, is_gpu, synchronize=lambda: None):
        """`make` makes a tensor of an array of NumPy; `from_dlpack` one of a result."""
        library, place = self.library, (2, 0) if is_gpu else (1, 0)
        device = self.checked(library.open_device(int(is_gpu), 0))
        x = np.arange(ROWS) % 11 - 5.0
        pointer = take(make(x), PLAIN)
        synchronize()
        y = from_dlpack(Result(self.checked(library.multiply_vector(device, SIDE, pointer)), PLAIN, place))
        assert np.array_equal(to_numpy(y), product(x)), name
        # A part that begins in the middle, and memory that outlives the device's vector.
        around = make(np.concatenate([[7.0], x]))
        pointer = take(around[1:], PLAIN)
        synchronize()
        y = from_dlpack(Result(self.checked(library.multiply_vector(device, SIDE, pointer)), PLAIN, place))
        assert np.array_equal(to_numpy(y), product(x)) and to_numpy(around)[0] == 7.0, name
        try:
            self.checked(library.multiply_vector(device, SIDE, take(make(x.astype(np.float32)), PLAIN)))
            raise AssertionError("floats were taken for doubles")
        except RuntimeError as error:
            assert "float32, not float64" in str(error), error
        forms = "plain"
        try:
            self.check_matrices(name, device, make, to_numpy, from_dlpack, place, synchronize)
            forms = "plain and versioned"
        except TypeError:
            pass  # The library does not know `max_version`.
        library.close_device(device)
        print(f"{name}: {forms} tensors: ok")

    def check_matrices(self, name, device, make, to_numpy, from_dlpack, place, synchronize):
        b = (np.arange(5 * ROWS) % 7 - 3.0).astype(np.float32).reshape(ROWS, 5)
        for tensor in [make(b), make(np.ascontiguousarray(b.T)).T]:
            pointer = take(tensor, VERSIONED, max_version=(1, 0))
            if pointer is None:
                raise TypeError("the library gives plain tensors alone")
            synchronize()
            pointer = self.checked(self.library.multiply_matrix(device, SIDE, pointer))
            c = from_dlpack(Result(pointer, VERSIONED, place))
            assert np.array_equal(to_numpy(c), product(b)), name


def main():
    library, names = Library(sys.argv[1]), sys.argv[2:] or ["numpy"]
    if "numpy" in names:
        library.check("NumPy", np.array, np.asarray, np.from_dlpack, False)
    if "torch" in names:
        import torch

        library.check("PyTorch", torch.tensor, np.asarray, torch.from_dlpack, False)
        if torch.cuda.is_available():
            on_gpu, to_numpy = lambda values: torch.tensor(values, device="cuda"), lambda tensor: tensor.cpu().numpy()
            library.check("PyTorch, GPU", on_gpu, to_numpy, torch.from_dlpack, True, torch.cuda.synchronize)
    if "cupy" in names:
        import cupy

        synchronize = cupy.cuda.Device().synchronize
        library.check("CuPy, GPU", cupy.array, cupy.asnumpy, cupy.from_dlpack, True, synchronize)


if __name__ == "__main__":
    main()
