//! The page with the table of properties.

use super::operations::Operation;

const HEAD: &str = "\
# Properties of the operations

Every operation runs on every device: the CPU, NVIDIA GPUs and the simulated GPU. A test, `tests/properties`, runs each for all
its types, and checks the claims of this table on simulated GPUs.

- **Asynchronous**: a run does not wait for the device; kernel errors are reported by a later call that does. Plans may wait
  when they are made and in their first run. On the CPU nothing is asynchronous.
- **In graphs**: [`Device::capture`](streams.md#graphs) takes a run. Others are refused with `DeviceError::Capture`, which says why,
  on every device: when the graph is captured, and on the CPU when it is launched first. The first run of a plan for SpGEMM waits,
  and is refused; later ones are taken.
- **Repeatable**: on the same device, with the same options and the same version, results are bitwise identical in every run,
  regardless of the order in which blocks run. Across devices, [some choices must be set](../architecture.md#reproducibility).
- **Values**: of the matrix, vectors and results; `c32` and `c64` are `Complex<f32>` and `Complex<f64>`. The mixed products have vectors and dense
  matrices of `f64` for matrices of `f32`. `plan_spmv_mixed` and `plan_spmm_mixed` have the properties of `plan_spmv` and `plan_spmm` besides, with vectors
  and dense matrices of `f32` for matrices of `f16` and `bf16`. SDDMM has values of `f32` for dense matrices of `f16` and `bf16`.
  Products in a [semiring](operations.md#other-sums-and-products) take the types of the semiring; the table has those of `MinPlus`.
- **Memory**: plans report what they hold, `info()?.workspace_bytes`; scans, reductions, sorts, merges and sets have functions
  `…_temporary_bytes` for the temporary memory of a call.

| operation | call | values | offsets, keys | asynchronous | in graphs | repeatable |
|---|---|---|---|---|---|---|
";

pub(super) fn page(operations: &[Operation]) -> String {
    HEAD.to_string() + &operations.iter().map(row).collect::<String>()
}

fn row(operation: &Operation) -> String {
    let Operation { name, call, values, offsets, is_asynchronous, is_in_graphs, is_ordered, .. } = operation;
    let asynchronous = if *is_asynchronous { "yes" } else { "may wait" };
    let in_graphs = if *is_in_graphs { "yes" } else { "no" };
    let repeatable = if *is_ordered { "yes" } else { "no" };
    format!("| {name} | {call} | {values} | {offsets} | {asynchronous} | {in_graphs} | {repeatable} |\n")
}
