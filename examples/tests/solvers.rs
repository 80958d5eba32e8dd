//! Tests of the examples that solve systems, and of the one on files.

use evenpath_solvers::Method;

use super::{File, passes, refuses, run};

#[test]
fn conjugate_gradients_solve_without_a_gpu() {
    let laplacian = File::new(
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 8\n1 1 4\n2 2 4\n3 3 4\n4 4 4\n\
         2 1 -1\n3 1 -1\n4 2 -1\n4 3 -1\n",
    );
    for device in ["cpu", "simulated"] {
        let text = passes("conjugate_gradients", &["--device", device, laplacian.path()]);
        // The vector of ones is an eigenvector, and is found in one step.
        assert!(text.contains("call by call: 1 steps") && text.contains("as a graph: 1 steps"), "{text}");
    }
    let text = passes("conjugate_gradients", &["--device", "cpu"]);
    assert!(text.contains("bcsstk16.mtx.gz: 4884 x 4884"), "{text}");
}

#[test]
fn other_than_positive_definite_matrices_are_refused() {
    let message = refuses("conjugate_gradients", &["--device", "cpu", "lp:8"]);
    assert!(message.contains("8 x 2040"), "{message}");
    let no_diagonal = File::new("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 1 1\n");
    let message = refuses("conjugate_gradients", &["--device", "cpu", no_diagonal.path()]);
    assert!(message.contains("row 1"), "{message}");
}

#[test]
fn systems_are_solved_by_methods_of_choice() {
    let grid = ["--device", "cpu", "--generate", "stencil5:20"];
    for method in Method::ALL.map(Method::name) {
        let text = passes("solve", &[&grid, &["--method", method, "--tolerance", "1e-9"][..]].concat());
        assert!(text.contains("outcome         converged") && text.contains(" |*"), "{text}");
    }
    for preconditioner in
        ["none", "jacobi", "gauss-seidel", "multicolor-gauss-seidel", "ilu", "ic", "chebyshev", "amg"]
    {
        let text = passes("solve", &[&grid, &["--preconditioner", preconditioner][..]].concat());
        assert!(text.contains("method          CG\n"), "{text}");
        assert!(text.contains(&format!("preconditioner  {preconditioner}\n")), "{text}");
    }
    // By the shape and symmetry of the matrix.
    let file = File::new("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 3\n");
    for (device, matrix, method) in
        [("simulated", file.path(), "GMRES"), ("cpu", "lp:8", "LSQR"), ("simulated", "stencil5:4", "CG")]
    {
        let text = passes("solve", &["--device", device, matrix]);
        assert!(text.contains(&format!("method          {method}\n")), "{text}");
    }
    let text = passes("solve", &["--device", "cpu"]);
    assert!(text.contains("bcsstk16.mtx.gz: 4884 x 4884"), "{text}");
}

