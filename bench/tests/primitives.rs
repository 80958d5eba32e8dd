//! `evenpath-bench primitives` as a program: measurements, output, comparisons and exit codes.

use serde_json::Value;

use super::{objects, passes, positive, run, stderr};

/// Sample output of another program.
const PEERS: &str = r#"{"device":"another GPU","runtime":13000}
{"peer":"thrust","op":"set_union","key":"u64","value":"-","n":1024,"ms":1e9,"gkeys_s":1.0,"gb_s":1.0}
{"peer":"mgpu","op":"set_union","key":"u64","value":"-","n":1024,"ms":2e9,"gkeys_s":1.0,"gb_s":1.0}
{"peer":"thrust","op":"set_union","key":"u64","value":"-","n":2048,"ms":1e9,"gkeys_s":1.0,"gb_s":1.0}
{"peer":"cub","op":"cta_radix_sort_keys","bits":16,"threads":128,"items":11,"cycles_alone":5465,"cycles_full":21615}
"#;

/// The objects that it prints: the device's, and the others.
fn json(arguments: &[&str]) -> (Value, Vec<Value>) {
    let mut lines = objects("primitives", &[&["--repetitions", "1"], arguments].concat());
    let device = lines.remove(0);
    (device, lines)
}

/// A file of a peer's measurements, with its folder, which goes when it is dropped.
fn peers() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("peers.jsonl");
    std::fs::write(&path, PEERS).expect("a file");
    let path = path.to_str().expect("text").to_owned();
    (folder, path)
}

#[test]
fn every_case_is_measured_and_verified_on_the_cpu() {
    let (device, lines) = json(&["--device", "cpu", "--log2", "1,10,13"]);
    assert_eq!(device["device"], "CPU");
    let copy_gbps = positive(&device, "copy_gbps");
    for line in &lines {
        assert_eq!(line["peer"], "evenpath");
        for field in ["key", "value"] {
            assert!(line[field].is_string(), "{line}");
        }
        let n = line["n"].as_u64().expect("a number");
        let seconds = positive(line, "ms") / 1e3;
        assert!((positive(line, "gkeys_s") * 1e9 * seconds / n as f64 - 1.0).abs() < 1e-9, "{line}");
        assert!((positive(line, "gb_s") / positive(line, "copy_share") / copy_gbps - 1.0).abs() < 1e-9);
        assert!(line["temporary_bytes"].is_u64(), "{line}");
        let verified = if line["op"] == "copy" { Value::Null } else { true.into() };
        assert_eq!(line["verified"], verified, "{line}");
    }
    let count = |op: &str, key: &str, value: &str| {
        let is_it = |line: &&Value| line["op"] == op && line["key"] == key && line["value"] == value;
        lines.iter().filter(is_it).count()
    };
    for (op, key, value) in [
        ("radix_sort_keys_32bit", "u32", "-"),
        ("radix_sort_pairs_64bit", "u64", "u32"),
        ("exclusive_scan", "f64", "-"),
        ("inclusive_scan_min", "u32", "-"),
        ("scan_by_key_seg4", "u32", "f32"),
        ("scan_by_flag_seg4096", "u8", "f64"),
        ("scan_by_offsets_seg64", "u32", "f64"),
        ("reduce_by_key_seg64", "u32", "f32"),
        ("reduce_by_flag_seg4096", "u8", "f32"),
        ("reduce_by_offsets_seg4", "u32", "f64"),
        ("sort_keys_by_offsets_seg4", "u32", "-"),
        ("sort_pairs_by_offsets_seg4096", "u64", "u32"),
        ("sort_pairs_by_offsets_skewed", "u32", "u32"),
        ("sort_rows_power_law", "u32", "f32"),
        ("set_symmetric_difference", "u32", "-"),
        ("set_intersection_count", "u64", "-"),
        ("set_union_by_key_sum", "u64", "f64"),
        ("merge", "u32", "-"),
        ("merge_by_key", "u64", "f32"),
    ] {
        assert_eq!(count(op, key, value), 3, "{op} {key} {value}");
    }
    for (op, key) in [("radix_sort_pairs_20bit", "u32"), ("radix_sort_pairs_40bit", "u64")] {
        assert_eq!(count(op, key, "u32"), 1, "{op}");
    }
    assert_eq!(count("copy", "u8", "-"), 1);
}

#[test]
fn bytes_are_those_of_inputs_and_results() {
    let (_, lines) = json(&["--device", "cpu", "--log2", "12"]);
    let bytes = |op: &str, value: &str| {
        let is_it = |line: &&Value| line["op"] == op && line["value"] == value && line["key"] != "u64";
        let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("no {op}"));
        (positive(line, "gb_s") * positive(line, "ms") * 1e6).round() as u64
    };
    let n = 1 << 12;
    assert_eq!(bytes("radix_sort_pairs_32bit", "u32"), 2 * n * 8);
    assert_eq!(bytes("exclusive_scan", "-"), 2 * n * 4);
    assert_eq!(bytes("scan_by_key_seg64", "f64"), n * (4 + 2 * 8));
    assert_eq!(bytes("scan_by_flag_seg64", "f32"), n * (1 + 2 * 4));
    // The bytes besides the values: keys, flags, offsets; there are as many segments as keys in the result.
    let segments = (bytes("reduce_by_key_seg64", "f64") - n * (4 + 8)) / (4 + 8);
    assert!((n / 64 / 2..n / 64 * 2).contains(&segments), "{segments}");
    assert_eq!(bytes("reduce_by_flag_seg64", "f64"), n * (1 + 8) + segments * 8);
    assert_eq!(bytes("reduce_by_offsets_seg64", "f64"), n * 8 + (segments + 1) * 4 + segments * 8);
    assert_eq!(bytes("scan_by_offsets_seg64", "f64"), 2 * n * 8 + (segments + 1) * 4);
    assert_eq!(bytes("sort_keys_by_offsets_seg64", "-"), 2 * n * 4 + (segments + 1) * 4);
    assert_eq!(bytes("sort_pairs_by_offsets_seg64", "u32"), 2 * n * 8 + (segments + 1) * 4);
    assert_eq!(bytes("set_union_count", "-"), n * 4);
    assert_eq!(bytes("merge", "-"), 2 * n * 4);
    // Keys in one input only, and keys in both.
    let union = bytes("set_union", "-") - n * 4;
    let symmetric_difference = bytes("set_symmetric_difference", "-") - n * 4;
    assert_eq!(bytes("set_intersection", "-") - n * 4, union - symmetric_difference);
    assert_eq!(2 * union - symmetric_difference, n * 4);
}

