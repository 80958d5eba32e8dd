//! A program's own kernel: that of the example, on every device that runs kernels.

use evenpath::device::{BlockOrder, DeviceKind, SimulatedOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device};
use evenpath_example_kernels::ColumnMaxima;
use evenpath_tests::{Entries, kernel_devices};

const PTX: [(u32, &str); 1] = [(75, include_str!("../examples/kernels/ptx/sm_75/column_maxima.ptx"))];

const SHAPE: (usize, usize) = (1100, 1400);

/// Dense, large and small leaves.
fn entries() -> Entries {
    let leaves = [1, 2, 3, 5, 9, 33, 129, 300, 700, 1024].into_iter().enumerate();
    leaves
        .flat_map(|(at, count)| {
            let (row, col) = (96 * at, 1300 - 96 * at);
            (0..count).map(move |entry| (row + entry * 7 % 32, col + entry / 32, entry as f64 / 3.0 - 40.0))
        })
        .collect()
}

fn tree(device: &Device, entries: &Entries) -> DeviceHiSparse<f32, 32> {
    let entries = entries.iter().map(|&(row, col, value)| (row, col, value as f32));
    let csr: Csr<f32> = Csr::from_triplets(SHAPE.0, SHAPE.1, entries).expect("inside");
    device.upload(&csr.to_hisparse::<32>(hisparse::Options::default()).expect("a tree")).expect("upload")
}

fn run(a: &DeviceHiSparse<f32, 32>, options: hisparse::QueuedOptions) -> Result<Vec<f32>, OpError> {
    let mut maxima = a.device().zeros::<u32>(a.ncols())?;
    let view = maxima.as_global_mut();
    let kernel = |tree, queues| ColumnMaxima { tree, queues, maxima: view };
    // SAFETY: there is an element for each column, and the vector is next used when the kernel has ended.
    unsafe { a.traverse(options, kernel) }?;
    Ok(maxima.download()?.into_iter().map(f32::from_bits).collect())
}

fn expected(entries: &Entries) -> Vec<f32> {
    let mut maxima = vec![0.0_f32; SHAPE.1];
    for &(_, col, value) in entries {
        maxima[col] = maxima[col].max((value as f32).abs());
    }
    maxima
}

#[test]
fn own_kernels_run_on_every_device() {
    let entries = entries();
    for device in kernel_devices() {
        let a = tree(&device.device, &entries);
        device.device.add_kernel::<ColumnMaxima>(&PTX).expect("a new kernel");
        for capacity in [None, Some(0), Some(3)] {
            let options = hisparse::QueuedOptions::default().with_capacity(capacity);
            assert_eq!(run(&a, options).expect("a run"), expected(&entries), "{}", device.device);
        }
        let empty = tree(&device.device, &vec![]);
        assert_eq!(run(&empty, hisparse::QueuedOptions::default()).expect("a run"), vec![0.0; SHAPE.1]);
    }
}

#[test]
fn any_schedule_works() {
    let entries = entries();
    for seed in 0..4 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_threads(1)
            .with_resident_blocks(1 + seed as usize);
        let device = Device::simulated(options);
        device.add_kernel::<ColumnMaxima>(&[]).expect("no PTX is needed");
        let options = hisparse::QueuedOptions::default().with_blocks(1 + 7 * seed as u32);
        assert_eq!(run(&tree(&device, &entries), options).expect("a run"), expected(&entries));
    }
}

#[test]
fn unknown_kernels_and_the_cpu_are_refused() {
    let options = hisparse::QueuedOptions::default();
    let refused = run(&tree(&Device::cpu(), &entries()), options).expect_err("the CPU runs no kernels");
    assert!(refused.to_string().contains("the CPU runs no kernels"), "{refused}");
    for device in kernel_devices() {
        let device = device.device;
        // A kernel that was not added. The device stays usable.
        assert!(run(&tree(&device, &entries()), options).is_err(), "{device}");
        if device.kind() != DeviceKind::Simulated {
            let refused = device.add_kernel::<ColumnMaxima>(&[]).expect_err("no PTX");
            assert!(matches!(refused, DeviceError::NoPtx { .. }), "{refused}");
            let refused = device.add_kernel::<ColumnMaxima>(&[(9999, PTX[0].1)]).expect_err("a new target");
            assert!(matches!(refused, DeviceError::UnsupportedGpu { oldest: 9999, .. }), "{refused}");
            let text = PTX[0].1.replacen(".maxntid 128", ".maxntid 64", 1);
            let refused = device.add_kernel::<ColumnMaxima>(&[(75, &text)]).expect_err("other blocks");
            assert!(matches!(refused, DeviceError::EntryMismatch { .. }), "{refused}");
        }
        device.add_kernel::<ColumnMaxima>(&PTX).expect("a new kernel");
        assert_eq!(run(&tree(&device, &entries()), options).expect("a run"), expected(&entries()));
    }
}
