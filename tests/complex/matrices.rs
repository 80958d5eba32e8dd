//! Matrices of complex values: built, converted, transposed and changed, on the host and on every device.

use evenpath::coo::Duplicates;
use evenpath::{Complex, Coo, Csr, Offset, bf16};
use evenpath_tests::{ComplexValue, DeviceUnderTest, complex, complex_rows, complex_vector, devices};

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// Rows that are empty, single, unsorted, repeated, and longer than a tile.
const LENGTHS: [usize; 8] = [3, 0, 1, 2500, 0, 40, 7, 0];

/// The entries by column, each column in the order of the rows, as [`Csr::transpose`] has them.
fn transposed<V: ComplexValue, O: Offset>(a: &Csr<V, O>, map: impl Fn(V) -> V) -> Vec<(usize, usize, V)> {
    let mut entries: Vec<_> = a.iter().map(|(row, column, value)| (column, row, map(value))).collect();
    entries.sort_by_key(|&(column, _, _)| column);
    entries
}

fn entries<V: ComplexValue, O: Offset>(a: &Csr<V, O>) -> Vec<(usize, usize, V)> {
    a.iter().collect()
}

fn check_transposes<V: ComplexValue, O: Offset>() {
    let conj = |value: V| V::from_parts(value.parts().0, -value.parts().1);
    let mut all = vec![complex_rows::<V, O>(37, &LENGTHS), complex_rows(0, &[0; 3]), complex_rows(5, &[])];
    // Products with an infinite part would not be copies.
    all[0].values_mut()[1] = complex(f64::INFINITY, -0.0);
    all[0].values_mut()[2] = complex(-0.0, f64::NEG_INFINITY);
    for a in &all {
        let (plain, conjugate) = (transposed(a, |value| value), transposed(a, conj));
        assert_eq!(entries(&a.transpose().expect("memory")), plain);
        assert_eq!(entries(&a.conjugate_transpose().expect("memory")), conjugate);
        for DeviceUnderTest { device, .. } in devices() {
            let there = device.upload(a).expect("upload");
            assert_eq!(there.download().expect("download"), *a, "{device}");
            let found = there.transpose().expect("a transpose").download().expect("download");
            assert_eq!(found.shape(), (a.ncols(), a.nrows()));
            assert_eq!(entries(&found), plain, "{device}");
            let found = there.conjugate_transpose().expect("a transpose").download().expect("download");
            assert_eq!(entries(&found), conjugate, "{device}");
        }
    }
}

#[test]
fn transposes() {
    check_transposes::<C32, u32>();
    check_transposes::<C32, u64>();
    check_transposes::<C64, u32>();
    check_transposes::<C64, u64>();
}

#[test]
fn triplets_are_summed_and_sorted() {
    let i = C64::new(0.0, 1.0);
    let triplets = [(1, 2, i), (0, 1, 2.0 * i), (1, 2, C64::new(1.0, 0.0)), (1, 0, -i)];
    let a = Csr::from_triplets(2, 3, triplets).expect("inside");
    assert_eq!((a.column_indices(), a.values()), (&[1, 0, 2][..], &[2.0 * i, -i, 1.0 + i][..]));
    assert_eq!(a.get(1, 2), Some(1.0 + i));
    assert_eq!(a.to_dense().expect("small"), [C64::ZERO, 2.0 * i, C64::ZERO, -i, C64::ZERO, 1.0 + i]);
    let coo = Coo::from_triplets(2, 3, triplets).expect("inside");
    assert_eq!(coo.to_csr(Duplicates::Keep).expect("memory").nnz(), 4);
    assert_eq!(a.to_coo().expect("memory").to_csr(Duplicates::Refuse).expect("canonical"), a);
    assert!(Csr::from_triplets(2, 3, [(0, 3, i)]).is_err());
}

