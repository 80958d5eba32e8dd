"""Graph attention: each vertex takes the mean of its neighbors' values, weighted by the softmax of products of queries and keys."""

import math

from support import NAME, host, matrix, sparse, timed, xp

WIDTH = 16


def numbers(rows, seed):
    return (((xp.arange(rows * WIDTH) + seed) * 0.618) % 1 * 4 - 2).reshape(rows, WIDTH)


def attention(graph, q, k, v):
    coo = graph.tocoo()
    scores = (q[coo.row] * k[coo.col]).sum(axis=1) / math.sqrt(WIDTH)
    shift = sparse.csr_matrix((scores, graph.indices, graph.indptr), graph.shape).max(axis=1).toarray().ravel()
    weights = sparse.csr_matrix((xp.exp(scores - shift[coo.row]), graph.indices, graph.indptr), graph.shape)
    sums = xp.asarray(weights.sum(axis=1)).reshape(-1, 1)
    return weights @ v / xp.where(sums == 0, 1, sums)


graph = matrix()
rows, cols = graph.shape
q, k, v = numbers(rows, 0.1), numbers(cols, 0.2), numbers(cols, 0.3)
output = host(timed(lambda: attention(graph, q, k, v)))
print(f"{NAME}: {WIDTH} elements for each of {rows} vertices; the first: [{', '.join(f'{x:.6f}' for x in output[0])}]")
