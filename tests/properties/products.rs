//! Products with dense matrices, and products and sums of sparse ones.

use evenpath::dense::Layout;
use evenpath::hisparse::{
    DeviceHiSparse, HiSparseQueuedOptions, HiSparseSpaddMethod, HiSparseSpaddOptions, HiSparseSpmmOptions,
};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::{SpmmOperand, SpmmOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, Offset, Storage, Value, bf16, f16};

use super::operations::{Download, Run, bytes, download, matrix, numbers, tree};

const COLUMNS: usize = 4;

fn download_csr<V: Storage, O: Offset>(matrix: DeviceCsr<V, O>) -> Download {
    Box::new(move || {
        let matrix = matrix.download().expect("a download");
        [bytes(matrix.row_offsets()), bytes(matrix.column_indices()), bytes(matrix.values())].concat()
    })
}

fn download_tree<V: Value>(matrix: DeviceHiSparse<V, 64>) -> Download {
    Box::new(move || matrix.download().expect("a download").pool().to_vec())
}

fn dense<T: Storage>(device: &Device, rows: usize) -> DeviceDense<T> {
    let values: Vec<T> = numbers::<f64>(rows * COLUMNS).into_iter().map(T::from_f64).collect();
    DeviceDense::try_new(device.upload(&values).expect("upload"), rows, COLUMNS, Layout::RowMajor)
        .expect("a matrix")
}

/// C = AB, by the given function.
fn product<T: Storage>(
    device: &Device,
    (rows, cols): (usize, usize),
    uploaded: &mut dyn FnMut(),
    plan: impl FnOnce() -> Box<dyn Fn(&DeviceDense<T>, &mut DeviceDense<T>)>,
) -> Run {
    let (device, b) = (device.clone(), dense(device, cols));
    uploaded();
    let run = plan();
    Box::new(move || {
        let mut c = device.zeros_dense(rows, COLUMNS, Layout::RowMajor).expect("memory");
        run(&b, &mut c);
        Box::new(move || bytes(&c.download().expect("a download")))
    })
}

/// A value type, with the type of dense operands: the same type.
pub(super) trait Multiplied: Storage {
    type Operand: SpmmOperand<Self>;
}

macro_rules! multiplied {
    ($($type:ident)*) => {$(
        impl Multiplied for $type {
            type Operand = $type;
        }
    )*};
}
multiplied!(f16 bf16 f32 f64);

pub(super) fn spmm<S: Multiplied, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<f32, O>().into_values::<S>()).expect("upload");
    let options = SpmmOptions::default().with_columns(COLUMNS);
    let (one, zero) = (S::Computed::from_f64(1.0), S::Computed::from_f64(0.0));
    product(device, (a.rows(), a.cols()), uploaded, || {
        let plan = a.plan_spmm::<S::Operand>(options).expect("plan");
        Box::new(move |b, c| plan.run(one, b, zero, c).expect("run"))
    })
}

pub(super) fn spmm_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    product(device, (a.rows(), a.cols()), uploaded, || {
        let plan = a.plan_spmm(HiSparseSpmmOptions::default()).expect("plan");
        Box::new(move |b, c| plan.run(V::ONE, b, V::ZERO, c).expect("run"))
    })
}

fn spgemm<V: Value, O: Offset>(device: &Device, method: SpgemmMethod, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    let plan = a.plan_multiply(&a, SpgemmOptions::default().with_method(method)).expect("plan");
    Box::new(move || download_csr(plan.run().expect("run")))
}

pub(super) fn spgemm_row_tiles<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    let options = SpgemmOptions::default().with_method(SpgemmMethod::RowTiles);
    Box::new(move || download_csr(a.multiply_with(&a, options).expect("a product")))
}

pub(super) fn spgemm_row_wise<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::RowWise, uploaded)
}

pub(super) fn spgemm_sorted<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::TwoLevelSort, uploaded)
}

pub(super) fn spgemm_sorted_at_once<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::GlobalSort, uploaded)
}

pub(super) fn multiply_trees<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || download_tree(a.multiply(&a.transpose()).expect("a product")))
}

pub(super) fn add<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    let b = a.transpose().expect("a transpose");
    uploaded();
    let plan = a.plan_add(&b).expect("plan");
    Box::new(move || download_csr(plan.run(V::ONE, V::from_f64(0.3)).expect("run")))
}

pub(super) fn add_coo<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, u32>().to_coo()).expect("upload");
    let b = device.upload(&matrix::<V, u32>().transpose().to_coo()).expect("upload");
    uploaded();
    Box::new(move || {
        let sum = a.add(V::ONE, &b, V::from_f64(0.3)).expect("a sum");
        Box::new(move || {
            let sum = sum.download().expect("a download");
            [bytes(sum.row_indices()), bytes(sum.column_indices()), bytes(sum.values())].concat()
        })
    })
}

pub(super) fn add_trees<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || download_tree(a.add(&a.transpose()).expect("a sum")))
}

pub(super) fn add_trees_queued<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    let options = HiSparseSpaddOptions::default().with_method(HiSparseSpaddMethod::Queues);
    Box::new(move || download_tree(a.add_with(&a.transpose(), options).expect("a sum")))
}

pub(super) fn norm_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || {
        let norm = a.frobenius_norm(HiSparseQueuedOptions::default()).expect("a norm");
        Box::new(move || bytes(&[norm]))
    })
}

pub(super) fn diagonal_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || download(a.diagonal(HiSparseQueuedOptions::default()).expect("a diagonal")))
}

pub(super) fn block_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || {
        let (rows, columns) = (a.rows() / 3..a.rows(), 0..a.cols() / 2);
        download_csr(a.block(rows, columns, HiSparseQueuedOptions::default()).expect("a block"))
    })
}

pub(super) fn transpose<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || download_csr(a.transpose().expect("a transpose")))
}

/// With the entries of every row the other way round.
pub(super) fn sort_rows<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (rows, cols, (offsets, mut columns, mut values)) = {
        let a = matrix::<V, O>();
        (a.rows(), a.cols(), a.into_parts())
    };
    for row in offsets.windows(2) {
        columns[row[0].to_usize()..row[1].to_usize()].reverse();
        values[row[0].to_usize()..row[1].to_usize()].reverse();
    }
    let a =
        device.upload(&Csr::try_new(rows, cols, offsets, columns, values).expect("valid")).expect("upload");
    uploaded();
    Box::new(move || download_csr(a.sort_rows().expect("sorted rows")))
}
