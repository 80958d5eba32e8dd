"""PyAMG on the problems of `evenpath-bench solve --suite definite --out FOLDER`.

    python bench/python/pyamg_definite.py FOLDER

Each problem is solved by conjugate gradients with smoothed aggregation to a residual of 1e-8 of b, twice with other options: PyAMG's
own, and those closest to evenpath's: Chebyshev polynomials of degree 2 in place of symmetric Gauss-Seidel. The right-hand side is that
of the suite, and so are the near-null vectors of elastic bodies. Times are the lower of two.
"""

import argparse
import pathlib
import time

import numpy
import pyamg
import scipy.io
import scipy.sparse

TOLERANCE = 1e-8
MOST_STEPS = 10_000
CHEBYSHEV = ("chebyshev", {"degree": 2, "iterations": 1})
OPTIONS = {
    "default": {},
    "chebyshev": {"presmoother": CHEBYSHEV, "postsmoother": CHEBYSHEV},
}


def solve(a, near_null, options):
    """The hierarchy, x, the steps, and the milliseconds of the set-up and of the solve."""
    start = time.perf_counter()
    levels = pyamg.smoothed_aggregation_solver(a, B=near_null, max_coarse=200, **options)
    middle = time.perf_counter()
    b = numpy.array([(at * 37 + 11) % 101 / 50 - 1 for at in range(a.shape[0])])
    begin = time.perf_counter()
    residuals = []
    x = levels.solve(b, tol=TOLERANCE, maxiter=MOST_STEPS, accel="cg", residuals=residuals)
    end = time.perf_counter()
    residual = numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b)
    return levels, residual, len(residuals) - 1, (middle - start) * 1e3, (end - begin) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--options", choices=OPTIONS, nargs="*", default=list(OPTIONS))
    arguments = parser.parse_args()
    print(
        f"{'problem':<18} {'options':<10} {'unknowns':>9} {'nonzeros':>10} {'levels':>6} {'complexity':>10} "
        f"{'set-up ms':>10} {'solve ms':>10} {'total ms':>10} {'steps':>5} {'residual':>8}"
    )
    for path in sorted(arguments.folder.glob("*.mtx")):
        a = scipy.sparse.csr_matrix(scipy.io.mmread(path))
        motions = path.with_suffix(".near-null")
        near_null = None
        if motions.exists():
            near_null = scipy.io.mmread(motions).toarray()
            # Nodes of as many unknowns as there are dimensions: three motions in two, six in three.
            size = 2 if near_null.shape[1] == 3 else 3
            a = a.tobsr((size, size))
        for name in arguments.options:
            runs = [solve(a, near_null, OPTIONS[name]) for _ in range(2)]
            levels, residual, steps = runs[0][:3]
            set_up, solved = (min(run[at] for run in runs) for at in (3, 4))
            print(
                f"{path.stem:<18} {name:<10} {a.shape[0]:>9} {a.nnz:>10} {len(levels.levels):>6} "
                f"{levels.operator_complexity():>10.3f} {set_up:>10.2f} {solved:>10.2f} {set_up + solved:>10.2f} "
                f"{steps:>5} {residual:>8.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
