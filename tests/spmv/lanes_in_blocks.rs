//! SpMV with some lanes of a warp per row, by blocks of the sizes that the study of row sorting has.

use evenpath::error::OpError;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceCsr};
use evenpath_lab::LanesInBlocks;
use evenpath_tests::{DeviceUnderTest, kernel_devices, spmv as oracle, vector, with_row_lengths};

const BLOCK_SIZES: [u32; 5] = [32, 64, 128, 256, 512];

/// Rows for more than one block with any lanes, some longer than a warp.
fn matrix() -> Csr<f32> {
    let lengths: Vec<usize> = (0..1100).map(|row| if row % 97 == 0 { 150 } else { row * 7 % 40 }).collect();
    with_row_lengths(200, &lengths)
}

/// Sums depend on the lanes alone, not on the size of blocks.
#[test]
fn all_block_sizes_give_the_bits_of_a_plan() {
    let a = matrix();
    let (x, old) = (vector::<f32>(a.ncols()), vector::<f32>(a.nrows()));
    let expected = oracle(&a, 1.5, &x, -0.5, &old);
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&x).expect("upload");
        for lanes in [1, 8, 32] {
            let method = SpmvMethod::Vector { lanes: Some(lanes) };
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("a plan");
            let mut own = device.upload(&old).expect("upload");
            plan.run(1.5, &x, -0.5, &mut own).expect("run");
            let own = own.download().expect("download");
            for threads in BLOCK_SIZES {
                let plan = matrix.plan_lanes_in_blocks(lanes, threads).expect("a plan");
                let mut y = device.upload(&old).expect("upload");
                plan.run(1.5, &x, -0.5, &mut y).expect("run");
                let y = y.download().expect("download");
                assert_eq!(expected.check(&y), Ok(()), "{device}, {lanes} lanes, {threads} threads");
                assert!(y == own, "{device}, {lanes} lanes, {threads} threads");
                let info = plan.info().expect("info");
                let blocks = (a.nrows() as u64 * u64::from(lanes)).div_ceil(u64::from(threads));
                assert_eq!((info.method, info.tiles), (method, blocks), "{info}");
                assert_eq!(info.tile.map(|tile| tile.block_size), Some(threads), "{info}");
            }
        }
    }
}

#[test]
fn others_are_refused() {
    let refused =
        |a: &DeviceCsr<f64>, lanes, threads| a.plan_lanes_in_blocks(lanes, threads).expect_err("refused");
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let single = device.upload(&matrix()).expect("upload");
        let error = single.plan_lanes_in_blocks(32, 96).expect_err("no such kernel");
        assert!(
            matches!(&error, OpError::BlockSize { block_size: 96, supported, .. } if *supported == BLOCK_SIZES),
            "{error}"
        );
        let double = device.upload(&matrix().into_values::<f64>()).expect("upload");
        let error = refused(&double, 32, 64);
        assert!(matches!(&error, OpError::BlockSize { supported, .. } if *supported == [256]), "{error}");
        let error = refused(&double, 3, 256);
        assert!(matches!(error, OpError::Lanes { lanes: 3, .. }), "{error}");
    }
    let on_cpu = Device::cpu().upload(&matrix().into_values::<f64>()).expect("upload");
    let error = refused(&on_cpu, 32, 256);
    assert!(matches!(error, OpError::UnsupportedMethod { .. }), "{error}");
}
