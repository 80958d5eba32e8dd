//! Products with dense matrices, and products and sums of sparse ones.

use evenpath::coo::DeviceCoo;
use evenpath::dense::Layout;
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, Entry, Multiplies, Offset, RealStorage, Scalar, Value};

use super::operations::{Download, OfReal, Run, bytes, download, matrix, numbers, tree};

const COLUMNS: usize = 4;

pub(super) fn download_csr<V: Entry, O: Offset>(matrix: DeviceCsr<V, O>) -> Download {
    Box::new(move || {
        let matrix = matrix.download().expect("a download");
        [bytes(matrix.row_offsets()), bytes(matrix.column_indices()), bytes(matrix.values())].concat()
    })
}

fn download_coo<V: Scalar>(matrix: DeviceCoo<V>) -> Download {
    Box::new(move || {
        let matrix = matrix.download().expect("a download");
        [bytes(matrix.row_indices()), bytes(matrix.column_indices()), bytes(matrix.values())].concat()
    })
}

fn download_tree<V: Value>(matrix: DeviceHiSparse<V, 64>) -> Download {
    Box::new(move || matrix.download().expect("a download").pool().to_vec())
}

fn dense<T: RealStorage>(device: &Device, rows: usize) -> DeviceDense<T> {
    let values: Vec<T> = numbers::<f64>(rows * COLUMNS).into_iter().map(T::from_f64).collect();
    DeviceDense::try_new(device.upload(&values).expect("upload"), rows, COLUMNS, Layout::RowMajor)
        .expect("a matrix")
}

/// Computes C = AB.
type DenseProduct<T> = dyn Fn(&DeviceDense<T>, &mut DeviceDense<T>) -> Result<(), OpError> + Send;

/// Computes C = AB, by the given function.
fn product<T: RealStorage>(
    device: &Device,
    (rows, cols): (usize, usize),
    uploaded: &mut dyn FnMut(),
    plan: impl FnOnce() -> Box<DenseProduct<T>>,
) -> Run {
    let (device, b) = (device.clone(), dense(device, cols));
    uploaded();
    let run = plan();
    Box::new(move || {
        let mut c = device.zeros_dense(rows, COLUMNS, Layout::RowMajor)?;
        run(&b, &mut c)?;
        Ok(Box::new(move || bytes(&c.download().expect("a download"))))
    })
}

pub(super) fn spmm<S: RealStorage<Computed: RealStorage>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = device.upload(&matrix::<f32, O>().into_values::<S>()).expect("upload");
    let options = SpmmOptions::default().with_columns(COLUMNS);
    let (one, zero) = (S::Computed::from_f64(1.0), S::Computed::from_f64(0.0));
    product(device, a.shape(), uploaded, || {
        let plan = a.plan_spmm(options).expect("plan");
        Box::new(move |b, c| plan.run(one, b, zero, c))
    })
}

pub(super) fn spmm_mixed<S: Value + Multiplies<f64>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = device.upload(&matrix::<S, O>()).expect("upload");
    let options = SpmmOptions::default().with_columns(COLUMNS);
    product::<f64>(device, a.shape(), uploaded, || {
        let plan = a.plan_spmm_mixed(options).expect("plan");
        Box::new(move |b, c| plan.run(1.0, b, 0.0, c))
    })
}

/// Multiplies matrices of `T` at the nonzeros of a matrix of the type of arithmetic.
pub(super) fn sddmm<T: RealStorage<Computed: Value>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let c = device.upload(&matrix::<T::Computed, O>()).expect("upload");
    let values = device.upload(&numbers::<T::Computed>(c.nnz())).expect("upload");
    let (a, b) = (dense::<T>(device, c.nrows()), dense::<T>(device, c.ncols()).into_vec());
    let b = DeviceDense::try_new(b, COLUMNS, c.ncols(), Layout::ColumnMajor).expect("a matrix");
    uploaded();
    let plan = c.plan_sddmm().expect("plan");
    Box::new(move || {
        c.set_values_from(&values)?;
        plan.run(T::Computed::from_f64(1.5), &a, &b, T::Computed::from_f64(0.3))?;
        Ok(download_csr(c.clone()))
    })
}

pub(super) fn spmm_bsr<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>().to_bsr(3).expect("BSR")).expect("upload");
    product(device, a.shape(), uploaded, || Box::new(move |b, c| a.spmm(V::ONE, b, V::ZERO, c)))
}

pub(super) fn diagonal_blocks<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>().to_bsr(3).expect("BSR")).expect("upload");
    uploaded();
    Box::new(move || Ok(download(a.diagonal_blocks()?)))
}

pub(super) fn spmm_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    product(device, a.shape(), uploaded, || {
        let plan = a.plan_spmm(hisparse::SpmmOptions::default()).expect("plan");
        Box::new(move |b, c| plan.run(V::ONE, b, V::ZERO, c))
    })
}

