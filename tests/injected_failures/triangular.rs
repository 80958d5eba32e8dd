//! Solutions of triangular systems, incomplete factorizations, inverses of blocks, and colors.

use evenpath::factorization::{Ic0Plan, Ilu0Plan};
use evenpath::triangular::{TriangularMethod, TriangularOptions};
use evenpath::{Complex, Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, graph};

use super::drive::{Numbers, drive, drive_in};

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

/// A symmetric matrix with a diagonal that dominates.
fn symmetric(device: &Device) -> DeviceCsr<f64> {
    let entries = (1..80).flat_map(|row| [(row, row / 3, 1.0), (row / 3, row, 1.0)]);
    let diagonal = (0..80).map(|row| (row, row, 9.0));
    let a: Csr<f64> = Csr::from_triplets(80, 80, entries.chain(diagonal)).expect("inside");
    device.upload(&a).expect("upload")
}

fn values(a: &DeviceCsr<f64>) -> Numbers {
    Ok(a.values().download()?)
}

#[test]
fn incomplete_factorizations() {
    drive("ILU(0)", symmetric, |_| vec![], |a| values(&Ilu0Plan::new(a)?.factorize(a)?));
    drive("IC(0)", symmetric, |_| vec![], |a| values(&Ic0Plan::new(a)?.factorize(a)?));
    drive(
        "ILU(0) in place",
        |device| {
            let a = symmetric(device);
            let plan = Ilu0Plan::new(&a).expect("a plan");
            (a.copy().expect("a copy"), a, plan)
        },
        |(factors, _, _)| factors.values().download().expect("download"),
        |(factors, a, plan)| plan.factorize_into(a, factors).map(|()| vec![]),
    );
    drive(
        "IC(0) in place",
        |device| {
            let a = symmetric(device);
            let plan = Ic0Plan::new(&a).expect("a plan");
            let factor = plan.factorize(&a).expect("a factor");
            let doubled: Vec<f64> =
                a.values().download().expect("download").iter().map(|value| 2.0 * value).collect();
            a.set_values(&doubled).expect("as many");
            (factor, a, plan)
        },
        |(factor, _, _)| values(factor).expect("download"),
        |(factor, a, plan)| plan.factorize_into(a, factor).map(|()| vec![]),
    );
}

#[test]
fn conjugate_transposes() {
    let options = TriangularOptions::default().with_conjugate_transposed(true);
    drive(
        "a solve with the conjugate transpose",
        |device| {
            let i = Complex::new(0.0, 1.0);
            let entries = (0..50).flat_map(|row| [(row, row, 3.0 + i), (row, row / 3, i)]);
            let a: Csr<Complex<f64>> = Csr::from_triplets(50, 50, entries).expect("inside");
            (device.upload(&a).expect("upload"), device.upload(&[i; 50]).expect("upload"))
        },
        |(_, x)| x.download().expect("download").into_iter().flat_map(|x| [x.re, x.im]).collect(),
        |(a, x)| a.plan_triangular_solve(options)?.solve_in_place(Complex::new(1.0, 0.0), x).map(|()| vec![]),
    );
}

#[test]
fn inverses_and_colors() {
    drive(
        "inverses of blocks",
        |device| {
            let a = symmetric(device).download().expect("download");
            device.upload(&a.to_bsr(3).expect("blocks")).expect("upload")
        },
        |_| vec![],
        |a| Ok(a.invert_diagonal_blocks()?.download()?.values().to_vec()),
    );
    drive(
        "colors",
        symmetric,
        |_| vec![],
        |a| {
            let coloring = graph::color(a)?;
            Ok(coloring.colors.download()?.into_iter().map(f64::from).collect())
        },
    );
}
