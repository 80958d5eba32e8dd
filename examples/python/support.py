"""Command line, input and times of the programs.

`xp` and `sparse` are NumPy and scipy.sparse or, with `--device gpu`, CuPy and cupyx.scipy.sparse.
"""

import argparse
import os
import statistics
import time

import numpy
import scipy.io
import scipy.sparse

DATA = os.path.join(os.path.dirname(__file__), "..", "data")

parser = argparse.ArgumentParser()
parser.add_argument("input", nargs="?", help="a Matrix Market file, or a size")
parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
parser.add_argument("--repetitions", type=int, default=0, help="print the median time of so many runs after the first")
arguments = parser.parse_args()

if arguments.device == "gpu":
    import cupy as xp
    import cupyx.scipy.sparse as sparse
    import cupyx.scipy.sparse.linalg as linalg
else:
    import numpy as xp
    import scipy.sparse as sparse
    import scipy.sparse.linalg as linalg

NAME = arguments.device.upper()


def matrix(default="polblogs.mtx.gz"):
    """The matrix of the file, in CSR on the device, with sorted columns and without duplicates."""
    host = host_matrix(default)
    return host if xp is numpy else sparse.csr_matrix(host)


def host_matrix(default="polblogs.mtx.gz"):
    """The same, in host memory."""
    name = arguments.input or os.path.join(DATA, default)
    host = scipy.sparse.csr_matrix(scipy.io.mmread(name)).astype(numpy.float64)
    host.sum_duplicates()
    print(f"{name}: {host.shape[0]} x {host.shape[1]}, {host.nnz} nonzeros")
    return host


def size(default):
    """The size of the problem."""
    return int(arguments.input or default)


def host(array):
    """The array in host memory."""
    return array if isinstance(array, numpy.ndarray) else array.get()


def synchronize():
    """Waits for the device."""
    if arguments.device == "gpu":
        xp.cuda.get_current_stream().synchronize()


def timed(run, synchronize=synchronize):
    """The result of the main part. With `--repetitions`, prints the median time of as many runs after the first."""
    result = run()
    times = []
    for _ in range(arguments.repetitions):
        synchronize()
        start = time.perf_counter()
        result = run()
        synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    if times:
        print(f"time: {statistics.median(times):.3f} ms")
    return result
