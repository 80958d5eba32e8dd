//! `evenpath-bench launch-cost`: output and exit codes.

use std::process::Command;

use serde_json::Value;

/// The lines of JSON, by operation.
fn costs(device: &str, filters: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"));
    command.args(["launch-cost", "--json", "--generate", "uniform:100", "--calls", "2", "--device", device]);
    let filters = filters.iter().flat_map(|filter| ["--op", filter]);
    let output = command.args(filters).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect()
}

#[test]
fn graphs_are_measured_where_they_hold_the_operation() {
    let costs = costs("simulated", &["axpby", "dot", "scan"]);
    let of = |name: &str| costs.iter().find(|cost| cost["op"] == name).expect(name);
    assert_eq!((&of("axpby")["graph"]["nodes"], &of("dot")["graph"]), (&Value::from(1), &Value::Null));
    assert_eq!(of("scan")["graph"]["nodes"], 2);
    for cost in &costs {
        assert!(cost["host_us"].as_f64() > Some(0.0) && cost["driver_calls"] == 0.0, "{cost}");
    }
}

#[test]
fn the_cpu_has_what_it_has() {
    let costs = costs("cpu", &["spmv, flat", "axpby"]);
    assert_eq!((costs.len(), &costs[0]["op"]), (1, &Value::from("axpby")));
}
