//! Conversions to and from other crates' types, and their handling of matrices that those would refuse.

use evenpath::coo::Duplicates;
use evenpath::ell::{Ell, PaddingLimit, SlicedEll, SlicedEllOptions};
use evenpath::error::MatrixError;
use evenpath::hyb::HybOptions;
use evenpath::{Complex, Coo, Csr, Device, DeviceDense, HiSparse, Layout, RealStorage, hisparse};
use faer::sparse::{SparseRowMat, SymbolicSparseRowMat};
use nalgebra_sparse::{CooMatrix, CsrMatrix};
use ndarray::{Array2, ShapeBuilder, array, s};
use serde::{Deserialize, Serialize};
use sprs::{CsMat, CsMatI};

/// [5 . 1]
/// [. . .]
/// [. 2 .]
fn matrix() -> Csr<f64> {
    Csr::from_triplets(3, 3, [(0, 0, 5.0), (0, 2, 1.0), (2, 1, 2.0)]).unwrap()
}

/// The same, stored out of order and with an entry in two parts.
fn in_disorder() -> Csr<f64> {
    Csr::try_new(3, 3, vec![0, 3, 3, 4], vec![2, 0, 0, 1], vec![1.0, 2.0, 3.0, 2.0]).unwrap()
}

#[test]
fn sprs() {
    for a in [matrix(), in_disorder()] {
        let moved: CsMatI<f64, u32, u32> = a.clone().into();
        assert_eq!(Csr::try_from(moved.clone()), Ok(matrix()));
        assert_eq!(Csr::try_from(moved.to_csc()), Ok(matrix()));
        let copied = CsMat::from(&a);
        assert_eq!((copied.get(0, 0), copied.get(2, 1), copied.nnz()), (Some(&5.0), Some(&2.0), 3));
        assert_eq!(Csr::try_from(&copied), Ok(matrix()));
        assert_eq!(Csr::try_from(&copied.to_csc()), Ok(matrix()));
    }
    // Rows from the middle: their offsets do not start at zero.
    let wide: CsMatI<f64, u32, u64> = matrix().try_into_offsets::<u64>().unwrap().into();
    let last = wide.slice_outer(1..3).to_owned();
    let expected = Csr::from_triplets(2, 3, [(1, 1, 2.0)]).unwrap().try_into_offsets().unwrap();
    assert_eq!(Csr::<f64, u64>::try_from(last), Ok(expected));
}

#[test]
fn nalgebra() {
    for a in [matrix(), in_disorder()] {
        let theirs = CsrMatrix::from(a);
        assert_eq!(theirs.csr_data(), (&[0, 2, 2, 3][..], &[0, 2, 1][..], &[5.0, 1.0, 2.0][..]));
        assert_eq!(Csr::<f64, u64>::try_from(theirs.clone()).unwrap().get(2, 1), Some(2.0));
        assert_eq!(Csr::try_from(theirs), Ok(matrix()));
    }
    let triplets: CooMatrix<f64> = (&in_disorder().to_coo().unwrap()).into();
    let back: Coo<f64> = (&triplets).try_into().unwrap();
    assert_eq!(back.to_csr(Duplicates::Sum), Ok(matrix()));
}

#[test]
fn faer() {
    for a in [matrix(), in_disorder()] {
        let wide = SparseRowMat::<usize, f64>::from(&a);
        assert_eq!((wide.get(0, 2), wide.get(1, 1)), (Some(&1.0), None));
        assert_eq!(Csr::try_from(&wide), Ok(matrix()));
        let theirs: SparseRowMat<u32, f64> = a.try_into().unwrap();
        assert_eq!(theirs.get(2, 1), Some(&2.0));
        assert_eq!(Csr::try_from(theirs), Ok(matrix()));
    }
    // The maximum number of columns in faer with these indices, and one more.
    let most = i32::MAX as usize;
    let wide = |cols| Csr::<f64>::from_triplets(1, cols, [(0, 7, 1.0)]).unwrap();
    assert_eq!(SparseRowMat::<u32, f64>::try_from(wide(most)).unwrap().ncols(), most);
    let refused = SparseRowMat::<u32, f64>::try_from(wide(most + 1)).unwrap_err();
    let (rows, cols, library) = (1, most + 1, "faer");
    assert_eq!(refused.kind(), &MatrixError::TooLargeElsewhere { rows, cols, library, limit: most });
    assert_eq!(refused.into_parts(), (vec![0, 1], vec![7], vec![1.0]));
    assert_eq!(SparseRowMat::<usize, f64>::from(&wide(most + 1)).ncols(), most + 1);
    // Rows with gaps after them.
    let (offsets, lengths) = (vec![0, 3, 3, 5], Some(vec![2, 0, 1]));
    let symbolic = SymbolicSparseRowMat::<u32>::new_checked(3, 3, offsets, lengths, vec![0, 2, 0, 1, 0]);
    let loose = SparseRowMat::new(symbolic, vec![5.0, 1.0, f64::NAN, 2.0, f64::NAN]);
    assert_eq!(Csr::try_from(loose), Ok(matrix()));
}

