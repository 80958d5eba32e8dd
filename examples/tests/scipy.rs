//! The examples that are in `examples/python` too print what those programs print with `scipy`, `python3 NAME.py --device cpu`.

use super::{passes, refuses};

/// The example, its input, and lines of the output of the Python program of the same name.
const PROGRAMS: [(&str, &[&str], &[&str]); 6] = [
    (
        "pagerank",
        &[],
        &[
            ": 130 steps; the first pages:\n",
            "\n154: 0.017897781\n54: 0.015189461\n1050: 0.012592038\n854: 0.012459087\n640: 0.012402159\n",
        ],
    ),
    (
        "markov_clustering",
        &[],
        &[
            ": 15 steps, 462 clusters; the first vertices of the largest:\n",
            "\n546 vertices: [79, 87, 118, 135, 178, 202, 248, 275, 295, 311]\n",
            "\n356 vertices: [0, 1, 7, 8, 9, 12, 13, 14, 15, 17]\n",
            "\n15 vertices: [92, 183, 224, 283, 369, 387, 473, 508, 642, 849]\n",
        ],
    ),
    (
        "attention",
        &[],
        &[
            ": 16 elements for each of 1490 vertices; the first: [-1.347198, 1.110242, -0.410885, -0.143425, ",
            ", 0.891797, -0.634602, 1.830242, 0.308651, -1.211198, 1.246242, -0.274885]\n",
        ],
    ),
    (
        "graph_search",
        &[],
        &[
            ": 1 vertices at 0 edges from vertex 154\n",
            ": 351 vertices at 1 edges from vertex 154\n",
            ": 618 vertices at 2 edges from vertex 154\n",
            ": 243 vertices at 3 edges from vertex 154\n",
            ": 7 vertices at 4 edges from vertex 154\n",
            ": 2 vertices at 5 edges from vertex 154\nCPU: 101043 triangles\n",
        ],
    ),
    (
        "slicing",
        &[concat!(env!("CARGO_MANIFEST_DIR"), "/data/bcsstk16.mtx.gz")],
        &[
            ": 147631 nonzeros on and below the diagonal, 142747 above\n13816 nonzeros on three diagonals\n",
            "\n145190 nonzeros in every second row\nscaled, row 2 has the largest norm, 1.000000\n",
        ],
    ),
    (
        "heat",
        &["12"],
        &[
            ", step 1: mean 0.168544316, 22 iterations\n",
            ", step 5: mean 0.330669754, 28 iterations\n",
            ", step 10: mean 0.355334785, 25 iterations\n",
        ],
    ),
];

#[test]
fn programs_print_what_scipy_finds() {
    for (name, input, lines) in PROGRAMS {
        let text = passes(name, &[&["--device", "cpu"], input].concat());
        for line in lines {
            assert!(text.contains(line), "no {line} in {text}");
        }
    }
}

#[test]
fn main_parts_are_timed_where_there_are_any() {
    let arguments = ["--device", "cpu", "--repetitions", "3", "stencil5:9"];
    for name in ["pagerank", "attention", "slicing"] {
        let text = passes(name, &arguments);
        let time = text.lines().find_map(|line| line.strip_prefix("time: ")?.strip_suffix(" ms"));
        assert!(time.is_some_and(|ms| ms.parse().is_ok_and(|ms: f64| ms > 0.0)), "{text}");
        assert!(!passes(name, &[&arguments[..2], &arguments[4..]].concat()).contains("time: "));
    }
    assert!(refuses("spadd", &arguments).contains("--repetitions: this example has no part that is timed"));
    assert!(refuses("slicing", &["--repetitions", "many"]).contains("many"));
}
