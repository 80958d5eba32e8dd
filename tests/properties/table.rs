//! The page that the properties are on.

use super::Properties;
use super::operations::{ELEMENTS, Operation};

const HEAD: &str = "\
# Properties of the operations

Every operation runs on every device: the CPU, NVIDIA GPUs and the simulated GPU. A test, `tests/properties`, runs each for all
its types and makes this table of what it sees on simulated GPUs.

- **Asynchronous**: a call does not wait for the device; errors of kernels come up in a later call that does. Plans may wait
  when they are made and in their first run. On the CPU nothing is asynchronous.
- **Repeatable**: on the same device, with the same options and the same version, the bits are the same in every run, whatever
  the order in which blocks run. Across devices, [some choices have to be given](../architecture.md#the-same-bits).
- **Memory**: bytes per nonzero of the matrix, or per element of the sequence, that the plan holds, and that a run takes for a
  while beside operands and result, seen for an R-MAT matrix of 512 rows and for SEQUENCE elements. Plans report theirs for any matrix:
  `info()?.workspace_bytes`.

| operation | call | values | offsets, keys | plan holds | a run takes | asynchronous | repeatable |
|---|---|---|---|---|---|---|---|
";

/// An operation's line of the table.
pub(super) fn row(operation: &Operation, seen: &Properties) -> String {
    let Properties { is_asynchronous, is_repeatable, plan_bytes, run_bytes } = seen;
    assert_eq!(*is_repeatable, operation.is_ordered, "{}", operation.name);
    let per_element = |bytes: u64| match bytes as f64 / operation.elements as f64 {
        none if none < 0.05 => "–".to_string(),
        bytes => format!("{bytes:.1}"),
    };
    let yes = |holds: bool| if holds { "yes" } else { "no" };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        operation.name,
        operation.call,
        operation.values,
        operation.offsets,
        per_element(*plan_bytes),
        per_element(*run_bytes),
        yes(*is_asynchronous),
        yes(*is_repeatable),
    )
}

pub(super) fn page(rows: &[String]) -> String {
    HEAD.replace("SEQUENCE", &ELEMENTS.to_string()) + &rows.concat()
}