#[test]
fn values_convert() {
    let a: Csr<f64> = Csr::from_triplets(1, 3, [(0, 0, 0.1), (0, 1, -2.0), (0, 2, 1e300)]).expect("inside");
    let wide: Csr<C64> = a.clone().into_values();
    assert_eq!(wide.values(), [C64::new(0.1, 0.0), C64::new(-2.0, 0.0), C64::new(1e300, 0.0)]);
    let narrow: Csr<C32> = wide.into_values();
    assert_eq!(narrow.values(), [C32::new(0.1, 0.0), C32::new(-2.0, 0.0), C32::new(f32::INFINITY, 0.0)]);
    let wide: Csr<C64> = narrow.into_values();
    assert_eq!(wide.values()[0], C64::new(f64::from(0.1_f32), 0.0));
    let of_half: Csr<C32> = a.into_values::<bf16>().into_values();
    assert_eq!(of_half.values()[1], C32::new(-2.0, 0.0));
}

#[test]
fn values_change_in_place() {
    fn check<V: ComplexValue>() {
        let a = complex_rows::<V, u32>(37, &LENGTHS);
        let factor: V = complex(0.5, -2.0);
        let of_all = |map: &dyn Fn(V) -> V| a.values().iter().map(|&value| map(value)).collect::<Vec<V>>();
        let (scaled, conjugate) = (
            of_all(&|value| factor * value),
            of_all(&|value| V::from_parts(value.parts().0, -value.parts().1)),
        );
        let mut on_host = a.clone();
        on_host.scale(factor);
        assert_eq!(on_host.values(), scaled);
        let mut on_host = a.clone();
        on_host.conjugate();
        assert_eq!(on_host.values(), conjugate);
        for DeviceUnderTest { device, .. } in devices() {
            let there = device.upload(&a).expect("upload");
            there.scale(factor).expect("scaled");
            assert_eq!(there.values().download().expect("download"), scaled, "{device}");
            there.set_values(a.values()).expect("as many");
            there.conjugate().expect("conjugated");
            assert_eq!(there.values().download().expect("download"), conjugate, "{device}");
            let others = device.upload(&complex_vector::<V>(a.nnz(), 9)).expect("upload");
            there.set_values_from(&others).expect("as many");
            let found = there.download().expect("download");
            assert_eq!(found.values(), complex_vector::<V>(a.nnz(), 9), "{device}");
            assert_eq!(found.column_indices(), a.column_indices(), "{device}");
        }
    }
    check::<C32>();
    check::<C64>();
}

#[test]
fn real_values_are_their_own_conjugates() {
    let a = Csr::from_triplets(2, 2, [(0, 1, 1.5), (1, 0, -0.0)]).expect("inside");
    assert_eq!(a.conjugate_transpose(), a.transpose());
    for DeviceUnderTest { device, .. } in devices() {
        let there = device.upload(&a).expect("upload");
        there.conjugate().expect("nothing to do");
        assert_eq!(
            there.conjugate_transpose().expect("memory").download().expect("download"),
            a.transpose().expect("memory")
        );
    }
}

#[test]
fn rows_are_selected() {
    fn check<V: ComplexValue, O: Offset>() {
        let (a, list) = (complex_rows::<V, O>(37, &LENGTHS), [3, 0, 3, 7, 5]);
        let expected = a.select_rows(&list).expect("rows that exist");
        let rows: Vec<Vec<_>> = a.iter_rows().map(|row| row.iter().collect()).collect();
        let found: Vec<Vec<_>> = expected.iter_rows().map(|row| row.iter().collect()).collect();
        assert!(list.iter().map(|&row| &rows[row as usize]).eq(&found));
        for DeviceUnderTest { device, .. } in devices() {
            let list = device.upload(&list).expect("upload");
            let selected = device.upload(&a).expect("upload").select_rows(&list).expect("rows that exist");
            assert_eq!(selected.download().expect("download"), expected, "{device}");
        }
    }
    check::<C32, u32>();
    check::<C64, u32>();
    check::<C64, u64>();
}
