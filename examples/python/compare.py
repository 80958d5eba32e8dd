#!/usr/bin/env python3
"""Runs the programs of this folder and the examples of evenpath beside each other on one device, compares their results, and prints a
table of lines of code and times as Markdown.

    python3 compare.py --binaries ../../target/release/examples --device gpu
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy
import scipy.io
import scipy.sparse

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.dirname(HERE)


def write(folder, name, rows, columns, values, size):
    """Writes a Matrix Market file, and returns its path."""
    path = os.path.join(folder, f"{name}.mtx")
    matrix = scipy.sparse.coo_matrix((values, (rows, columns)), shape=(size, size)).tocsr()
    scipy.io.mmwrite(path, matrix, symmetry="general")
    return path


def links(folder, vertices, edges):
    """A directed graph in which few vertices have many links."""
    random = numpy.random.default_rng(1)
    rows = random.integers(vertices, size=edges)
    columns = (vertices * random.random(edges) ** 3).astype(int)
    keep = rows != columns
    rows, columns = numpy.unique(numpy.stack((rows[keep], columns[keep])), axis=1)
    return write(folder, "links", rows, columns, numpy.ones(len(rows)), vertices)


def clusters(folder, vertices, size, degree):
    """A graph of clusters of `size` vertices, with `degree` edges per vertex in its cluster and one in twenty to elsewhere."""
    random = numpy.random.default_rng(2)
    rows = numpy.repeat(numpy.arange(vertices), degree)
    columns = rows // size * size + random.integers(size, size=len(rows))
    far = random.random(len(rows)) < 0.05
    columns[far] = random.integers(vertices, size=far.sum())
    keep = (rows != columns) & (columns < vertices)
    rows, columns = numpy.unique(numpy.stack((rows[keep], columns[keep])), axis=1)
    return write(folder, "clusters", rows, columns, numpy.ones(len(rows)), vertices)


def stencil(folder, side):
    """The five-point stencil of a grid, with values that vary."""
    node = numpy.arange(side * side)
    x = node % side
    parts = [(node, node), (node[x > 0], node[x > 0] - 1), (node[x < side - 1], node[x < side - 1] + 1)]
    parts += [(node[side:], node[:-side]), (node[:-side], node[side:])]
    rows, columns = (numpy.concatenate(part) for part in zip(*parts))
    values = numpy.where(rows == columns, 4.0, -1.0) * (1 + (rows * 37 + columns * 11) % 101 / 101)
    return write(folder, "stencil", rows, columns, values, side * side)


def lines_of(path):
    """Lines that are neither blank nor comments. A module's documentation is a comment."""
    text = open(path, encoding="utf-8").read()
    text = re.sub(r'^"""(.|\n)*?"""\n', "", text, flags=re.MULTILINE)
    return sum(1 for line in text.splitlines() if not re.match(r"\s*(//|#(?!\[)|$)", line))


def run(command):
    """The milliseconds and the numbers that a program prints, or why there are none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    if done.returncode != 0:
        return None, (done.stderr or done.stdout).strip().splitlines()[-1:]
    ms, numbers = None, []
    for line in done.stdout.splitlines():
        if line.startswith("time: "):
            ms = float(line.split()[1])
        elif not re.search(r" x \d+, \d+ nonzeros$", line):
            # Without the name of the device.
            line = re.sub(r"^(CPU|GPU|cuda:\d+ \([^)]*\)|simulated GPU)[:,]", "", line)
            # Rounding may change how often a solver iterates.
            line = re.sub(r", \d+ iterations$", "", line)
            numbers += [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)]
    return ms, numbers


def agree(one, other):
    """True if all numbers are the same up to the last printed digits."""
    return len(one) == len(other) and all(abs(a - b) <= 2e-6 * max(1, abs(a)) for a, b in zip(one, other))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--binaries", required=True, help="the folder of the built examples of evenpath")
parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
parser.add_argument("--repetitions", type=int, default=5)
parser.add_argument("--scale", type=float, default=1.0, help="factor on the sizes of the inputs")
arguments = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    scale = arguments.scale
    graph = links(folder, int(200_000 * scale), int(2_000_000 * scale))
    programs = [
        ("pagerank", graph),
        ("graph_search", graph),
        ("attention", graph),
        ("markov_clustering", clusters(folder, int(4_000 * scale), 40, 12)),
        ("slicing", stencil(folder, int(700 * scale**0.5))),
        ("heat", str(int(120 * scale**0.5))),
    ]
    peer = "SciPy" if arguments.device == "cpu" else "CuPy"
    print(f"| program | lines, Python | lines, Rust | {peer}, ms | PyTorch, ms | evenpath, ms | {peer} / evenpath |")
    print("|---|---|---|---|---|---|---|")
    for name, input in programs:
        options = ["--device", arguments.device, "--repetitions", str(arguments.repetitions), input]
        program = os.path.join(HERE, f"{name}.py")
        python_ms, expected = run([sys.executable, program, *options])
        rust_ms, found = run([os.path.join(arguments.binaries, name), *options])
        torch_ms = None
        if name == "attention":
            torch_ms, why = run([sys.executable, os.path.join(HERE, "attention_torch.py"), *options])
            if torch_ms is None:
                print(f"note: attention in PyTorch: {why}", file=sys.stderr)
        for ms, why in [(python_ms, expected), (rust_ms, found)]:
            if ms is None:
                print(f"note: {name}: {why}", file=sys.stderr)
        if python_ms is not None and rust_ms is not None and not agree(expected, found):
            print(f"error: {name}: the results differ: {expected} and {found}", file=sys.stderr)
        lines = [lines_of(program), lines_of(os.path.join(EXAMPLES, f"{name}.rs"))]
        ratio = f"{python_ms / rust_ms:.2f}" if python_ms is not None and rust_ms is not None else "-"
        times = ["-" if ms is None else f"{ms:.2f}" for ms in (python_ms, torch_ms, rust_ms)]
        print("| " + " | ".join([name, *map(str, lines), *times, ratio]) + " |", flush=True)
