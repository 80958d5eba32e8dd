"""PageRank of a directed graph by the power method: an entry (i, j) is a link from i to j, whatever its value."""

from support import NAME, host, matrix, sparse, timed, xp

DAMPING = 0.85
TOLERANCE = 1e-12
MAX_STEPS = 1000


def pagerank(links):
    pages = links.shape[0]
    count = xp.diff(links.indptr)
    follow = links.T.tocsr()
    follow.data[:] = DAMPING
    follow = follow @ sparse.diags(1 / xp.maximum(count, 1))
    jump = xp.where(count == 0, 1, 1 - DAMPING)
    ranks = xp.full(pages, 1 / pages)
    for step in range(1, MAX_STEPS + 1):
        last, ranks = ranks, follow @ ranks + jump @ ranks / pages
        if xp.linalg.norm(ranks - last) <= TOLERANCE:
            break
    return ranks, step


links = matrix()
ranks, steps = timed(lambda: pagerank(links))
ranks = host(ranks)
print(f"{NAME}: {steps} steps; the first pages:")
for page in (-ranks).argsort(kind="stable")[:5]:
    print(f"{page}: {ranks[page]:.9f}")
