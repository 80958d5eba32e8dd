//! Changes of a matrix's values on its device, and access to its arrays.

#![allow(clippy::float_cmp)]

use evenpath::csr::Filter;
use evenpath::error::OpError;
use evenpath::spmv::{SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device, DeviceCsr, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices, odd_row_lengths, while_values_change, with_row_lengths};

fn factors<V: Value>(len: usize, seed: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 5 + seed) % 9) as f64 - 4.5)).collect()
}

fn check_scales<V: Value, O: Offset>(device: &Device, cols: usize, lengths: &[usize]) {
    let mut host: Csr<V, O> = with_row_lengths(cols, lengths);
    let a = device.upload(&host).unwrap();
    let (rows, columns) = (factors::<V>(a.nrows(), 1), factors::<V>(a.ncols(), 2));
    // A part of a vector, which is not aligned.
    let padded = device.upload(&[&[V::ZERO], &rows[..]].concat()).unwrap();
    a.scale_rows(&padded.slice(1..).unwrap()).unwrap();
    let scaled: Vec<V> = host.iter().map(|(row, _, value)| rows[row] * value).collect();
    assert_eq!(a.values().download().unwrap(), scaled, "rows on {device}");
    a.scale_columns(&device.upload(&columns).unwrap()).unwrap();
    let scaled: Vec<V> =
        scaled.iter().zip(host.iter()).map(|(&value, (_, column, _))| columns[column] * value).collect();
    assert_eq!(a.values().download().unwrap(), scaled, "columns on {device}");
    a.scale(V::from_f64(-3.0)).unwrap();
    a.map_values(Map::Abs).unwrap();
    let scaled: Vec<V> = scaled.iter().map(|&value| (value * V::from_f64(-3.0)).abs()).collect();
    assert_eq!(a.values().download().unwrap(), scaled, "all on {device}");

    host.scale_rows(&rows).unwrap();
    host.scale_columns(&columns).unwrap();
    host.scale(V::from_f64(-3.0));
    host.map_values(V::abs);
    assert_eq!(host.values(), scaled);
    assert_eq!(a.row_offsets().download().unwrap(), host.row_offsets());
    assert_eq!(a.column_indices().download().unwrap(), host.column_indices());
}

#[test]
fn values_are_scaled_by_row_and_column() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            check_scales::<f64, u32>(&device, cols, &lengths);
            check_scales::<f32, u64>(&device, cols, &lengths);
        }
    }
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let mut host = Csr::from_triplets(2, 3, [(0, 2, 1.0), (1, 0, 2.0)]).unwrap();
        let a = device.upload(&host).unwrap();
        let (two, three) = (device.zeros(2).unwrap(), device.zeros(3).unwrap());
        assert!(matches!(
            a.scale_rows(&three),
            Err(OpError::Length { operand: "factors", len: 3, needed: 2 })
        ));
        assert!(matches!(
            a.scale_columns(&two),
            Err(OpError::Length { operand: "factors", len: 2, needed: 3 })
        ));
        assert_eq!(a.values().download().unwrap(), [1.0, 2.0]);
        let error = host.scale_rows(&[0.0; 3]).unwrap_err();
        assert_eq!(error.to_string(), "3 factors are not one for each of the 2 rows");
        assert!(host.scale_columns(&[0.0; 2]).is_err());
        assert_eq!(host.values(), [1.0, 2.0]);
    }
}