#[test]
fn the_simulated_gpu_runs_everything_too() {
    let (device, lines) = json(&["--device", "simulated", "--log2", "10"]);
    assert_eq!(device["device"], "simulated GPU");
    for line in lines.iter().filter(|line| line["op"] != "copy") {
        assert_eq!(line["verified"], true, "{line}");
    }
    for what in ["keys", "permutation", "pairs", "two_passes"] {
        let tiles: Vec<_> =
            lines.iter().filter(|line| line["op"] == format!("cta_radix_sort_{what}")).collect();
        let bits: Vec<_> = tiles.iter().map(|line| line["bits"].as_u64()).collect();
        assert_eq!(bits, [12, 16, 20, 24, 28].map(Some), "{what}");
        for line in tiles {
            assert_eq!((&line["threads"], &line["items"]), (&128.into(), &11.into()));
            assert!(positive(line, "cycles_alone") <= positive(line, "cycles_full"), "{line}");
        }
    }
}

#[test]
fn peers_are_compared_with_by_case() {
    let (_folder, path) = peers();
    let arguments =
        ["--device", "simulated", "--log2", "9,10", "--op", "set_union", "--op", "cta", "--peers", &path];
    let (_, lines) = json(&arguments);
    let (compared, other): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["against"].is_object());
    let [union, tile] = compared[..] else { panic!("{compared:?}") };
    assert_eq!(
        (&union["op"], &union["key"], &union["n"]),
        (&"set_union".into(), &"u64".into(), &1024.into())
    );
    assert_eq!((&union["against"]["peer"], &union["against"]["ms"]), (&"thrust".into(), &1e9.into()));
    let ratio = positive(&union["against"], "ratio");
    assert!((ratio * positive(union, "ms") / 1e9 - 1.0).abs() < 1e-9, "{union}");
    assert_eq!((&tile["op"], &tile["bits"]), (&"cta_radix_sort_keys".into(), &16.into()));
    let ratio_full = positive(&tile["against"], "ratio_full");
    assert!((ratio_full * positive(tile, "cycles_full") / 21615.0 - 1.0).abs() < 1e-9, "{tile}");

    let means: Vec<_> = other.into_iter().filter(|line| line.get("geometric_mean_ratio").is_some()).collect();
    let names: Vec<_> = means.iter().map(|mean| mean["op"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["set_union", "cta_radix_sort_keys alone", "cta_radix_sort_keys full"]);
    assert!((positive(means[0], "geometric_mean_ratio") / ratio - 1.0).abs() < 1e-9, "{means:?}");
    assert!(means.iter().all(|mean| mean["cases"] == 1), "{means:?}");
}

#[test]
fn the_table_has_peer_and_ratio() {
    let (_folder, path) = peers();
    let arguments = ["--device", "cpu", "--log2", "10", "--repetitions", "1", "--op", "set_union"];
    let text = passes("primitives", &arguments);
    assert!(text.starts_with("CPU, copies at ") && !text.contains(" ratio"), "{text}");
    let text = passes("primitives", &[&arguments[..], &["--peers", &path, &path]].concat());
    let heading = text.lines().nth(1).expect("a heading");
    for column in ["operation", "key", "value", " n ", " ms ", "of copy", "temp. bytes", "peer", "ratio"] {
        assert!(heading.contains(column), "{column} in\n{text}");
    }
    let line = text.lines().find(|line| line.starts_with("set_union  ") && line.contains(" u64 "));
    assert!(line.is_some_and(|line| line.contains(" 2^10 ") && line.contains("thrust")), "{text}");
    assert!(text.contains("geometric mean"), "{text}");
    assert!(text.lines().skip(2).all(|line| line.contains("set_union") || line.contains("mean")), "{text}");
}

#[test]
fn what_cannot_be_is_an_error_and_named() {
    let (_folder, path) = peers();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--peers", "no/such/file"], 1, "no/such/file: "),
        (&["--peers", &path, "--device", "cuda:999"], 1, "cuda:999"),
        (&["--device", "gpu"], 2, "`gpu`"),
        (&["--log2", "31"], 2, "31"),
        (&["--log2", "0"], 2, "0"),
        (&["--repetitions", "0"], 2, "0"),
    ];
    for (arguments, code, part) in cases {
        let output = run("primitives", arguments);
        let stderr = stderr(&output);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
    std::fs::write(&path, "{\"op\":\"merge\"}\nnothing\n").expect("a file");
    let output = run("primitives", &["--device", "cpu", "--peers", &path]);
    assert!(stderr(&output).contains("peers.jsonl:2: "), "{output:?}");
}
