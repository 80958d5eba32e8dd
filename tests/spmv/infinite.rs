//! Infinite factors: a part of a row without nonzeros is not multiplied by them, which would give NaN.

use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::hyb::{HybOptions, HybWidth};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};
use evenpath_tests::{DeviceUnderTest, devices, with_row_lengths};

/// Lengths of rows that end at, before and after the edges of tiles, whose lengths are multiples of these.
fn lengths() -> impl Iterator<Item = [usize; 4]> {
    [256, 384, 1024, 1152, 2048, 16_384]
        .into_iter()
        .flat_map(|tile| [[tile, 2, tile - 5, 3], [tile - 1, tile - 1, tile, 1], [9, tile - 10, 2, 2 * tile]])
}

/// Rows of positive numbers.
fn positive(lengths: [usize; 4]) -> Csr<f64> {
    let mut a: Csr<f64> = with_row_lengths(lengths.into_iter().max().unwrap_or(0), &lengths);
    a.values_mut().iter_mut().for_each(|value| *value = value.abs() + 1.0);
    a
}

const INFINITE: [f64; 4] = [f64::INFINITY; 4];

#[test]
fn every_method_of_csr() {
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in lengths() {
            let a = device.upload(&positive(lengths)).expect("upload");
            let x = device.upload(&vec![1.0; a.ncols()]).expect("upload");
            for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
                let Ok(plan) = a.plan_spmv(SpmvOptions::default().with_method(method)) else { continue };
                let mut y = device.upload(&[f64::NAN; 4]).expect("upload");
                plan.run(f64::INFINITY, &x, 0.0, &mut y).expect("a run");
                assert_eq!(y.download().expect("download"), INFINITE, "{method} on {device}, {lengths:?}");
                plan.run(1.0, &x, f64::INFINITY, &mut y).expect("a run");
                assert_eq!(y.download().expect("download"), INFINITE, "{method} on {device}, {lengths:?}");
            }
        }
    }
}

#[test]
fn other_formats() {
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in lengths() {
            let a = positive(lengths);
            let x = device.upload(&vec![1.0; a.ncols()]).expect("upload");
            let check = |name: &str, y: DeviceVec<f64>| {
                assert_eq!(y.download().expect("download"), INFINITE, "{name} on {device}, {lengths:?}");
            };
            let y = || device.upload(&[f64::NAN; 4]).expect("upload");
            macro_rules! run {
                ($name:literal, $matrix:expr) => {{
                    let (matrix, mut y) = ($matrix, y());
                    matrix.spmv(f64::INFINITY, &x, 0.0, &mut y).expect($name);
                    check($name, y);
                }};
            }
            let ell = a.to_ell(PaddingLimit::Bytes(u64::MAX)).expect("ELL");
            run!("ELL", device.upload(&ell).expect("upload"));
            run!("ELL-R", device.upload(&EllR(&ell)).expect("upload"));
            let options = SlicedEllOptions::default().with_limit(PaddingLimit::Bytes(u64::MAX));
            run!(
                "sliced ELL",
                device.upload(&a.to_sliced_ell(options).expect("sliced ELL")).expect("upload")
            );
            for block_size in [2, 3, 7] {
                let bsr = a.to_bsr(block_size).expect("BSR");
                run!("BSR", device.upload(&bsr).expect("upload"));
            }
            run!("COO", device.upload(&a.to_coo().expect("COO")).expect("upload"));
            for width in [0, 1, 2, 100] {
                let options = HybOptions::default()
                    .with_width(HybWidth::Slots(width))
                    .with_limit(PaddingLimit::Bytes(u64::MAX));
                run!("HYB", device.upload(&a.to_hyb(options).expect("HYB")).expect("upload"));
            }
        }
    }
}
