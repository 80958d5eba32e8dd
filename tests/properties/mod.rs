//! The table of properties, docs/guide/properties.md, is what the operations do: each is run, for all its types, and the
//! table is made of what is seen. `EVENPATH_WRITE_DOCS=1` writes it.

mod operations;
mod products;
mod sequences;
mod table;

use std::collections::BTreeSet;

use evenpath::Device;
use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath_tests::devices;

use operations::{Operation, Setup, operations};

/// What is seen of an operation.
struct Properties {
    /// Whether a run, not the first, waits for the device.
    is_asynchronous: bool,
    /// Whether all orders of blocks and of stores give the same bits.
    is_repeatable: bool,
    /// Bytes that a plan holds, and that a run takes beside operands and result.
    plan_bytes: u64,
    run_bytes: u64,
}

/// A GPU of four multiprocessors whose blocks run, and whose stores arrive, in an order that the seed determines.
fn simulated(seed: u64) -> Device {
    let options = SimulatedOptions::default()
        .with_threads(1)
        .with_multiprocessors(4)
        .with_block_order(BlockOrder::Seeded(seed))
        .with_memory_order(MemoryOrder::Weak(seed));
    Device::simulated(options)
}

/// The bits of a result, on a device where nothing else ran.
fn bits(setup: Setup, device: &Device) -> Vec<u8> {
    let mut run = setup(device, &mut || {});
    run()()
}

fn observe(operation: &Operation) -> Properties {
    let setup = operation.instances[0];
    let device = simulated(0);
    let in_use = || device.memory().expect("a count").in_use;
    let mut operands = 0;
    let mut run = setup(&device, &mut || operands = in_use());
    let plan_bytes = in_use() - operands;

    // The first run may find out what others use.
    drop(run());
    device.reset_peak_memory();
    let waits = device.waits();
    let result = run();
    let is_asynchronous = device.waits() == waits;
    let run_bytes = device.memory().expect("a count").peak - in_use();
    drop(result);

    let seen: BTreeSet<_> = (0..6).map(|seed| bits(setup, &simulated(seed))).collect();
    Properties { is_asynchronous, is_repeatable: seen.len() == 1, plan_bytes, run_bytes }
}

#[test]
fn the_table_is_what_operations_do() {
    let rows: Vec<_> =
        operations().iter().map(|operation| table::row(operation, &observe(operation))).collect();
    let page = table::page(&rows);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/properties.md");
    if std::env::var_os("EVENPATH_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).expect("the page is written");
    }
    let written = std::fs::read_to_string(path).expect("the page");
    for (written, seen) in written.lines().zip(page.lines()) {
        assert_eq!(written, seen, "EVENPATH_WRITE_DOCS=1 writes what is seen");
    }
    assert_eq!(written.len(), page.len());
}

/// Every type, on every device. A result that is repeatable on simulated GPUs is so on every device.
#[test]
fn every_operation_runs_on_every_device_for_every_type() {
    for operation in operations() {
        for &setup in &operation.instances {
            for under_test in devices() {
                let first = bits(setup, &under_test.device);
                if operation.is_ordered {
                    assert!(
                        first == bits(setup, &under_test.device),
                        "{}, {}",
                        operation.name,
                        under_test.device
                    );
                }
            }
        }
    }
}