#[test]
fn dimensions_that_are_too_large_are_refused() {
    let cols = 1_usize << 33;
    let refused = Csr::<f64>::try_from(&CsMat::zero((0, cols)));
    assert_eq!(refused, Err(MatrixError::TooManyColumns { cols }));
}

#[test]
fn ndarray() {
    let device = Device::cpu();
    let vector = array![1.0, 2.0, 3.0, 4.0, 5.0];
    let x = device.upload_array1(&vector.slice(s![..;2])).unwrap();
    assert_eq!(x.download_array1().unwrap(), array![1.0, 3.0, 5.0]);
    assert_eq!((&matrix() * &vector.slice(s![..;2])).unwrap(), array![10.0, 0.0, 6.0]);
    assert_eq!((&matrix() * &array![1.0, 3.0, 5.0]).unwrap(), array![10.0, 0.0, 6.0]);
    assert!((&matrix() * &vector).is_err());

    let by_rows = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let mut by_columns = Array2::zeros((2, 3).f());
    by_columns.assign(&by_rows);
    let layouts = [(by_rows.view(), Layout::RowMajor), (by_columns.view(), Layout::ColumnMajor)];
    for (array, layout) in layouts {
        let dense = device.upload_array2(&array).unwrap();
        assert_eq!((dense.layout(), dense.download_array2().unwrap()), (layout, by_rows.clone()));
    }
    let part = device.upload_array2(&by_rows.slice(s![.., ..;2])).unwrap();
    assert_eq!(part.download_array2().unwrap(), array![[1.0, 3.0], [4.0, 6.0]]);
    let empty = device.upload_array2(&Array2::<f32>::zeros((0, 4))).unwrap();
    assert_eq!(empty.download_array2().unwrap().dim(), (0, 4));

    let values = device.upload(&[1.0, 2.0, f64::NAN, 3.0, 4.0, f64::NAN]).unwrap();
    let with_gaps = DeviceDense::try_with_leading_dimension(values, 2, 2, Layout::RowMajor, 3).unwrap();
    assert_eq!(with_gaps.download_array2().unwrap(), array![[1.0, 2.0], [3.0, 4.0]]);
    let values = with_gaps.into_vec();
    let by_columns = DeviceDense::try_with_leading_dimension(values, 2, 2, Layout::ColumnMajor, 3).unwrap();
    assert_eq!(by_columns.download_array2().unwrap(), array![[1.0, 3.0], [2.0, 4.0]]);
}

