"""Parts, scales and norms of a matrix."""

from support import NAME, matrix, sparse, timed, xp


def inverse_roots(sums):
    return sparse.diags(1 / xp.sqrt(xp.asarray(sums).ravel()))


def parts(a):
    lower, strictly_upper = sparse.tril(a, format="csr"), sparse.triu(a, 1, format="csr")
    band = sparse.tril(sparse.triu(a, -1), 1, format="csr")
    selected = a[::2]
    rows, columns = inverse_roots(abs(a).sum(axis=1)), inverse_roots(abs(a).sum(axis=0))
    scaled = (rows @ a @ columns).tocsr()
    norms = xp.sqrt(xp.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
    row = int(norms.argmax())
    return lower.nnz, strictly_upper.nnz, band.nnz, selected.nnz, row, float(norms[row])


a = matrix("bcsstk16.mtx.gz")
lower, strictly_upper, band, selected, row, norm = timed(lambda: parts(a))
print(f"{NAME}: {lower} nonzeros on and below the diagonal, {strictly_upper} above")
print(f"{band} nonzeros on three diagonals")
print(f"{selected} nonzeros in every second row")
print(f"scaled, row {row} has the largest norm, {norm:.6f}")
