//! Tests of the examples that are small programs: clusters, heat, and the parts of a matrix.

use super::{File, passes, refuses};

/// Two cliques of four vertices with an edge between them, a triangle beside them, and a vertex alone: an edge list.
const CLIQUES: &str = "# two cliques, a triangle\n0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n3 4\n4 5\n4 6\n4 7\n5 6\n5 7\n6 7\n\
                       8 9\n9 10\n10 8\n11 11\n";

#[test]
fn clusters_are_those_of_dense_matrices() {
    let file = File::new(CLIQUES);
    let edges = CLIQUES.lines().skip(1).map(|line| {
        let mut ends = line.split(' ').map(|end| end.parse().expect("a number"));
        (ends.next().expect("a source"), ends.next().expect("a target"))
    });
    let clusters = dense_clusters(12, edges);
    assert_eq!(clusters, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 10], vec![11]]);
    for device in ["cpu", "simulated"] {
        let text = passes("markov_clustering", &["--device", device, file.path()]);
        assert!(text.contains(": 12 x 12, 17 nonzeros\n") && text.contains(" 4 clusters; "), "{text}");
        for cluster in &clusters {
            let line = format!("\n{} vertices: {cluster:?}\n", cluster.len());
            assert!(text.contains(&line), "no {line} in {text}");
        }
    }
    let text = passes("markov_clustering", &["--device", "cpu", "diagonal:5"]);
    assert!(text.contains(": 1 steps, 5 clusters"), "{text}");
    let message = refuses("markov_clustering", &["--device", "cpu", "dense:3x4"]);
    assert!(message.contains("must be 4 x 3") || message.contains("3 x 4"), "{message}");
}

#[test]
fn a_graph_is_searched_from_its_largest_degree() {
    let file = File::new(CLIQUES);
    for device in ["cpu", "simulated"] {
        let text = passes("graph_search", &["--device", device, file.path()]);
        for line in
            ["1 vertices at 0 edges from vertex 3\n", "4 vertices at 1 ", "3 vertices at 2 ", "9 triangles\n"]
        {
            assert!(text.contains(&format!(": {line}")), "no {line} in {text}");
        }
        assert!(!text.contains(" at 3 edges"), "{text}");
    }
    let text = passes("graph_search", &["--device", "cpu"]);
    assert!(text.contains(" triangles\n"), "{text}");
    assert!(refuses("graph_search", &["--device", "cpu", "dense:3x4"]).contains("3 x 4"));
}

/// Markov clustering with columns as in the publication, without pruning. Vertices of a cluster have the same attractors.
fn dense_clusters(vertices: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut flow = vec![vec![0.0_f64; vertices]; vertices];
    for (source, target) in edges {
        flow[source][target] += 0.5;
        flow[target][source] += 0.5;
    }
    (0..vertices).for_each(|vertex| flow[vertex][vertex] += 1.0);
    for step in 0..60 {
        let (expanded, power) = if step == 0 { (flow.clone(), 1) } else { (product(&flow), 2) };
        for column in 0..vertices {
            let sum: f64 = expanded.iter().map(|row| row[column].powi(power)).sum();
            (0..vertices).for_each(|row| flow[row][column] = expanded[row][column].powi(power) / sum);
        }
    }
    let mut clusters: Vec<(Vec<usize>, Vec<usize>)> = vec![];
    let attractors_of = |vertex: usize| (0..vertices).filter(|&row| flow[row][vertex] > 1e-6).collect();
    for vertex in 0..vertices {
        let attractors: Vec<usize> = attractors_of(vertex);
        match clusters.iter_mut().find(|(of, _)| *of == attractors) {
            Some((_, cluster)) => cluster.push(vertex),
            None => clusters.push((attractors, vec![vertex])),
        }
    }
    clusters.into_iter().map(|(_, cluster)| cluster).collect()
}

fn product(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |row: &Vec<f64>, column: usize| row.iter().zip(a).map(|(value, b)| value * b[column]).sum();
    a.iter().map(|row| (0..a.len()).map(|column| entry(row, column)).collect()).collect()
}

#[test]
fn attention_is_that_of_dense_matrices() {
    let file = File::new(CLIQUES);
    let expected = dense_attention(12, &[1, 2, 3]);
    for device in ["cpu", "simulated"] {
        let text = passes("attention", &["--device", device, file.path()]);
        let first = text.split('[').nth(1).and_then(|rest| rest.split(']').next()).expect("the first vertex");
        let first: Vec<f64> = first.split(", ").map(|number| number.parse().expect("a number")).collect();
        assert_eq!(first.len(), expected.len(), "{text}");
        let is_close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-6;
        assert!(first.iter().zip(&expected).all(is_close), "{text}, but expected {expected:?}");
        passes("attention", &["--device", device, "dense:3x4"]);
        passes("attention", &["--device", device, "empty-rows:20"]);
    }
}