fn round_trip<T: Serialize + for<'de> Deserialize<'de>>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn refused<T: for<'de> Deserialize<'de>>(text: &str) -> String {
    match serde_json::from_str::<T>(text) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_format_round_trips() -> Result<(), MatrixError> {
    let entries = [(0, 1, 0.5), (3, 0, -1.0), (3, 2, 1e300), (3, 4, 0.0)];
    let a: Csr<f64, u64> = Csr::from_triplets(4, 5, entries)?.try_into_offsets().unwrap();
    assert_eq!(round_trip(&a), a);
    assert_eq!(round_trip(&a.to_coo()?).to_csr_with_offsets::<u64>(Duplicates::Keep)?, a);
    let bsr = a.to_bsr(2)?;
    assert!(round_trip(&bsr) == bsr);
    let ell = a.to_ell(PaddingLimit::default())?;
    assert!(round_trip(&ell) == ell);
    let options = SlicedEllOptions::default().with_slice_height(2).with_sorting_scope(4);
    let sliced = a.to_sliced_ell(options)?;
    assert!(sliced.row_order().is_some() && round_trip(&sliced) == sliced);
    let hyb = a.to_hyb(HybOptions::default())?;
    assert!(round_trip(&hyb).to_csr_with_offsets::<u64>()? == a);
    let tree: HiSparse<f64, 32> = a.to_hisparse(hisparse::Options::default())?;
    let back = round_trip(&tree.transpose().scaled(-2.0));
    assert_eq!((back.pool(), back.is_transposed(), back.scale()), (tree.pool(), true, -2.0));
    Ok(())
}

/// JSON has no NaN or infinities, but a matrix may.
#[test]
fn infinite_and_nan_values_round_trip() -> Result<(), MatrixError> {
    fn same<V: RealStorage>(found: &[V], values: &[V]) {
        let bits = |values: &[V]| -> Vec<u64> {
            let bits = values.iter().map(|value| value.to_f64());
            bits.map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect()
        };
        assert_eq!(bits(found), bits(values));
    }
    let values = [0.5, f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY, f64::NAN];
    let entries = values.iter().enumerate().map(|(at, &value)| (at / 3, 2 * (at % 3), value));
    let a: Csr<f64> = Csr::from_triplets(2, 5, entries)?;
    same(round_trip(&a).values(), &values);
    same(round_trip(&a.to_coo()?).values(), &values);
    let ell = a.to_ell(PaddingLimit::default())?;
    same(round_trip(&ell).values(), ell.values());
    let sliced = a.to_sliced_ell(SlicedEllOptions::default())?;
    same(round_trip(&sliced).values(), sliced.values());
    let hyb = a.to_hyb(HybOptions::default())?;
    same(round_trip(&hyb).to_csr()?.values(), &values);
    // This number is so close to the middle between two `f32` that it would be rounded twice through `f64`.
    let single: Csr<f32> = Csr::from_triplets(1, 2, [(0, 0, 7.038_531e-26), (0, 1, f32::NAN)])?;
    assert_eq!(single.values()[0].to_bits(), 0x15ae_43fd);
    let finite: Csr<f32> = Csr::from_triplets(1, 1, [(0, 0, 7.038_531e-26)])?;
    assert!(serde_json::to_string(&finite).unwrap().contains(r#""values":[7.038531e-26]"#));
    assert!(round_trip(&single).values()[1].is_nan());

    let tree: HiSparse<f64, 32> = a.to_hisparse(hisparse::Options::default())?;
    assert_eq!(round_trip(&tree).pool(), tree.pool());
    let error = serde_json::to_string(&tree.scaled(f64::INFINITY)).unwrap_err().to_string();
    assert!(error.starts_with("the scale inf is not finite"), "{error}");

    let beyond = r#"{"rows":1,"cols":1,"row_offsets":[0,1],"column_indices":[0],
        "values":{"numbers":[0.0],"nan":[],"infinity":[1],"negative_infinity":[]}}"#;
    assert!(refused::<Csr<f64>>(beyond).starts_with("inf at position 1 of 1 values"));
    let null = r#"{"rows":1,"cols":1,"row_offsets":[0,1],"column_indices":[0],"values":[null]}"#;
    assert!(refused::<Csr<f64>>(null).contains("null"));
    Ok(())
}

/// Complex values are pairs, as `num-complex` writes them; positions of parts that are not finite count parts.
#[test]
fn complex_values_round_trip() -> Result<(), MatrixError> {
    let z = Complex::new;
    let finite = Csr::from_triplets(2, 3, [(0, 2, z(0.5, -0.0)), (1, 0, z(1e300, 2.0))])?;
    let text = serde_json::to_string(&finite).unwrap();
    assert!(text.contains(r#""values":[[0.5,-0.0],[1e+300,2.0]]"#), "{text}");
    assert_eq!(round_trip(&finite), finite);
    assert_eq!(round_trip(&finite.to_coo()?), finite.to_coo()?);
    let wide = finite.clone().try_into_offsets::<u64>().unwrap();
    assert_eq!(round_trip(&wide), wide);
    let empty: Csr<Complex<f32>> = Csr::from_triplets(0, 4, [])?;
    assert_eq!(round_trip(&empty), empty);

    let values = [z(f64::NAN, 1.0), z(2.0, f64::INFINITY), z(f64::NEG_INFINITY, f64::NAN)];
    let entries = values.iter().enumerate().map(|(column, &value)| (0, column, value));
    let a = Csr::from_triplets(1, 3, entries)?;
    let text = serde_json::to_string(&a).unwrap();
    let positions =
        r#"{"numbers":[[0.0,1.0],[2.0,0.0],[0.0,0.0]],"nan":[0,5],"infinity":[3],"negative_infinity":[4]}"#;
    assert!(text.contains(positions), "{text}");
    for found in [round_trip(&a).values(), round_trip(&a.to_coo()?).values()] {
        for (found, value) in found.iter().zip(&values) {
            let same = |found: f64, part: f64| {
                found.to_bits() == part.to_bits() || (found.is_nan() && part.is_nan())
            };
            assert!(same(found.re, value.re) && same(found.im, value.im), "{found}, not {value}");
        }
    }
    // Numbers of f32 are not rounded twice.
    let single = Csr::from_triplets(1, 2, [(0, 0, Complex::new(7.038_531e-26_f32, f32::NAN))])?;
    assert_eq!(round_trip(&single).values()[0].re.to_bits(), 0x15ae_43fd);

    let beyond = text.replace("[3]", "[6]");
    let message = refused::<Csr<Complex<f64>>>(&beyond);
    assert!(message.starts_with("inf at position 6 of 6 parts of values"), "{message}");
    for invalid in ["[1.0]", "1.0", "[1.0,2.0,3.0]", "[null,1.0]"] {
        let text =
            format!(r#"{{"rows":1,"cols":1,"row_offsets":[0,1],"column_indices":[0],"values":[{invalid}]}}"#);
        assert!(!refused::<Csr<Complex<f64>>>(&text).is_empty());
    }
    Ok(())
}

#[test]
fn invalid_matrices_are_refused() {
    let csr = r#"{"rows":1,"cols":2,"row_offsets":[0,1],"column_indices":[2],"values":[1.0]}"#;
    assert!(
        refused::<Csr<f64>>(csr).starts_with("column 2 at position 0, in row 0"),
        "{}",
        refused::<Csr<f64>>(csr)
    );
    let order = r#"{"rows":1,"cols":1,"slice_height":1,"slice_offsets":[0,0],"column_indices":[],"values":[],"row_order":[1]}"#;
    assert!(!refused::<SlicedEll<f64>>(order).is_empty());
    let tree = r#"{"rows":1,"cols":1,"node_size":64,"pool":[],"root_reference":0,"is_transposed":false,"scale":1.0}"#;
    assert!(refused::<HiSparse<f64, 32>>(tree).contains("64"));
    assert!(refused::<HiSparse<f64, 64>>(tree).contains("pool"), "{}", refused::<HiSparse<f64, 64>>(tree));
}

/// A few bytes that state billions of rows, or a trillion entries.
#[test]
fn small_texts_allocate_little() {
    let start = std::time::Instant::now();
    let ell = r#"{"rows":4294967295,"cols":2,"width":0,"column_indices":[],"values":[]}"#;
    if let Ok(ell) = serde_json::from_str::<Ell<f64>>(ell) {
        assert_eq!((ell.nrows(), ell.nnz()), (4_294_967_295, 0));
    }
    let sliced = r#"{"rows":4294967295,"cols":2,"slice_height":4294967295,"slice_offsets":[0,0],
        "column_indices":[],"values":[],"row_order":null}"#;
    if let Ok(sliced) = serde_json::from_str::<SlicedEll<f64>>(sliced) {
        assert_eq!((sliced.nrows(), sliced.nnz()), (4_294_967_295, 0));
    }
    assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());

    // Levels of full nodes, all of whose children are the node below.
    let slots = [257_u32 << 2, 513 << 2, 769 << 2, 1.0_f32.to_bits()];
    let nodes = slots.into_iter().flat_map(|slot| std::iter::repeat_n(slot, 1024));
    let pool: Vec<u8> = [0; 4].into_iter().chain(nodes).flat_map(u32::to_le_bytes).collect();
    let tree = serde_json::json!({
        "rows": 1 << 20, "cols": 1 << 20, "node_size": 32, "pool": pool, "root_reference": 4,
        "is_transposed": false, "scale": 1.0,
    });
    let error = refused::<HiSparse<f32, 32>>(&tree.to_string());
    assert!(error.starts_with("1099511627776 entries"), "{error}");
}
