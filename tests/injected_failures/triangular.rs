//! Solutions of triangular systems.

use evenpath::triangular::{TriangularMethod, TriangularOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout};

use super::drive::{drive, drive_in};

const ROWS: usize = 700;

/// A matrix with a long row, and a right-hand side.
fn system(device: &Device) -> (DeviceCsr<f64>, DeviceVec<f64>) {
    let entries = (0..ROWS).flat_map(|row| [(row, row, 2.0), (row, row / 3, 1.0)]);
    let long = (0..ROWS - 1).map(|column| (ROWS - 1, column, 0.5));
    let a: Csr<f64> = Csr::from_triplets(ROWS, ROWS, entries.chain(long)).expect("inside");
    (device.upload(&a).expect("upload"), device.upload(&[1.0; ROWS]).expect("upload"))
}

#[test]
fn solves_of_triangular_systems() {
    for (method, transposed) in [(TriangularMethod::Tickets, false), (TriangularMethod::Levels, true)] {
        let options = TriangularOptions::default().with_method(method).with_transposed(transposed);
        drive_in(
            &format!("a triangular solve by {method}, transposed: {transposed}"),
            method == TriangularMethod::Levels,
            |device| (system(device), device.zeros(ROWS).expect("zeros")),
            |(_, x)| x.download().expect("download"),
            |((a, b), x)| a.plan_triangular_solve(options)?.solve(2.0, b, x).map(|()| vec![]),
        );
    }
    drive(
        "triangular solves with several right-hand sides",
        |device| {
            let b = DeviceDense::try_new(device.upload(&[1.0; 2 * ROWS]).unwrap(), ROWS, 2, Layout::RowMajor);
            (system(device), b.unwrap(), device.zeros_dense(ROWS, 2, Layout::RowMajor).unwrap())
        },
        |(_, _, x)| x.download().expect("download"),
        |((a, _), b, x)| {
            a.plan_triangular_solve(TriangularOptions::default())?.solve_many(1.0, b, x).map(|()| vec![])
        },
    );
    drive(
        "a check of pivots",
        system,
        |_| vec![],
        |(a, _)| a.plan_triangular_solve(TriangularOptions::default())?.check_pivots().map(|()| vec![]),
    );
}
