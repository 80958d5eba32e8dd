"""Heat in a plate whose left edge is hot: linear triangles, implicit Euler steps by conjugate gradients, a new matrix in each step."""

import inspect

from support import NAME, linalg, size, sparse, timed, xp

TIME_STEP = 0.01
STIFFNESS = xp.array([1.0, -0.5, -0.5, -0.5, 0.5, 0.0, -0.5, 0.0, 0.5])
TOLERANCE = "rtol" if "rtol" in inspect.signature(linalg.cg).parameters else "tol"


def heat(corners, fixed, u):
    nodes, cells = len(fixed), len(corners) // 2
    rows, columns = xp.repeat(corners, 3, axis=1).ravel(), xp.tile(corners, (1, 3)).ravel()
    free = sparse.diags(1 - fixed)
    mass = xp.eye(3).ravel() / (6 * cells)
    lumped_mass = xp.bincount(corners.ravel(), minlength=nodes) / (6 * cells)
    steps = []
    for _ in range(10):
        conductivity = 1 + 3 * u[corners].sum(axis=1)
        values = TIME_STEP * conductivity[:, None] * STIFFNESS + mass
        a = sparse.csr_matrix((values.ravel(), (rows, columns)), shape=(nodes, nodes))
        rhs = fixed * u + (1 - fixed) * (lumped_mass * u - a @ (fixed * u))
        a = (free @ a @ free + sparse.diags(fixed)).tocsr()
        iterations = []
        options = {TOLERANCE: 1e-10, "atol": 0.0, "maxiter": 10_000, "callback": lambda _: iterations.append(1)}
        u, _ = linalg.cg(a, rhs, x0=u, M=sparse.diags(1 / a.diagonal()), **options)
        steps.append((float(u.mean()), len(iterations)))
    return steps


side = size(100)
x, y = xp.arange(side * side) % side, xp.arange(side * side) // side
first = xp.arange(side * side)[(x < side - 1) & (y < side - 1)]
corners = (first[:, None] + xp.array([0, 1, side, side + 1, side, 1])).reshape(-1, 3)
fixed = ((x == 0) | (x == side - 1) | (y == 0) | (y == side - 1)).astype(float)
hot = (x == 0).astype(float)
for step, (mean, iterations) in enumerate(timed(lambda: heat(corners, fixed, hot)), 1):
    print(f"{NAME}, step {step}: mean {mean:.9f}, {iterations} iterations")
