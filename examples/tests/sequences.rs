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

#[test]
fn they_pass_on_every_device_that_is_always_there() {
    for device in ["cpu", "simulated"] {
        for key in ["u32", "u64"] {
            for len in ["0", "1", "9000"] {
                for name in ["merge", "set_ops", "radix_sort"] {
                    let arguments = ["--device", device, "--key", key, "--len", len, "--iterations", "1"];
                    let text = passes(name, &arguments);
                    assert!(text.ends_with("\nPASS\n") && text.contains("copy rate"), "{text}");
                }
            }
        }
    }
}

#[test]
fn json_has_everything() {
    let measured: [(&str, &[&str]); 3] = [
        ("merge", &["merge"]),
        ("set_ops", &["set_union", "set_intersection", "set_difference", "set_symmetric_difference"]),
        ("radix_sort", &["keys", "pairs", "pairs_descending", "pairs_by_bits_4_to_12"]),
    ];
    for (name, operations) in measured {
        let json = json(name);
        assert_eq!(
            (&json["pass"], &json["len"], &json["device"]),
            (&true.into(), &5000.into(), &"CPU".into())
        );
        assert_eq!(json["key"], "u64", "{json}");
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
    for name in ["merge", "set_ops", "radix_sort"] {
        passes(name, &["--device", "cpu", "--len", "100", "--seed", &u64::MAX.to_string()]);
    }
}

#[test]
fn bad_arguments_are_named() {
    let cases: [(&[&str], &str); 4] = [
        (&["--key", "f16"], "'f16'"),
        (&["--len", "-1"], "-1"),
        (&["--len", "5000000000"], "5000000000"),
        (&["--device", "cuda:999"], "cuda:999"),
    ];
    for name in ["merge", "set_ops", "radix_sort"] {
        for (arguments, part) in cases {
            let output = run(name, arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
            assert!(stderr.contains(part) && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
        }
    }
}
