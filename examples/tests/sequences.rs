//! The examples on sequences.

use super::{passes, refuses, run};

const EXAMPLES: [&str; 4] = ["merge", "radix_sort", "segmented_scan", "set_ops"];

#[test]
fn they_pass_without_a_gpu() {
    for (device, label) in [("cpu", "CPU"), ("simulated", "simulated GPU")] {
        for name in EXAMPLES {
            for len in ["0", "1", "2", "9000"] {
                let text = passes(name, &["--device", device, len]);
                assert!(text.starts_with(&format!("{label}: ")), "{text}");
            }
        }
    }
}

#[test]
fn without_arguments_they_pass_on_the_best_device() {
    for name in EXAMPLES {
        let text = passes(name, &[]);
        assert!(text.contains(" 1000000 "), "{text}");
    }
}

#[test]
fn bad_arguments_are_named() {
    let cases: [(&[&str], &str); 5] = [
        (&["--", "-1"], "`-1`"),
        (&["5000000000"], "`5000000000`"),
        (&["many"], "`many`"),
        (&["--device", "cuda:999"], "cuda:999"),
        (&["--key", "u32"], "'--key'"),
    ];
    for name in EXAMPLES {
        for (arguments, part) in cases {
            let message = refuses(name, arguments);
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
}

#[test]
fn help_is_not_an_error() {
    let output = run("merge", &["--help"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("--device") && text.contains("LENGTH"), "{text}");
}
