"""Distances from the vertex of most edges, and the triangles of an undirected graph."""

from support import NAME, matrix, sparse, timed, xp


def levels_from(edges, source):
    levels = xp.full(edges.shape[0], -1)
    frontier = xp.zeros(edges.shape[0])
    frontier[source] = 1
    level = 0
    while frontier.any():
        levels[frontier > 0] = level
        level += 1
        frontier = xp.where(levels < 0, edges @ frontier > 0, 0).astype(float)
    return levels


def triangles_of(edges):
    lower = sparse.tril(edges, -1, format="csr")
    return int((lower @ lower).multiply(lower).sum())


def search(links):
    edges = links + links.T
    edges.data[:] = 1
    source = int(xp.diff(edges.indptr).argmax())
    return source, levels_from(edges, source), triangles_of(edges)


links = abs(matrix())
source, levels, triangles = timed(lambda: search(links))
for level, count in enumerate(xp.bincount(levels[levels >= 0]).tolist()):
    print(f"{NAME}: {count} vertices at {level} edges from vertex {source}")
print(f"{NAME}: {triangles} triangles")