fn spgemm<V: Value, O: Offset>(device: &Device, method: SpgemmMethod, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    let plan = a.plan_spgemm(&a, SpgemmOptions::default().with_method(method)).expect("plan");
    Box::new(move || Ok(download_csr(plan.run()?)))
}

pub(super) fn spgemm_row_tiles<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    let options = SpgemmOptions::default().with_method(SpgemmMethod::RowTiles);
    Box::new(move || Ok(download_csr(a.spgemm(&a, options)?)))
}

pub(super) fn spgemm_row_wise<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::RowWise, uploaded)
}

pub(super) fn spgemm_sorted<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::TwoLevelSort, uploaded)
}

pub(super) fn spgemm_mixed<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::Mixed, uploaded)
}

pub(super) fn spgemm_sorted_at_once<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::GlobalSort, uploaded)
}

pub(super) fn spgemm_sorted_by_column<V: Value, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    spgemm::<V, O>(device, SpgemmMethod::ColumnSort, uploaded)
}

pub(super) fn spgemm_masked<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.spgemm_masked(&a, &a, SpgemmOptions::default())?)))
}

pub(super) fn spgemm_masked_out<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.spgemm_masked_out(&a, &a, SpgemmOptions::default())?)))
}

pub(super) fn multiply_trees<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || Ok(download_tree(a.spgemm(&a.transpose(), hisparse::SpgemmOptions::default())?)))
}

pub(super) fn add<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    let b = a.transpose().expect("a transpose");
    uploaded();
    let plan = a.plan_spadd(&b).expect("plan");
    Box::new(move || Ok(download_csr(plan.run(V::ONE, V::from_f64(0.3))?)))
}

pub(super) fn add_once<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.spadd(V::ONE, &a, V::from_f64(0.3))?)))
}

pub(super) fn to_coo<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_coo(a.to_coo()?)))
}

pub(super) fn to_tree<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_tree(a.to_hisparse(hisparse::Options::default())?)))
}

pub(super) fn to_tree_queued<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    uploaded();
    let options = hisparse::ConversionOptions::default().with_method(hisparse::ConversionMethod::Queues);
    Box::new(move || Ok(download_tree(a.to_hisparse(options)?)))
}

pub(super) fn set_values<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    let values = device.upload(&numbers::<V>(a.nnz())).expect("upload");
    uploaded();
    Box::new(move || {
        a.set_values_from(&values)?;
        Ok(download_csr(a.clone()))
    })
}

pub(super) fn add_coo<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, u32>().to_coo().expect("memory")).expect("upload");
    let b = device
        .upload(&matrix::<V, u32>().transpose().expect("memory").to_coo().expect("memory"))
        .expect("upload");
    uploaded();
    Box::new(move || Ok(download_coo(a.spadd(V::ONE, &b, V::from_f64(0.3))?)))
}

pub(super) fn add_trees<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || Ok(download_tree(a.spadd(&a.transpose(), hisparse::SpaddOptions::default())?)))
}

pub(super) fn add_trees_queued<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    let options = hisparse::SpaddOptions::default().with_method(hisparse::SpaddMethod::Queues);
    Box::new(move || Ok(download_tree(a.spadd(&a.transpose(), options)?)))
}

pub(super) fn norm_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || {
        let norm = a.frobenius_norm(hisparse::QueuedOptions::default())?;
        Ok(Box::new(move || bytes(&[norm])))
    })
}

pub(super) fn diagonal_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || Ok(download(a.diagonal(hisparse::QueuedOptions::default())?)))
}

pub(super) fn block_of_tree<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    uploaded();
    Box::new(move || {
        let (rows, columns) = (a.nrows() / 3..a.nrows(), 0..a.ncols() / 2);
        Ok(download_csr(a.block(rows, columns, hisparse::QueuedOptions::default())?))
    })
}

pub(super) fn transpose<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.transpose()?)))
}

pub(super) fn select_rows<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let host = S::matrix::<O>();
    let list: Vec<u32> = (0..host.nrows() as u32).rev().step_by(3).collect();
    let (a, list) = (device.upload(&host).expect("upload"), device.upload(&list).expect("upload"));
    uploaded();
    Box::new(move || Ok(download_csr(a.select_rows(&list)?)))
}

/// Sorts a matrix with the entries of every row reversed.
pub(super) fn sort_rows<V: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (rows, cols, (offsets, mut columns, mut values)) = {
        let a = V::matrix::<O>();
        (a.nrows(), a.ncols(), a.into_parts())
    };
    for row in offsets.windows(2) {
        columns[row[0].to_usize()..row[1].to_usize()].reverse();
        values[row[0].to_usize()..row[1].to_usize()].reverse();
    }
    let a =
        device.upload(&Csr::try_new(rows, cols, offsets, columns, values).expect("valid")).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.sort_rows()?)))
}
