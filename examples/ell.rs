//! One matrix in every format, times the same vector. Padded formats read memory in long, regular lines; the
//! amount of padding depends on the row lengths.
//!
//! ```sh
//! cargo run --release --example ell -- a.mtx.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::hyb::HybOptions;
use evenpath::{Csr, Device, DeviceVec};

/// A format may take three times the memory of the nonzeros; more is refused with an error.
const LIMIT: PaddingLimit = PaddingLimit::Times(3);

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", formats)
}

fn formats(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let x: Vec<f64> = (0..a.ncols()).map(|col| 1.0 / (col + 1) as f64).collect();
    let device_x = device.upload(&x)?;
    let mut y = device.zeros(a.nrows())?;
    let mut is_right = true;
    let mut check = |format: &str, slots: usize, y: &mut DeviceVec<f64>| -> Result<bool, Box<dyn Error>> {
        println!("{device}, {format}: {slots} slots for {} nonzeros", a.nnz());
        is_right &= is_product(a, &x, &y.download()?);
        y.copy_from_slice(&vec![f64::NAN; a.nrows()])?; // so that the next format must write all of it
        Ok(is_right)
    };

    // Coordinates: each nonzero with its row and its column.
    let coo = device.upload(&a.to_coo()?)?;
    coo.spmv(1.0, &device_x, 0.0, &mut y)?;
    check("COO", a.nnz(), &mut y)?;

    // ELL: every row padded to the longest. ELL-R stores the row lengths too, and skips the padding.
    match a.to_ell(LIMIT) {
        Ok(ell) => {
            device.upload(&ell)?.spmv(1.0, &device_x, 0.0, &mut y)?;
            check("ELL", ell.values().len(), &mut y)?;
            device.upload(&EllR(&ell))?.spmv(1.0, &device_x, 0.0, &mut y)?;
            check("ELL-R", ell.values().len(), &mut y)?;
        }
        Err(refused) => println!("ELL: {refused}"),
    }

    // Sliced ELL: slices of 32 rows, each padded to its own longest; sorting 512 rows at a time by length makes slices even.
    let options = SlicedEllOptions::default().with_slice_height(32).with_sorting_scope(512).with_limit(LIMIT);
    match a.to_sliced_ell(options) {
        Ok(sliced) => {
            device.upload(&sliced)?.spmv(1.0, &device_x, 0.0, &mut y)?;
            check("sliced ELL", sliced.values().len(), &mut y)?;
        }
        Err(refused) => println!("sliced ELL: {refused}"),
    }

    // HYB: the start of each row in ELL, the rest of long rows in coordinates.
    let hyb = a.to_hyb(HybOptions::default().with_limit(LIMIT))?;
    device.upload(&hyb)?.spmv(1.0, &device_x, 0.0, &mut y)?;
    check("HYB", hyb.ell().values().len() + hyb.coo().nnz(), &mut y)
}

/// Returns whether y = Ax: the order changes a sum of n products by at most n rounding errors.
fn is_product(a: &Csr<f64>, x: &[f64], y: &[f64]) -> bool {
    a.iter_rows().zip(y).all(|(row, y)| {
        let products = row.iter().map(|(col, value)| value * x[col as usize]);
        let (sum, magnitude) =
            products.fold((0.0, 0.0), |(sum, magnitude), p| (sum + p, magnitude + p.abs()));
        (y - sum).abs() <= (row.len() + 1) as f64 * f64::EPSILON * magnitude
    })
}
