//! α and β in device memory: results equal those with the same numbers from the host.

use evenpath::ell::{EllR, SlicedEllOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::hisparse;
use evenpath::hyb::HybOptions;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{
    Compute, Csr, Device, DeviceDense, DeviceVec, Factor, Layout, Multiplies, RealStorage, Value, bf16, f16,
    vector,
};
use evenpath_lab::XInSequence;
use evenpath_tests::{SpmmOperand, UNLIMITED, devices, hyb_widths, with_row_lengths};

/// A product y = αAx + βy, with its name.
type Product<V> = (
    String,
    Box<dyn Fn(Factor<'_, V>, &DeviceVec<V>, Factor<'_, V>, &mut DeviceVec<V>) -> Result<(), OpError>>,
);

/// Small integers, so that all sums are exact in any order.
fn integers<V: Value>(len: usize, seed: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 7 + seed * 3) % 11) as f64 - 5.0)).collect()
}

/// Every product of a square matrix with a vector.
fn products<V: Value>(device: &Device, host: &Csr<V>) -> Result<Vec<Product<V>>, Box<dyn std::error::Error>> {
    let mut products: Vec<Product<V>> = Vec::new();
    macro_rules! add {
        ($name:expr, $plan:ident.$run:ident) => {
            products.push(($name, Box::new(move |alpha, x, beta, y| $plan.$run(alpha, x, beta, y))))
        };
    }
    let a = device.upload(host)?;
    for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
        let plan = a.plan_spmv(SpmvOptions::default().with_method(method))?;
        add!(method.to_string(), plan.run);
    }
    for method in SpmvTransposedMethod::ALL {
        let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method))?;
        add!(format!("transposed, {method:?}"), plan.run);
    }
    add!("CSR without a plan".into(), a.spmv);
    let tree =
        device.upload(&host.to_hisparse::<32>(hisparse::Options::default())?)?.scaled(V::from_f64(-2.0));
    for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        let plan = tree.plan_spmv(hisparse::SpmvOptions::default().with_method(method))?;
        add!(format!("HiSparse, {method:?}"), plan.run);
    }
    let plan = tree.plan_spmv_queued(hisparse::QueuedOptions::default())?;
    add!("HiSparse, queued".into(), plan.run);
    let coo = device.upload(&host.to_coo()?)?;
    add!("COO".into(), coo.spmv);
    for width in hyb_widths() {
        let hyb = host.to_hyb(HybOptions::default().with_width(width).with_limit(UNLIMITED))?;
        let hyb = device.upload(&hyb)?;
        add!(format!("HYB, {width:?}"), hyb.spmv);
    }
    for block_size in [3, 7] {
        let bsr = device.upload(&host.to_bsr(block_size)?)?;
        add!(format!("BSR, blocks of {block_size}"), bsr.spmv);
    }
    let ell = host.to_ell(UNLIMITED)?;
    let (ell, ell_r) = (device.upload(&ell)?, device.upload(&EllR(&ell))?);
    add!("ELL".into(), ell.spmv);
    let in_sequence = ell_r.clone();
    add!("ELL-R".into(), ell_r.spmv);
    add!("ELL-R in sequence".into(), in_sequence.spmv_with_x_in_sequence);
    let sliced = device.upload(&host.to_sliced_ell(SlicedEllOptions::default().with_limit(UNLIMITED))?)?;
    add!("sliced ELL".into(), sliced.spmv);
    let order = device.upload(&host.sort_rows_by_length().1)?;
    add!("rows in order".into(), order.restore);
    products.push(("axpby".into(), Box::new(|alpha, x, beta, y| vector::axpby(alpha, x, beta, y))));
    Ok(products)
}

/// The matrix with small integers as values.
fn whole(a: &Csr<f64>) -> Csr<f64> {
    let triplets = a.iter_rows().enumerate().flat_map(|(row, entries)| {
        entries.iter().map(move |(col, _)| (row, col as usize, ((row + col as usize) % 5) as f64 - 2.0))
    });
    Csr::from_triplets(a.nrows(), a.ncols(), triplets.collect::<Vec<_>>()).expect("a matrix")
}

