//! Products of a batch of matrices with vectors, and of blocks with dense matrices.

use evenpath::generate::{Kind, generate};
use evenpath::spmv::SpmvBatchOptions;
use evenpath::{Csr, Device, DeviceDense, Layout};

use super::drive::drive_in;

const ROWS: usize = 301;
const BATCH: usize = 3;

/// Rows with zero to several hundred nonzeros, one of them with more than a launch for short rows takes.
fn matrix() -> Csr<f64> {
    let a: Csr<f64> = generate(Kind::EmptyRows { rows: ROWS }, 3).expect("a small matrix");
    let long = (0..ROWS).map(|col| (7, col, 1.0));
    Csr::from_triplets(ROWS, ROWS, a.iter().chain(long)).expect("inside")
}

fn numbers(len: usize) -> Vec<f64> {
    (0..len).map(|at| (at % 7) as f64 - 3.0).collect()
}

#[test]
fn products_of_a_batch() {
    let a = matrix();
    let upload = |device: &Device, len| device.upload(&numbers(len)).expect("memory");
    drive_in(
        "a batch of SpMV",
        true,
        |device| {
            let values = upload(device, BATCH * a.nnz());
            let (x, y) = (upload(device, BATCH * ROWS), upload(device, BATCH * ROWS));
            (device.upload(&a).expect("upload"), values, x, y)
        },
        |(_, _, _, y)| y.download().expect("the device works"),
        |(a, values, x, y)| {
            a.plan_spmv_batch(BATCH, SpmvBatchOptions::default())?
                .run(2.0, &*values, x, 0.0, y)
                .map(|()| vec![])
        },
    );
}

#[test]
fn products_of_blocks_with_dense_matrices() {
    let a = matrix();
    for block_size in [3, 7] {
        let bsr = a.to_bsr(block_size).expect("a matrix");
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            let dense = |device: &Device| {
                let values = device.upload(&numbers(ROWS * 5)).expect("memory");
                DeviceDense::try_new(values, ROWS, 5, layout).expect("as many elements")
            };
            drive_in(
                &format!("SpMM of BSR, blocks of {block_size}, {layout}"),
                false,
                |device| (device.upload(&bsr).expect("upload"), dense(device), dense(device)),
                |(_, _, c)| c.as_vec().download().expect("the device works"),
                |(a, b, c)| a.spmm(2.0, b, -1.0, c).map(|()| vec![]),
            );
        }
    }
}
