//! `evenpath-bench launch-cost` and `first-use`: output.

use serde_json::Value;

use super::{objects, positive};

/// The lines of JSON, by operation.
fn costs(device: &str, filters: &[&str]) -> Vec<Value> {
    let own = ["--generate", "uniform:100", "--calls", "2", "--device", device];
    let filters = filters.iter().flat_map(|filter| ["--op", filter]);
    objects("launch-cost", &own.into_iter().chain(filters).collect::<Vec<_>>())
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

#[test]
fn first_calls_are_those_of_a_new_device() {
    let calls =
        objects("first-use", &["--device", "cpu", "--op", "spmv, flat", "--op", "hyb", "--op", "dot"]);
    let names: Vec<_> = calls.iter().filter_map(|call| call["op"].as_str()).collect();
    assert_eq!(names, ["dot", "hyb"]);
    assert!(calls.iter().all(|call| positive(call, "first_ms") > 0.0 && positive(call, "again_ms") > 0.0));
}