/// Runs every product with factors from the host, and from the device in several ways.
fn check<V: Value>(device: &Device, a: &Csr<V>) {
    let x = device.upload(&integers::<V>(a.ncols(), 1)).expect("memory");
    for (name, product) in products(device, a).expect("plans") {
        for (alpha, beta) in [(2.0, 0.0), (-1.0, 1.0), (0.5, -2.0), (0.0, 1.0), (0.0, 0.0)] {
            let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
            let old =
                if beta == V::ZERO { vec![V::from_f64(f64::NAN); a.nrows()] } else { integers(a.nrows(), 2) };
            let run = |alpha: Factor<'_, V>, beta: Factor<'_, V>| {
                let mut y = device.upload(&old).expect("memory");
                product(alpha, &x, beta, &mut y).expect("the device works");
                y.download().expect("the device works")
            };
            let expected = run(alpha.into(), beta.into());
            assert!(expected.iter().all(|value| value.is_finite()), "{name} on {device}");
            let what = format!("{name} of {a:?} on {device}, {alpha} and {beta}");

            let (one_alpha, one_beta) = (device.upload(&[alpha]).unwrap(), device.upload(&[beta]).unwrap());
            assert_eq!(run((&one_alpha).into(), (&one_beta).into()), expected, "both: {what}");
            assert_eq!(run((&one_alpha).into(), beta.into()), expected, "alpha: {what}");
            assert_eq!(run(alpha.into(), (&one_beta).into()), expected, "beta: {what}");
            // Parts of one vector, one of them negated and one halved.
            let both = device.upload(&[V::ONE, -alpha, beta + beta, V::ONE]).expect("memory");
            let (alpha, beta) = (both.slice(1..2).expect("inside"), both.slice(2..=2).expect("inside"));
            let halved = Factor::from(&beta).scaled(V::from_f64(0.5));
            assert_eq!(run(-Factor::from(&alpha), halved), expected, "parts: {what}");
        }
    }
}

#[test]
fn every_product_with_a_vector() {
    let skewed: Vec<usize> = (0..300).map(|row| if row == 7 { 300 } else { row % 3 }).collect();
    for device in devices() {
        let device = device.device;
        check(&device, &whole(&generate(Kind::PowerLaw { rows: 200 }, 5).expect("a matrix")));
        check(&device, &whole(&with_row_lengths(300, &skewed)).into_values::<f32>());
        check::<f64>(&device, &Csr::from_triplets(0, 0, []).expect("empty"));
        check::<f64>(&device, &Csr::from_triplets(1, 1, [(0, 0, 3.0)]).expect("one element"));
        check::<f32>(&device, &Csr::from_triplets(70, 70, []).expect("no entries"));
    }
}

/// A dense matrix of small integers, or of NaN.
fn dense<T: RealStorage>(
    device: &Device,
    (rows, cols): (usize, usize),
    layout: Layout,
    is_nan: bool,
) -> DeviceDense<T> {
    let number = |at: usize| if is_nan { f64::NAN } else { (at * 5 % 9) as f64 - 4.0 };
    let values: Vec<T> = (0..rows * cols).map(|at| T::from_f64(number(at))).collect();
    DeviceDense::try_new(device.upload(&values).expect("memory"), rows, cols, layout).expect("its size")
}

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

fn check_dense<S: RealStorage + Multiplies<T>, T: SpmmOperand<S>>(device: &Device, a: &Csr<f64>) {
    let uploaded = device.upload(&a.clone().into_values::<S>()).expect("memory");
    for (layout, columns) in LAYOUTS.into_iter().zip([5, 40]) {
        let plan = T::plan_spmm(&uploaded, SpmmOptions::default().with_columns(columns)).expect("a plan");
        let b = dense::<T>(device, (a.ncols(), columns), Layout::RowMajor, false);
        for (alpha, beta) in [(2.0, 0.0), (-1.0, 0.5)] {
            let is_zero = beta == 0.0;
            let (alpha, beta) =
                (<Compute<T> as RealStorage>::from_f64(alpha), <Compute<T> as RealStorage>::from_f64(beta));
            let run = |alpha: Factor<'_, Compute<T>>, beta: Factor<'_, Compute<T>>| {
                let mut c = dense::<T>(device, (a.nrows(), columns), layout, is_zero);
                plan.run(alpha, &b, beta, &mut c).expect("the device works");
                c.as_vec().download().expect("the device works")
            };
            let expected = run(alpha.into(), beta.into());
            assert!(expected.iter().all(|value| value.to_f64().is_finite()));
            let both = device.upload(&[alpha, -beta]).expect("memory");
            let (alpha, beta) = (both.slice(..1).expect("inside"), both.slice(1..).expect("inside"));
            assert_eq!(run((&alpha).into(), -Factor::from(&beta)), expected, "{} on {device}", T::NAME);
        }
    }
}

