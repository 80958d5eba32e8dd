//! Checks the table of properties, docs/guide/properties.md: each operation is run for all its types, and the
//! claims of the table are tested on simulated GPUs. `EVENPATH_WRITE_DOCS=1` writes the page.

mod assembly;
mod complex;
mod conjugate_gradients;
mod entries;
mod graph_algorithms;
mod graphs;
mod operations;
mod products;
mod semirings;
mod sequences;
mod structure;
mod table;
mod triangular;

use std::collections::BTreeSet;

use evenpath::Device;
use evenpath::device::{BlockOrder, DeviceKind, MemoryOrder, SimulatedOptions};
use evenpath_lab::Diagnostics;
use evenpath_tests::{DeviceUnderTest, devices};

use operations::{Operation, Setup, operations};

/// A GPU with four multiprocessors; the seed determines the order in which blocks run and stores arrive.
fn simulated(seed: u64) -> Device {
    let options = SimulatedOptions::default()
        .with_threads(1)
        .with_multiprocessors(4)
        .with_block_order(BlockOrder::Seeded(seed))
        .with_memory_order(MemoryOrder::Weak(seed));
    Device::simulated(options)
}

/// The bits of a result, on a fresh device.
fn bits(setup: Setup, device: &Device) -> Vec<u8> {
    let mut run = setup(device, &mut || {});
    run().expect("a run")()
}

/// Returns whether runs other than the first do not wait for the device.
fn is_asynchronous(setup: Setup) -> bool {
    let device = simulated(0);
    let mut run = setup(&device, &mut || {});
    // The first run may compute data for later ones.
    drop(run().expect("a run"));
    let waits = device.waits();
    let result = run().expect("a run");
    let waited = device.waits() > waits;
    drop(result);
    !waited
}

/// Returns whether all orders of blocks and stores give bitwise identical results.
fn is_repeatable(setup: Setup) -> bool {
    let seen: BTreeSet<_> = (0..6).map(|seed| bits(setup, &simulated(seed))).collect();
    seen.len() == 1
}

#[test]
fn operations_match_the_table() {
    for operation in operations() {
        let setup = operation.instances[0];
        assert!(!operation.is_asynchronous || is_asynchronous(setup), "{} waits", operation.name);
        assert!(!operation.is_ordered || is_repeatable(setup), "{} is not repeatable", operation.name);
    }
}

/// The types are those of the kernel instances.
#[test]
fn the_page_has_the_table() {
    let page = table::page(&operations());
    if std::env::var_os("EVENPATH_WRITE_DOCS").is_some() {
        // Cargo runs tests in the folder of their package.
        std::fs::write("../docs/guide/properties.md", &page).expect("the page is written");
        return;
    }
    // Part of the program, which may run on a machine without the sources.
    let written = include_str!("../../docs/guide/properties.md");
    assert!(written.lines().eq(page.lines()), "set EVENPATH_WRITE_DOCS=1 to update the page:\n{page}");
}

/// Threads among which the operations are divided: together they take minutes.
const THREADS: usize = 8;

/// Every type, on every device. The simulated GPUs, which run blocks in different orders, agree with each other; other devices
/// with themselves.
#[test]
fn every_operation_runs_on_every_device_for_every_type() {
    std::thread::scope(|scope| {
        for first in 0..THREADS {
            scope.spawn(move || operations().iter().skip(first).step_by(THREADS).for_each(run_everywhere));
        }
    });
}

fn run_everywhere(operation: &Operation) {
    for &setup in &operation.instances {
        let check = |first: &[u8], again: &[u8], device: &Device| {
            assert!(!operation.is_ordered || first == again, "{}, {device}", operation.name);
        };
        let mut of_simulated: Option<Vec<u8>> = None;
        for DeviceUnderTest { device, .. } in devices() {
            let first = bits(setup, &device);
            match &of_simulated {
                Some(other) if device.kind() == DeviceKind::Simulated => check(&first, other, &device),
                None if device.kind() == DeviceKind::Simulated => of_simulated = Some(first),
                _ => check(&first, &bits(setup, &device), &device),
            }
        }
    }
}
