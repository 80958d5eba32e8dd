//! The page that the properties are on.

use super::operations::Operation;

const HEAD: &str = "\
# Properties of the operations

Every operation runs on every device: the CPU, NVIDIA GPUs and the simulated GPU. A test, `tests/properties`, runs each for all
its types, and looks for what this table claims on simulated GPUs.

- **Asynchronous**: a run does not wait for the device; errors of kernels come up in a later call that does. Plans may wait
  when they are made and in their first run. On the CPU nothing is asynchronous.
- **Repeatable**: on the same device, with the same options and the same version, the bits are the same in every run, whatever
  the order in which blocks run. Across devices, [some choices have to be given](../architecture.md#reproducibility).
- **Memory**: plans report what they hold, `info()?.workspace_bytes`; scans, reductions, sorts, merges and sets have functions
  `temporary_bytes…` for what a call takes while it runs.

| operation | call | values | offsets, keys | asynchronous | repeatable |
|---|---|---|---|---|---|
";

pub(super) fn page(operations: &[Operation]) -> String {
    HEAD.to_string() + &operations.iter().map(row).collect::<String>()
}

fn row(operation: &Operation) -> String {
    let Operation { name, call, values, offsets, is_asynchronous, is_ordered, .. } = operation;
    let asynchronous = if *is_asynchronous { "yes" } else { "may wait" };
    let repeatable = if *is_ordered { "yes" } else { "no" };
    format!("| {name} | {call} | {values} | {offsets} | {asynchronous} | {repeatable} |\n")
}
