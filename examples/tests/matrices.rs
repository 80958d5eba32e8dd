//! The examples on one matrix.

use super::{File, SYMMETRIC, passes, refuses};

/// The examples that take any matrix, on any device.
const ANY_MATRIX: [&str; 7] = ["ell", "hisparse", "row_sorting", "slicing", "spadd", "spgemm", "spmm"];

/// The examples of methods that only kernels support, and the output of their plans.
const KERNELS_ONLY: [(&str, &str, &str); 2] =
    [("csr_adaptive", "csr-adaptive", "by stream"), ("light_spmv", "light", "lanes ")];

#[test]
fn without_arguments_they_pass_on_the_best_device() {
    for name in ANY_MATRIX {
        passes(name, &[]);
    }
}

#[test]
fn files_and_generated_matrices_pass_without_a_gpu() {
    let file = File::new(SYMMETRIC);
    let rectangle = File::new("%%MatrixMarket matrix coordinate real general\n2 4 2\n1 2 0.5\n1 4 7\n");
    for (device, label) in [("cpu", "CPU"), ("simulated", "simulated GPU")] {
        for name in ANY_MATRIX {
            for matrix in [file.path(), rectangle.path(), "stencil5:12", "diagonal:100"] {
                let text = passes(name, &["--device", device, matrix]);
                assert!(text.contains(label) && text.starts_with(&format!("{matrix}: ")), "{text}");
            }
        }
    }
}

#[test]
fn options_name_matrices_too() {
    let file = File::new(SYMMETRIC);
    for (option, matrix) in [("--matrix", file.path()), ("--generate", "stencil5:9")] {
        let text = passes("spadd", &["--device", "cpu", option, matrix]);
        assert!(text.starts_with(&format!("{matrix}: ")), "{text}");
        assert_eq!(text, passes("spadd", &[matrix, "--device", "cpu"]));
    }
}

#[test]
fn every_format_is_multiplied() {
    let text = passes("ell", &["--device", "cpu", "stencil5:30"]);
    for format in ["COO: 4380 slots", "ELL: 4500 slots", "ELL-R: 4500 slots", "sliced ELL: ", "HYB: "] {
        assert!(text.contains(format), "no `{format}` in {text}");
    }
}

#[test]
fn too_much_padding_is_refused() {
    let text = passes("ell", &["--device", "cpu", "power-law:100000"]);
    assert!(text.contains("\nELL: 100000 rows padded to up to ") && text.contains("the limit is"), "{text}");
    assert!(text.contains("HYB: "), "{text}");
    let message = refuses("row_sorting", &["--device", "cpu", "power-law:100000"]);
    assert!(message.starts_with("error: 100000 rows padded to up to "), "{message}");
}

#[test]
fn sums_and_products_have_the_nonzeros_of_both() {
    let file = File::new("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 1\n");
    for device in ["cpu", "simulated"] {
        let text = passes("spadd", &["--device", device, file.path()]);
        assert!(text.contains("2 + 2 nonzeros make 3"), "{text}");
        let text = passes("spgemm", &["--device", device, file.path()]);
        assert!(text.contains("2 products"), "{text}");
        let text = passes("hisparse", &["--device", device, file.path()]);
        assert!(text.contains("A + Aᵀ has 3 nonzeros"), "{text}");
    }
}

#[test]
fn examples_of_methods_need_no_gpu() {
    for (name, method, figure) in KERNELS_ONLY {
        let text = passes(name, &[]);
        assert!(text.contains(&format!("{method} (asked for)")) && text.contains(figure), "{text}");
        let text = passes(name, &["--device", "simulated", "rmat:7"]);
        assert!(text.contains("simulated GPU: ") && text.contains(figure), "{text}");
    }
}

#[test]
fn examples_of_methods_refuse_the_cpu() {
    for (name, method, _) in KERNELS_ONLY {
        let message = refuses(name, &["--device", "cpu", "diagonal:5"]);
        assert!(message.contains(&format!("CPU does not support SpMV by `{method}`")), "{message}");
    }
}

#[test]
fn a_kernel_of_its_own_needs_no_gpu() {
    let text = passes("queue_operation", &[]);
    assert!(text.contains("the largest magnitude of 1600 columns is "), "{text}");
    let text = passes("queue_operation", &["--device", "simulated", "rmat:7"]);
    assert!(text.contains("simulated GPU: the largest magnitude of 128 columns"), "{text}");
    let message = refuses("queue_operation", &["--device", "cpu", "diagonal:5"]);
    assert!(message.contains("column_maxima") && message.contains("the CPU runs no kernels"), "{message}");
}

#[test]
fn streams_give_the_results_of_one() {
    for arguments in [["--device", "cpu", "uniform:200"], ["--device", "simulated", "stencil5:10"]] {
        let text = passes("streams", &arguments);
        assert!(text.contains("one by one: ") && text.contains("by 3 streams: "), "{text}");
    }
}

#[test]
fn a_graph_gives_the_results_of_calls() {
    for arguments in
        [&["stencil5:30"][..], &["--device", "simulated", "rmat:7"], &["--device", "cpu", "diagonal:5"]]
    {
        let text = passes("graph", arguments);
        assert!(
            text.contains("as a graph: eigenvalue ") && text.contains("the same to the last bit"),
            "{text}"
        );
    }
    assert!(refuses("graph", &["dense:3x4"]).contains("must be square"));
}

#[test]
fn bad_arguments_are_named() {
    let cases: [(&[&str], &str); 6] = [
        (&["--device", "tpu"], "`tpu`"),
        (&["--device", "cuda:x"], "`cuda:x`"),
        (&["--device", "cuda:999"], "cuda:999"),
        (&["--no-such-thing"], "'--no-such-thing'"),
        (&["no/such/file.mtx"], "no/such/file.mtx"),
        (&["diagonal:3", "diagonal:4"], "\"diagonal:4\""),
    ];
    for name in ANY_MATRIX.into_iter().chain([
        "conjugate_gradients",
        "csr_adaptive",
        "graph_search",
        "markov_clustering",
        "pagerank",
    ]) {
        for (arguments, part) in cases {
            let message = refuses(name, arguments);
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
    let file = File::new(&SYMMETRIC.replace("3 1 -0.5", "3 one -0.5"));
    let message = refuses("spadd", &[file.path()]);
    assert!(message.contains(&format!("{}:4: ", file.path())) && message.contains("`one`"), "{message}");
}
