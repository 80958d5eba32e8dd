"""Graph attention in PyTorch, as in attention.py."""

import math

import torch

from support import NAME, arguments, host_matrix, timed

WIDTH = 16
DEVICE = "cuda" if arguments.device == "gpu" else "cpu"


def numbers(rows, seed):
    return (((torch.arange(rows * WIDTH, dtype=torch.float64, device=DEVICE) + seed) * 0.618) % 1 * 4 - 2).reshape(rows, WIDTH)


def attention(graph, q, k, v):
    scores = torch.sparse.sampled_addmm(graph, q, k.T, beta=0, alpha=1 / math.sqrt(WIDTH))
    weights = torch.sparse.softmax(scores.to_sparse_coo(), dim=1)
    return torch.sparse.mm(weights.to_sparse_csr(), v)


graph = host_matrix()
rows, cols = graph.shape
parts = [torch.from_numpy(part).to(DEVICE) for part in (graph.indptr, graph.indices, graph.data)]
graph = torch.sparse_csr_tensor(*parts, size=graph.shape)
q, k, v = numbers(rows, 0.1), numbers(cols, 0.2), numbers(cols, 0.3)
wait = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
output = timed(lambda: attention(graph, q, k, v), wait).cpu()
print(f"{NAME}: {WIDTH} elements for each of {rows} vertices; the first: [{', '.join(f'{x:.6f}' for x in output[0])}]")
