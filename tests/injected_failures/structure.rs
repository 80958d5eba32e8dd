//! Parts of matrices, and matrices of others.

use evenpath::generate::{Kind, generate};
use evenpath::row_order::DeviceRowOrder;
use evenpath::{Csr, Device, DeviceCsr};

use super::drive::{Numbers, drive};

const ROWS: usize = 301;

fn upload(device: &Device) -> DeviceCsr<f64> {
    let a: Csr<f64> = generate(Kind::EmptyRows { rows: ROWS }, 3).expect("a small matrix");
    device.upload(&a).expect("upload")
}

fn values_of(matrix: &DeviceCsr<f64>) -> Numbers {
    let matrix = matrix.download()?;
    Ok(matrix.iter().flat_map(|(row, col, value)| [row as f64, col as f64, value]).collect())
}

#[test]
fn parts_of_matrices_and_matrices_of_others() {
    let held = |_: &DeviceCsr<f64>| vec![];
    drive("a block", upload, held, |a| values_of(&a.submatrix(7..300, 5..200)?));
    for list in [[200_u32, 7, 0, 7], [3, 3, 70, 300]] {
        drive("selected columns", upload, held, |a| {
            values_of(&a.select_columns(&a.device().upload(&list)?)?)
        });
    }
    drive("a matrix of blocks", upload, held, |a| {
        values_of(&DeviceCsr::from_blocks(&[&[Some(a), Some(a)], &[Some(a), None]])?)
    });
    drive("a permutation", upload, held, |a| {
        let order: Vec<u32> = (0..ROWS as u32).rev().collect();
        let order = DeviceRowOrder::try_new(a.device().upload(&order)?)?;
        values_of(&a.permute(&order)?)
    });
    drive("a copy", upload, held, |a| values_of(&a.copy()?));
    let small = |device: &Device| upload(device).submatrix(0..9, 0..ROWS).expect("inside");
    drive("a Kronecker product", small, held, |a| values_of(&a.kronecker(a)?));
}
