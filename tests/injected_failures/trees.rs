//! HiSparse: conversions, sums and products of trees.

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device};

use super::drive::{Numbers, drive};
use super::{drive_product, matrix, values_of};

fn to_tree<const D: usize>(device: &Device, a: &Csr<f64>) -> DeviceHiSparse<f64, D> {
    device.upload(a).unwrap().to_hisparse(hisparse::Options::default()).unwrap()
}

fn values_of_tree<const D: usize>(matrix: &DeviceHiSparse<f64, D>) -> Numbers {
    let matrix = matrix.download()?;
    Ok(matrix.iter().flat_map(|(row, col, value)| [row as f64, col as f64, value]).collect())
}

/// A matrix of three levels whose 32 × 32 leaves are dense, large and small.
fn tree_matrix() -> Csr<f64> {
    let block = (0..32).flat_map(|row| (0..40).map(move |col| (row, col, (row % 3 + 1) as f64)));
    Csr::from_triplets(1300, 1300, matrix().iter().chain(block).chain([(1299, 1200, 2.0)])).expect("inside")
}

#[test]
fn trees() {
    let a = tree_matrix();
    let upload = |device: &Device| to_tree::<32>(device, &a);
    let held = |a: &DeviceHiSparse<f64, 32>| values_of_tree(a).unwrap();
    for share in [false, true] {
        drive(
            "CSR to HiSparse",
            |device| device.upload(&a).unwrap(),
            |a| values_of(a).unwrap(),
            |a| values_of_tree::<32>(&a.to_hisparse(hisparse::Options::default().with_share(share))?),
        );
    }
    let queued = hisparse::ConversionOptions::default().with_method(hisparse::ConversionMethod::Queues);
    drive(
        "CSR to HiSparse by queues",
        |device| device.upload(&a).unwrap(),
        |a| values_of(a).unwrap(),
        |a| values_of_tree::<32>(&a.to_hisparse(queued)?),
    );
    drive(
        "COO to HiSparse",
        |device| device.upload(&a.to_coo().unwrap()).unwrap(),
        |_| vec![],
        |a| values_of_tree::<32>(&a.to_hisparse(hisparse::Options::default())?),
    );
    drive("HiSparse to CSR", upload, held, |a| values_of(&a.to_csr()?));
    drive("HiSparse to COO", upload, held, |a| values_of(&a.to_coo()?.to_csr()?));
    drive("A + A of trees", upload, held, |a| {
        values_of_tree(&a.spadd(&a.scaled(2.0), hisparse::SpaddOptions::default())?)
    });
    drive("A + Aᵀ of trees", upload, held, |a| {
        values_of_tree(&a.spadd(&a.transpose(), hisparse::SpaddOptions::default())?)
    });
    let queues = hisparse::SpaddOptions::default().with_method(hisparse::SpaddMethod::Queues);
    drive("A + Aᵀ by queues", upload, held, |a| values_of_tree(&a.spadd(&a.transpose(), queues)?));
    // The values are small integers, so the order of the additions does not matter.
    drive("norm", upload, held, |a| Ok(vec![a.frobenius_norm(hisparse::QueuedOptions::default())?]));
    let blocks = hisparse::QueuedOptions::default();
    drive("block", upload, held, |a| values_of(&a.block(0..a.nrows() / 2, 0..a.ncols(), blocks)?));
    drive("diagonal", upload, held, |a| Ok(a.diagonal(hisparse::QueuedOptions::default())?.download()?));
}

#[test]
fn shared_subtrees() {
    let a = tree_matrix();
    let upload = |device: &Device| {
        let a = to_tree::<32>(device, &a);
        let sum = a.spadd(&a.transpose(), hisparse::SpaddOptions::default()).unwrap();
        [a, sum]
    };
    let values = |matrices: &[DeviceHiSparse<f64, 32>]| -> Numbers {
        Ok(matrices.iter().map(values_of_tree).collect::<Result<Vec<_>, _>>()?.concat())
    };
    let held = |matrices: &[_; 2]| values(matrices).unwrap();
    drive("shared subtrees", upload, held, |[a, sum]| {
        values(&DeviceHiSparse::share_subtrees(&[a.clone(), sum.transpose(), a.scaled(2.0)])?)
    });
}

#[test]
fn products_of_trees() {
    let a = matrix();
    let upload = |device: &Device| to_tree::<128>(device, &a);
    for mode in [hisparse::SpmvMethod::Auto, hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        drive_product(&format!("SpMV of trees, {mode:?}"), false, upload, |a, x, beta, y| {
            a.plan_spmv(hisparse::SpmvOptions::default().with_method(mode))?.run(2.0, x, beta, y)
        });
    }
    drive_product("SpMV by queues", true, upload, |a, x, beta, y| {
        a.plan_spmv_queued(hisparse::QueuedOptions::default())?.run(2.0, x, beta, y)
    });
    for method in [hisparse::SpgemmMethod::Leaves, hisparse::SpgemmMethod::Rows] {
        drive(
            &format!("A·A of trees, {method:?}"),
            upload,
            |a| values_of_tree(a).unwrap(),
            |a| values_of_tree(&a.spgemm(a, hisparse::SpgemmOptions::default().with_method(method))?),
        );
    }
}