#[test]
fn every_product_with_a_dense_matrix() {
    let lengths: Vec<usize> = (0..60).map(|row| if row == 7 { 400 } else { row % 4 }).collect();
    let a = whole(&with_row_lengths(400, &lengths));
    for device in devices() {
        let device = device.device;
        check_dense::<f64, f64>(&device, &a);
        check_dense::<f32, f32>(&device, &a);
        check_dense::<f16, f16>(&device, &a);
        check_dense::<bf16, f32>(&device, &a);
        check_dense::<f32, f64>(&device, &a);
        let tree = device
            .upload(&a.to_hisparse::<32>(hisparse::Options::default()).expect("a tree"))
            .expect("memory");
        let tree = tree.scaled(-3.0);
        for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
            let plan = tree.plan_spmm(hisparse::SpmmOptions::default().with_method(method)).expect("a plan");
            let b = dense::<f64>(&device, (400, 3), Layout::RowMajor, false);
            for (alpha, beta) in [(2.0, 0.0), (-1.0, 0.5)] {
                let run = |alpha: Factor<'_, f64>, factor: Factor<'_, f64>| {
                    let mut c = dense::<f64>(&device, (60, 3), Layout::ColumnMajor, beta == 0.0);
                    plan.run(alpha, &b, factor, &mut c).expect("the device works");
                    c.as_vec().download().expect("the device works")
                };
                let (stored_alpha, stored_beta) =
                    (device.upload(&[alpha]).unwrap(), device.upload(&[beta]).unwrap());
                let expected = run(alpha.into(), beta.into());
                assert!(expected.iter().all(|value| value.is_finite()));
                assert_eq!(
                    run((&stored_alpha).into(), (&stored_beta).into()),
                    expected,
                    "{method:?} on {device}"
                );
            }
        }
    }
}

/// NaN and infinite factors behave as in a sum.
#[test]
fn factors_that_are_not_finite() {
    for device in devices() {
        let device = device.device;
        let x = device.upload(&[1.0, 0.0]).expect("memory");
        for value in [f64::NAN, f64::INFINITY] {
            let stored = device.upload(&[value]).expect("memory");
            let mut y = device.upload(&[2.0; 2]).expect("memory");
            vector::axpby(&stored, &x, 0.0, &mut y).expect("the device works");
            let found = y.download().expect("the device works");
            assert_eq!((found[0].to_bits(), found[1].is_nan()), (value.to_bits(), true), "{device}");
        }
    }
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let others: Vec<Device> = devices().into_iter().map(|other| other.device).collect();
    for device in &others {
        let a: Csr<f64> = Csr::from_triplets(3, 3, [(0, 1, 2.0)]).expect("a matrix");
        let (none, two) = (device.zeros::<f64>(0).unwrap(), device.zeros::<f64>(2).unwrap());
        let other = others.iter().find(|other| !other.is_same(device)).expect("several");
        let elsewhere = other.upload(&[1.0]).expect("memory");
        let x = device.upload(&[1.0; 3]).expect("memory");
        for (name, product) in products(device, &a).expect("plans") {
            let mut y = device.upload(&[7.0; 3]).expect("memory");
            let mut refused = |alpha: Factor<'_, f64>, beta: Factor<'_, f64>| {
                product(alpha, &x, beta, &mut y).expect_err(&name)
            };
            for (wrong, wrong_len) in [(&none, 0), (&two, 2)] {
                let of_alpha = refused(wrong.into(), 1.0.into());
                assert!(
                    matches!(of_alpha, OpError::Length { operand: "alpha", len, needed: 1 } if len == wrong_len),
                    "{name}: {of_alpha}"
                );
                let of_beta = refused(1.0.into(), wrong.into());
                assert!(
                    matches!(of_beta, OpError::Length { operand: "beta", len, needed: 1 } if len == wrong_len),
                    "{name}: {of_beta}"
                );
            }
            for error in [refused((&elsewhere).into(), 0.0.into()), refused(1.0.into(), (&elsewhere).into())]
            {
                assert!(
                    matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })),
                    "{name}: {error}"
                );
            }
            assert_eq!(y.download().expect("the device works"), [7.0; 3], "{name}");
        }
    }
}
