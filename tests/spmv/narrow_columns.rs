//! SpMV with narrow columns: edge cases of column directories.

use evenpath::generate::generate;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlanInfo};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{DeviceUnderTest, check_spmv, kernel_devices, with_row_lengths};
use proptest::prelude::*;

/// Number of columns per segment, and per full directory.
const SEGMENT: usize = 2048;
const DIRECTORY: usize = 32 * SEGMENT;

/// A matrix of rows with the given columns.
fn with_columns<V: Value, O: Offset>(cols: usize, rows: &[Vec<usize>]) -> Csr<V, O> {
    let mut offsets = vec![O::ZERO];
    let mut columns = Vec::new();
    for row in rows {
        columns.extend(row.iter().map(|&column| column as u32));
        offsets.push(O::try_from_usize(columns.len()).expect("few nonzeros"));
    }
    let values = (0..columns.len()).map(|index| V::from_f64((index % 101) as f64 / 50.0 - 1.0)).collect();
    Csr::try_new(rows.len(), cols, offsets, columns, values).expect("a valid matrix")
}

/// Nonzeros of a plan without a code of their own: those without any, and those with others' codes.
fn uncoded(info: &SpmvPlanInfo) -> (u64, u64) {
    match info.details {
        Some(SpmvDetails::NarrowColumns { without_code, with_others_codes }) => {
            (without_code, with_others_codes)
        }
        other => panic!("{other:?}"),
    }
}

/// Checks the product, and the number of columns without a code.
fn check<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, without_code: usize) {
    check_spmv(device, a, SpmvMethod::NarrowColumns, 1.0, 0.0);
    check_spmv(device, a, SpmvMethod::NarrowColumns, -0.5, 2.0);
    let matrix = device.upload(a).expect("upload");
    let plan = matrix.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::NarrowColumns)).expect("plan");
    let info = plan.info().expect("info");
    assert_eq!(uncoded(&info).0, without_code as u64, "{device}: {info}");
}

fn check_types(device: &Device, cols: usize, rows: &[Vec<usize>], without_code: usize) {
    check(device, &with_columns::<f32, u32>(cols, rows), without_code);
    check(device, &with_columns::<f64, u32>(cols, rows), without_code);
    check(device, &with_columns::<f32, u64>(cols, rows), without_code);
    check(device, &with_columns::<f64, u64>(cols, rows), without_code);
}

/// Rows that span as far as adjacent segments reach, and one column further.
#[test]
fn rows_around_the_width_of_a_directory() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for width in [SEGMENT - 1, SEGMENT, SEGMENT + 1, DIRECTORY - 1, DIRECTORY, DIRECTORY + 1] {
            for first in [0, 3, 5000] {
                let ends = vec![first + width - 1, first];
                check_types(&device, first + width, &[ends.clone(), vec![first + width / 2], ends], 0);
            }
        }
    }
}

/// Segments with gaps between them: as many as a directory has, and one more.
#[test]
fn segments_around_their_maximum_number() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for (step, count) in [(SEGMENT, 33), (3 * SEGMENT, 31), (3 * SEGMENT, 32), (70_001, 32)] {
            let row: Vec<usize> = (0..count).map(|index| 7 + index * step).collect();
            let cols = 8 + count * step;
            let rows = vec![row.clone(), vec![], row.iter().rev().copied().collect(), row[..9].to_vec()];
            check_types(&device, cols, &rows, if count > 32 { 2 * count + 9 } else { 0 });
        }
        // Every column of the last segment, far from the first.
        let row: Vec<usize> = (0..9).chain(1_000_000..1_000_000 + SEGMENT).collect();
        check_types(&device, 1_100_000, &[row.clone(), vec![1_099_999], row], 0);
    }
}

/// Columns at the limit of 32 bits have codes. A vector with one element per column would take 16 GB.
#[test]
fn columns_at_the_end_of_their_type() {
    const COLS: usize = u32::MAX as usize;
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let rows = [vec![COLS - 1], vec![], vec![COLS - 1, 0], vec![0, 1 << 31, COLS - 1]];
        let matrix = device.upload(&with_columns::<f32, u32>(COLS, &rows)).expect("upload");
        let plan =
            matrix.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::NarrowColumns)).expect("plan");
        assert_eq!(uncoded(&plan.info().expect("info")).0, 0);
    }
}

/// Tiles with codes beside tiles without, rows without nonzeros, rows longer than a tile, duplicate columns.
#[test]
fn tiles_of_every_kind() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let cols = 40 * 70_000;
        let near = |row: usize| (0..5).map(|index| row * 64 + index * 3).collect::<Vec<_>>();
        let far = |row: usize| (0..40).map(|index| index * 70_000 + row).collect::<Vec<_>>();
        for rows in [1, 40, 600, 1500] {
            for every in [1, 2, 700] {
                let rows: Vec<Vec<usize>> = (0..rows)
                    .map(|row| match row % every {
                        0 if row % 7 == 0 => vec![],
                        0 => near(row),
                        1 if row >= 512 => far(row),
                        _ => vec![row, row, 5],
                    })
                    .collect();
                check_spmv(
                    &device,
                    &with_columns::<f64, u32>(cols, &rows),
                    SpmvMethod::NarrowColumns,
                    1.0,
                    0.5,
                );
                check_spmv(
                    &device,
                    &with_columns::<f32, u64>(cols, &rows),
                    SpmvMethod::NarrowColumns,
                    1.0,
                    0.0,
                );
            }
        }
        let long = with_row_lengths::<f32, u32>(200_000, &[3, 40_000, 0, 17, 5]);
        // The row with 40000 nonzeros is a tile by itself.
        check(&device, &long, 40_000);
    }
}

/// Row blocks of grids, bands and dense rows share codes with others, at any position; scattered rows do not.
#[test]
fn row_blocks_that_look_alike_share_codes() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let shared = |kind: &str| {
            let a: Csr<f32> = generate(kind.parse().expect("a kind"), 2).expect("a matrix");
            check_spmv(&device, &a, SpmvMethod::NarrowColumns, 1.5, 0.5);
            let matrix = device.upload(&a).expect("upload");
            let plan = matrix
                .plan_spmv(SpmvOptions::default().with_method(SpmvMethod::NarrowColumns))
                .expect("plan");
            uncoded(&plan.info().expect("info")).1 as f64 / a.nnz() as f64
        };
        assert!(shared("diagonal:100000") > 0.2);
        assert!(shared("dense:12x9000") > 0.9);
        assert!(shared("uniform:3000") < 0.1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_columns(
        rows in prop::collection::vec(
            prop::collection::vec(prop_oneof![4 => 0..3000_usize, 2 => 90_000..91_000_usize, 1 => 0..300_000_usize], 0..40),
            0..300,
        ),
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        for DeviceUnderTest { device, .. } in kernel_devices() {
            check_spmv(&device, &with_columns::<f64, u32>(300_000, &rows), SpmvMethod::NarrowColumns, 1.5, beta);
            check_spmv(&device, &with_columns::<f32, u64>(300_000, &rows), SpmvMethod::NarrowColumns, 1.5, beta);
        }
    }
}