/// The values of the first of some vertices, given its neighbors: a row of softmax(QKᵀ/4 where there are edges) V.
fn dense_attention(vertices: usize, neighbors: &[usize]) -> Vec<f64> {
    let number = |vertex: usize, at: usize, seed: f64| ((vertex * 16 + at) as f64 + seed) * 0.618;
    let of = |vertex, at, seed| number(vertex, at, seed).fract() * 4.0 - 2.0;
    let mut scores = vec![f64::NEG_INFINITY; vertices];
    for &vertex in neighbors {
        scores[vertex] = (0..16).map(|at| of(0, at, 0.1) * of(vertex, at, 0.2)).sum::<f64>() / 4.0;
    }
    let sum: f64 = scores.iter().map(|score| score.exp()).sum();
    let mean = |at| (0..vertices).map(|vertex| scores[vertex].exp() / sum * of(vertex, at, 0.3)).sum();
    (0..16).map(mean).collect()
}

#[test]
fn heat_is_that_of_dense_systems() {
    for (device, side) in [("cpu", 3), ("cpu", 7), ("simulated", 4)] {
        let text = passes("heat", &["--device", device, &side.to_string()]);
        for (step, expected) in dense_heat(side).into_iter().enumerate() {
            let line = text.lines().nth(step).expect("a line per step");
            assert!(line.contains(&format!("step {}: mean ", step + 1)), "{line}");
            let mean = line.split("mean ").nth(1).and_then(|text| text.split(',').next());
            let mean: f64 = mean.and_then(|text| text.parse().ok()).expect("a number");
            assert!((mean - expected).abs() <= 2e-9, "{side}: {line}, but expected {expected}");
        }
    }
    assert!(refuses("heat", &["--device", "cpu", "2"]).contains("`2` is not a side from 3 to 5000"));
}

/// Mean temperatures after each step, from the edges of the mesh instead of its element matrices: an edge has the
/// conductivity of its triangles, halved, if it is a leg, and none if it is a diagonal.
fn dense_heat(side: usize) -> Vec<f64> {
    let nodes = side * side;
    let is_fixed = |node: usize| {
        let (row, column) = (node / side, node % side);
        row.min(column) == 0 || row.max(column) == side - 1
    };
    let mut u: Vec<f64> = (0..nodes).map(|node| if node % side == 0 { 1.0 } else { 0.0 }).collect();
    let area = 0.5 / ((side - 1) * (side - 1)) as f64;
    let mut means = vec![];
    for _ in 0..10 {
        let mut a = vec![vec![0.0; nodes]; nodes];
        let mut rhs = vec![0.0; nodes];
        for (row, column) in (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| (row, column))) {
            let node = row * side + column;
            let far = node + side + 1;
            for [right_angle, first, second] in [[node, node + 1, node + side], [far, far - 1, far - side]] {
                let conductivity = 1.0 + 3.0 * (u[right_angle] + u[first] + u[second]);
                for end in [first, second] {
                    let flux = 0.01 * conductivity / 2.0;
                    a[end][end] += flux;
                    a[right_angle][right_angle] += flux;
                    a[end][right_angle] -= flux;
                    a[right_angle][end] -= flux;
                }
                for corner in [right_angle, first, second] {
                    a[corner][corner] += area / 3.0;
                    rhs[corner] += area / 3.0 * u[corner];
                }
            }
        }
        for node in (0..nodes).filter(|&node| is_fixed(node)) {
            a[node].fill(0.0);
            (a[node][node], rhs[node]) = (1.0, u[node]);
        }
        u = eliminate(a, rhs);
        means.push(u.iter().sum::<f64>() / nodes as f64);
    }
    means
}

/// Gaussian elimination, of a matrix whose diagonal dominates.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for pivot in 0..n {
        let (row, right) = (a[pivot].clone(), b[pivot]);
        for other in (0..n).filter(|&other| other != pivot && a[other][pivot] != 0.0).collect::<Vec<_>>() {
            let factor = a[other][pivot] / row[pivot];
            a[other].iter_mut().zip(&row).for_each(|(value, above)| *value -= factor * above);
            b[other] -= factor * right;
        }
    }
    (0..n).map(|row| b[row] / a[row][row]).collect()
}

#[test]
fn parts_of_a_matrix_have_their_entries() {
    // 4 -1  0  0      By hand: sums of absolute values of rows are 5, 2, 0, 7, those of columns 6, 3, 5, 0.
    // 2  0  0  0
    // 0  0  0  0
    // 0 -2  5  0
    let file = File::new(
        "%%MatrixMarket matrix coordinate real general\n4 4 5\n1 1 4\n1 2 -1\n2 1 2\n4 2 -2\n4 3 5\n",
    );
    for device in ["cpu", "simulated"] {
        let text = passes("slicing", &["--device", device, file.path()]);
        for line in [
            "4 nonzeros on and below the diagonal, 1 above\n",
            "\n4 nonzeros on three diagonals\n",
            "\n2 nonzeros in every second row\n",
            // 4/21 + 25/35 for row 3; 16/30 + 1/15 for row 0; 4/12 for row 1.
            &format!("\nscaled, row 3 has the largest norm, {:.6}\n", (4.0_f64 / 21.0 + 25.0 / 35.0).sqrt()),
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        passes("slicing", &["--device", device, "dense:3x5"]);
    }
}