#[test]
fn systems_that_are_not_solved_say_why() {
    let grid = ["--device", "cpu", "stencil5:20"];
    let output = run("solve", &[&grid, &["--max-steps", "3"][..]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the limit of steps was reached") && text.contains("advice"), "{text}");
    for (arguments, part) in [
        (["--method", "magic"], "unknown method `magic`; known names are cg"),
        (["--preconditioner", "magic"], "unknown preconditioner `magic`"),
        (["--tolerance", "small"], "--tolerance: `small` is not a number"),
        (["--tolerance", "-1"], "the tolerance is -1"),
        (["--unknown", "1"], "--unknown"),
    ] {
        let message = refuses("solve", &[&grid, &arguments[..]].concat());
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn pages_are_ranked_without_a_gpu() {
    // 1 and 2 link to each other and to 3, which has no links; 4 links to 1.
    let web = "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n2 1\n1 3\n2 3\n4 1\n";
    let file = File::new(web);
    let edges = File::new("# the same web\n0\t1\n1\t0\n0\t2\n1\t2\n3\t0\n");
    for (device, file) in [("cpu", &file), ("simulated", &file), ("cpu", &edges)] {
        let text = passes("pagerank", &["--device", device, file.path()]);
        assert!(text.contains(": 4 x 4, 5 nonzeros\n"), "{text}");
        // By hand: with s for the jumps to each page, r4 = s, r1 = s + 0.85 (r2 / 2 + r4), r2 = s + 0.85 r1 /
        // 2, r3 = s + 0.85 (r1 + r2) / 2, and their sum is 1.
        let r1 = (1.0 + 0.425 + 0.85) / (1.0 - 0.425 * 0.425);
        let r2 = 1.0 + 0.425 * r1;
        let r3 = 1.0 + 0.425 * (r1 + r2);
        let sum = 1.0 + r1 + r2 + r3;
        for (page, rank) in [r1, r2, r3, 1.0].into_iter().enumerate() {
            let line = format!("\n{page}: {:.9}\n", rank / sum);
            assert!(text.contains(&line), "no {line} in {text}");
        }
    }
    let text = passes("pagerank", &["--device", "cpu"]);
    assert!(text.contains("polblogs.mtx.gz: 1490 x 1490"), "{text}");
    let message = refuses("pagerank", &["--device", "cpu", "lp:8"]);
    assert!(message.contains("8 x 2040"), "{message}");
    let broken = File::new("0 1\n1 x\n");
    let message = refuses("pagerank", &["--device", "cpu", broken.path()]);
    assert!(message.contains(":2: ") && message.contains("`x`"), "{message}");
}

#[test]
fn files_are_multiplied() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    std::fs::write(path("a"), "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 2\n1 2 3\n")
        .unwrap();
    std::fs::write(path("b"), "%%MatrixMarket matrix coordinate real general\n2 1 2\n1 1 5\n2 1 7\n")
        .unwrap();
    let output = run("multiply", &[&path("a"), &path("b"), &path("ab")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let product: evenpath::Csr<f64> = evenpath::io::read_matrix_market(path("ab")).unwrap();
    assert_eq!(product.to_dense().unwrap(), [31.0]);
    assert_eq!(run("multiply", &[&path("a"), &path("a"), &path("ab")]).status.code(), Some(1));
}

#[test]
fn poisson_takes_few_steps_at_every_size() {
    for (device, side, levels) in [("cpu", 1, 1), ("simulated", 3, 1), ("cpu", 20, 3)] {
        let text = passes("poisson", &["--device", device, &side.to_string()]);
        let steps =
            text.split(" unknowns, ").nth(1).and_then(|text| text.split(' ').next()).expect("a number");
        assert!(steps.parse::<usize>().expect("a number") <= 12, "{text}");
        assert!(text.contains(&format!("\n{:>5} ", levels - 1)), "{text}");
        assert!(!text.contains(&format!("\n{levels:>5} ")), "{text}");
    }
    assert!(refuses("poisson", &["--device", "cpu", "0"]).contains("`0` is not a side from 1 to 600"));
}

#[test]
fn poisson_over_ranks_takes_fewer_steps_by_the_whole_matrix() {
    for (device, ranks, side) in [("cpu", "1", "5"), ("cpu", "4", "16"), ("simulated", "2", "5")] {
        let arguments = ["--device", device, "--ranks", ranks, "--side", side];
        let text = passes("distributed_poisson", &arguments);
        let steps = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("multigrid of {name}")));
            let number =
                line.and_then(|line| line.split(": ").nth(1)).and_then(|rest| rest.split(' ').next());
            number.expect("a number").parse::<usize>().expect("a number")
        };
        let (whole, parts) = (steps("the whole matrix"), steps("each rank's own part"));
        assert!(whole <= 12 && (ranks == "1" || whole < parts), "{text}");
    }
}

#[test]
fn direct_solves_and_refuses_singular_matrices() {
    for device in ["cpu", "simulated"] {
        let text = passes("direct", &["--device", device, "stencil5:8"]);
        assert!(text.contains("LU by faer, ") && text.contains("new values: factorization "), "{text}");
    }
    passes("direct", &["--device", "cpu"]);
    let singular = File::new("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n1 2 3\n");
    let reason = refuses("direct", &["--device", "cpu", singular.path()]);
    assert_eq!(reason, "error: row 1 has no pivot: the matrix is singular\n");
}

#[test]
fn beams_bend_with_few_steps_of_multigrid() {
    // 3 unknowns for each node: (n + 1)² in each of 8n + 1 sections.
    for (device, thickness, unknowns) in [("cpu", 1, 108), ("simulated", 2, 459), ("cpu", 4, 2475)] {
        let text = passes("elasticity", &["--device", device, &thickness.to_string()]);
        assert!(text.contains(&format!(": {unknowns} unknowns, ")), "{text}");
        let steps = |name: &str| -> usize {
            let line =
                text.lines().find(|line| line.starts_with(name)).expect("a line for each preconditioner");
            line.split(" ms, ")
                .nth(1)
                .and_then(|text| text.split(' ').next())
                .and_then(|steps| steps.parse().ok())
                .expect("steps")
        };
        let (multigrid, jacobi) = (steps("multigrid: "), steps("Jacobi: "));
        assert!(multigrid <= 25 && 2 * multigrid < jacobi, "{text}");
    }
    assert!(refuses("elasticity", &["--device", "cpu", "0"]).contains("`0` is not a thickness from 1 to 90"));
}

#[test]
fn membranes_have_the_modes_of_waves_in_both_directions() {
    for (device, side) in [("cpu", 3), ("simulated", 6), ("cpu", 20)] {
        let text = passes("eigenmodes", &["--device", device, &side.to_string()]);
        assert!(text.contains(&format!(": {} unknowns, ", side * side)), "{text}");
        // Products of sines with 1 and 1, 1 and 2, 2 and 1 half waves.
        let of_line = |waves: f64| 2.0 - 2.0 * (std::f64::consts::PI * waves / f64::from(side + 1)).cos();
        for (mode, waves) in [(0, [1.0, 1.0]), (1, [1.0, 2.0]), (2, [2.0, 1.0])] {
            let [value, lowest] = [waves, [1.0, 1.0]].map(|[x, y]| of_line(x) + of_line(y));
            let line = format!("\n{mode:>4} {:>10.4} {value:>13.6e} ", (value / lowest).sqrt());
            assert!(text.contains(&line), "no {line} in {text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("   ")).count(), 6, "{text}");
    }
    assert!(refuses("eigenmodes", &["--device", "cpu", "2"]).contains("`2` is not a side from 3 to 5000"));
}
