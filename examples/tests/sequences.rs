//! The examples on sequences as programs.

mod support;

use std::process::{Command, Output};

use serde_json::Value;
use support::program;

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name)).args(arguments).output().expect("the program starts")
}

/// What it prints where the exit code is 0.
fn passes(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{name} {arguments:?}: {text}");
    text
}

/// The JSON object that it prints.
fn json(name: &str) -> Value {
    let text = passes(name, &["--device", "cpu", "--len", "5000", "--iterations", "2", "--json"]);
    serde_json::from_str(&text).expect("an object")
}

/// The examples, with the types that they take.
const EXAMPLES: [(&str, &str, &[&str]); 4] = [
    ("merge", "--key", &["u32", "u64"]),
    ("radix_sort", "--key", &["u32", "u64"]),
    ("segmented_scan", "--value", &["u32", "i32", "u64", "f32", "f64"]),
    ("set_ops", "--key", &["u32", "u64"]),
];

#[test]
fn they_pass_on_every_device_that_is_always_there() {
    for device in ["cpu", "simulated"] {
        for (name, option, types) in EXAMPLES {
            for own_type in types {
                for len in ["0", "1", "9000"] {
                    let arguments = ["--device", device, option, own_type, "--len", len, "--iterations", "1"];
                    let text = passes(name, &arguments);
                    assert!(text.ends_with("\nPASS\n") && text.contains("copy rate"), "{text}");
                }
            }
        }
    }
}

#[test]
fn json_has_everything() {
    let sets = ["set_union", "set_intersection", "set_difference", "set_symmetric_difference"];
    let sorts = ["keys", "pairs", "pairs_descending", "pairs_by_bits_4_to_12"];
    let sums = ["scan_by_key", "scan_by_flag", "scan_by_offsets", "reduce_by_offsets", "reduce_by_key"];
    let measured: [(&str, &[&str]); 4] =
        [("merge", &["merge"]), ("radix_sort", &sorts), ("segmented_scan", &sums), ("set_ops", &sets)];
    for (name, operations) in measured {
        let json = json(name);
        assert_eq!((&json["pass"], &json["len"]), (&true.into(), &5000.into()), "{json}");
        assert_eq!(json["device"], "CPU");
        for field in ["open_ms", "first_result_ms"] {
            assert!(json[field].as_f64() > Some(0.0), "{field} in {json}");
        }
        for operation in operations {
            for field in ["ms", "gkeys_s", "gbps", "copy_share"] {
                assert!(json[operation][field].as_f64() > Some(0.0), "{operation}.{field} in {json}");
            }
        }
    }
}

#[test]
fn seeds_may_be_the_largest() {
    for (name, ..) in EXAMPLES {
        passes(name, &["--device", "cpu", "--len", "100", "--seed", &u64::MAX.to_string()]);
    }
}

#[test]
fn bad_arguments_are_named() {
    let cases: [(&[&str], &str); 3] = [
        (&["--len", "-1"], "-1"),
        (&["--len", "5000000000"], "5000000000"),
        (&["--device", "cuda:999"], "cuda:999"),
    ];
    for (name, option, _) in EXAMPLES {
        for (arguments, part) in cases.into_iter().chain([(&[option, "f16"][..], "'f16'")]) {
            let output = run(name, arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
            assert!(stderr.contains(part) && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
        }
    }
}