/// Plans and their copies have the changed values, also in graphs.
#[test]
fn plans_and_graphs_follow() {
    for DeviceUnderTest { device, .. } in devices() {
        let host: Csr<f64> = with_row_lengths(40, &[3, 0, 40, 7, 1]);
        let a = device.upload(&host).unwrap();
        let x = device.upload(&[1.0; 5]).unwrap();
        let options = SpmvTransposedOptions::default().with_method(SpmvTransposedMethod::Copied);
        let (copied, plain) =
            (a.plan_spmv_transposed(options).unwrap(), a.plan_spmv(SpmvOptions::default()).unwrap());
        let ones = device.upload(&[1.0; 40]).unwrap();
        let (mut y, mut z) = (device.zeros(40).unwrap(), device.zeros(5).unwrap());
        let mut expected = host.clone();
        let mut check = |expected: &Csr<f64>| {
            copied.run(1.0, &x, 0.0, &mut y).unwrap();
            plain.run(1.0, &ones, 0.0, &mut z).unwrap();
            let sums = |sums: Vec<f64>, lines: &Csr<f64>| {
                for (row, sum) in lines.iter_rows().zip(sums) {
                    let exact: f64 = row.values().iter().sum();
                    assert!((sum - exact).abs() < 1e-10, "{sum}, not {exact}, on {device}");
                }
            };
            sums(y.download().unwrap(), &expected.transpose().unwrap());
            sums(z.download().unwrap(), expected);
        };
        check(&expected);
        let factors = [2.0, -1.0, 0.5, 4.0, 3.0];
        a.scale_rows(&device.upload(&factors).unwrap()).unwrap();
        expected.scale_rows(&factors).unwrap();
        check(&expected);
        a.update_values(|values| vector::axpby(1.0, &a.values(), 1.0, values)).unwrap();
        expected.scale(2.0);
        check(&expected);
        let mut graph = device
            .capture((), |()| {
                a.scale(0.5)?;
                a.update_values(|values| vector::map(Map::Add(1.0), values))
            })
            .unwrap();
        check(&expected);
        for _ in 0..2 {
            graph.launch().unwrap();
            expected.map_values(|value| 0.5 * value + 1.0);
            check(&expected);
        }
    }
}

#[test]
fn borrowed_values_stay() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)]).unwrap()).unwrap();
        let clone = a.clone();
        let (borrowed, again) = (a.values(), a.values());
        let values = device.upload(&[5.0, 6.0]).unwrap();
        for refused in [
            a.set_values(&[3.0, 4.0]),
            clone.set_values_from(&values),
            clone.scale(2.0),
            a.map_values(Map::Abs),
            a.scale_rows(&values),
            a.scale_columns(&values),
            a.update_values(|values| vector::fill(0.0, values)),
        ] {
            assert!(matches!(refused, Err(OpError::ValuesBorrowed)), "on {device}");
        }
        // Operations that read the values go on.
        assert_eq!(a.spadd(1.0, &clone, 1.0).unwrap().download().unwrap().values(), [2.0, 4.0]);
        drop(borrowed);
        assert!(a.set_values(&[3.0, 4.0]).is_err());
        assert_eq!(again.download().unwrap(), [1.0, 2.0]);
        drop(again);
        a.set_values(&[3.0, 4.0]).unwrap();
        assert_eq!(clone.values().download().unwrap(), [3.0, 4.0]);
        assert_eq!(a.into_parts().unwrap().2.download().unwrap(), [3.0, 4.0]);
    }
}

#[test]
fn a_failed_update_changes_nothing() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 2.0)]).unwrap()).unwrap();
        let failed = a.update_values(|values| {
            vector::fill(7.0, values)?;
            a.set_values(&[1.0])
        });
        assert!(matches!(failed, Err(OpError::Length { .. })));
        assert_eq!(a.values().download().unwrap(), [1.0, 2.0]);
        // Changes inside are replaced.
        a.update_values(|values| {
            a.set_values(&[8.0, 8.0])?;
            vector::map(Map::Add(1.0), values)
        })
        .unwrap();
        assert_eq!(a.values().download().unwrap(), [2.0, 3.0]);
    }
}

/// Operations wait for a change of the values, or the change waits for them; neither is refused.
#[test]
fn operations_do_not_borrow() {
    for DeviceUnderTest { device, .. } in devices() {
        let ones = device.upload(&[1.0; 500]).unwrap();
        let a = DeviceCsr::from_diagonal(&ones).unwrap();
        let rows = device.upload(&(0..500).collect::<Vec<u32>>()).unwrap();
        while_values_change(&a, &ones, || {
            for _ in 0..20 {
                a.select_rows(&rows).unwrap();
                a.filter(Filter::Nonzero).unwrap();
                a.diagonal().unwrap();
            }
        });
    }
}
