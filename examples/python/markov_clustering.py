"""Markov clustering of a graph (van Dongen, Graph Clustering by Flow Simulation, 2000)."""

from support import NAME, host, matrix, sparse, timed, xp


def normalize(flow):
    return (sparse.diags(1 / xp.asarray(flow.sum(axis=1)).ravel()) @ flow).tocsr()


def filtered(flow, keep):
    coo = flow.tocoo()
    return sparse.csr_matrix((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=flow.shape)


def largest_of_rows(flow, count):
    flow.sort_indices()
    rows = flow.tocoo().row
    order = xp.lexsort(xp.stack((flow.indices, -flow.data, rows)))
    place = xp.arange(flow.nnz) - flow.indptr[rows]
    return filtered(flow, xp.sort(order[place < count]))


def markov_clustering(graph):
    graph = abs(graph)
    flow = normalize((graph + graph.T) / 2 + sparse.identity(graph.shape[0], format="csr"))
    steps, change = 0, float("inf")
    while change > 1e-9 and steps < 200:
        next = largest_of_rows(flow @ flow, 100)
        next.data **= 2
        next = normalize(next)
        next = filtered(next, xp.abs(next.data) > 1e-5)
        difference = (next - flow).data
        change = float(xp.abs(difference).max()) if difference.size else 0.0
        flow, steps = next, steps + 1
    return flow, steps


graph = matrix()
flow, steps = timed(lambda: markov_clustering(graph))
flow.sort_indices()
clusters = {}
for vertex, attractor in enumerate(host(flow.indices[flow.indptr[:-1]]).tolist()):
    clusters.setdefault(attractor, []).append(vertex)
clusters = sorted((clusters[attractor] for attractor in sorted(clusters)), key=len, reverse=True)
print(f"{NAME}: {steps} steps, {len(clusters)} clusters; the first vertices of the largest:")
for cluster in clusters[:5]:
    print(f"{len(cluster)} vertices: {cluster[:10]}")
