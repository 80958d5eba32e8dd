//! Diagonals, reductions and filters of a matrix.

#![allow(clippy::float_cmp)]

use evenpath::csr::{Filter, Reduction};
use evenpath::{Csr, Device, DeviceCsr, Offset, Value};
use evenpath_kernels::entries::RowNorms;
use evenpath_tests::{DeviceUnderTest, devices, kernel_devices, odd_row_lengths, tile_len, with_row_lengths};

/// Rows of all lengths, with unsorted columns, some of them several times.
fn matrices<V: Value, O: Offset>() -> Vec<Csr<V, O>> {
    let mut matrices: Vec<Csr<V, O>> =
        odd_row_lengths().into_iter().map(|(cols, lengths)| with_row_lengths(cols, &lengths)).collect();
    for matrix in &mut matrices {
        // Multiples of 1/4, whose sums are exact, with zeros among them.
        matrix.map_values(|value| V::from_f64((value.to_f64() * 10.0).round() / 4.0));
    }
    matrices
}

/// The value of a reduction, from plain numbers, and the relative error of the result.
fn expected(reduction: Reduction, values: &[f64]) -> (f64, f64) {
    match reduction {
        Reduction::Sum => (values.iter().sum(), 0.0),
        Reduction::AbsSum => (values.iter().map(|value| value.abs()).sum(), 0.0),
        Reduction::Norm2 => (values.iter().map(|value| value * value).sum::<f64>().sqrt(), 1e-4),
        Reduction::Min => (values.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
        Reduction::Max => (values.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0),
        Reduction::AbsMax => (values.iter().map(|value| value.abs()).fold(0.0, f64::max), 0.0),
        Reduction::Count => (values.len() as f64, 0.0),
    }
}

fn check_reductions<V: Value, O: Offset>(device: &Device) {
    for host in matrices::<V, O>() {
        let a = device.upload(&host).unwrap();
        let (mut rows, mut columns) = (vec![vec![]; host.nrows()], vec![vec![]; host.ncols()]);
        for (row, column, value) in host.iter() {
            rows[row].push(value.to_f64());
            columns[column].push(value.to_f64());
        }
        for reduction in Reduction::ALL {
            let check = |found: Vec<V>, lines: &[Vec<f64>]| {
                assert_eq!(found.len(), lines.len());
                for (found, values) in found.into_iter().zip(lines) {
                    let (expected, error) = expected(reduction, values);
                    let found = found.to_f64();
                    assert!(
                        found == expected || (found - expected).abs() <= error * expected,
                        "{reduction} of {host:?} on {device}: {found}, not {expected}"
                    );
                }
            };
            check(a.reduce_rows(reduction).unwrap().download().unwrap(), &rows);
            check(a.reduce_columns(reduction).unwrap().download().unwrap(), &columns);
            check(host.reduce_rows(reduction), &rows);
            check(host.reduce_columns(reduction).unwrap(), &columns);
        }
    }
}

#[test]
fn rows_and_columns_are_reduced() {
    for DeviceUnderTest { device, .. } in devices() {
        check_reductions::<f64, u32>(&device);
        check_reductions::<f32, u64>(&device);
    }
}

#[test]
fn norms_of_rows_do_not_overflow() {
    for DeviceUnderTest { device, .. } in devices() {
        let rows = [
            [3e200, 4e200],
            [3e-200, -4e-200],
            [0.0, -0.0],
            [f64::INFINITY, 1.0],
            [f64::NAN, 1.0],
            [5e-324, 0.0],
        ];
        let triplets = (0..12).map(|at| (at / 2, at % 2, rows[at / 2][at % 2]));
        let a = device.upload(&Csr::from_triplets(6, 2, triplets).unwrap()).unwrap();
        let norms = a.reduce_rows(Reduction::Norm2).unwrap().download().unwrap();
        for (norm, expected) in norms.iter().zip([5e200, 5e-200]) {
            assert!((norm / expected - 1.0).abs() < 1e-14, "{norm} on {device}");
        }
        assert_eq!((norms[2], norms[3], norms[5]), (0.0, f64::INFINITY, 5e-324), "on {device}");
        assert!(norms[4].is_nan());
        // NaN does not count as an extreme.
        for (reduction, expected) in [(Reduction::Min, 1.0), (Reduction::Max, 1.0), (Reduction::AbsMax, 1.0)]
        {
            assert_eq!(
                a.reduce_rows(reduction).unwrap().get(4).unwrap(),
                expected,
                "{reduction} on {device}"
            );
        }
    }
}

/// Rows that lie in one tile, end with one, and are cut by several.
fn check_cut_norms<V: Value, O: Offset>(device: &Device, exponents: [i32; 3]) {
    let tile = tile_len::<RowNorms<V, O>>();
    let lengths = [3 * tile + 5, 0, 1, tile - 9, 0, 0, tile, 2, 5 * tile, 0, 7];
    let number = |at: usize| ((at * 7 + 3) % 11) as f64 - 5.0;
    let mut offsets = vec![0];
    offsets.extend(lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    }));
    let nnz = offsets[lengths.len()];
    // Sums of squares of small integers times a power of two are exact at any of the scales.
    for scale in exponents.map(|exponent| 2.0_f64.powi(exponent)) {
        let values: Vec<V> = (0..nnz).map(|at| V::from_f64(scale * number(at))).collect();
        let row_offsets = offsets.iter().map(|&offset| O::try_from_usize(offset).unwrap()).collect();
        let columns = (0..nnz as u32).map(|at| at % 13).collect();
        let a = Csr::try_new(lengths.len(), 13, row_offsets, columns, values).unwrap();
        let norms = device.upload(&a).unwrap().reduce_rows(Reduction::Norm2).unwrap().download().unwrap();
        for (row, norm) in norms.into_iter().enumerate() {
            let squares: f64 = (offsets[row]..offsets[row + 1]).map(|at| number(at) * number(at)).sum();
            assert_eq!(
                norm,
                V::from_f64(scale * V::from_f64(squares.sqrt()).to_f64()),
                "row {row} on {device}"
            );
        }
    }
}

#[test]
fn norms_of_rows_in_several_tiles() {
    // On the CPU values are divided by the greatest, which rounds.
    for DeviceUnderTest { device, .. } in kernel_devices() {
        check_cut_norms::<f64, u32>(&device, [0, 900, -900]);
        check_cut_norms::<f32, u64>(&device, [0, 100, -100]);
    }
}

fn check_diagonal<V: Value, O: Offset>(device: &Device) {
    for host in matrices::<V, O>() {
        let mut expected = vec![V::ZERO; host.nrows().min(host.ncols())];
        host.iter()
            .filter(|(row, column, _)| row == column)
            .for_each(|(row, _, value)| expected[row] += value);
        assert_eq!(host.diagonal(), expected);
        let diagonal = device.upload(&host).unwrap().diagonal().unwrap();
        assert_eq!(diagonal.download().unwrap(), expected, "{host:?} on {device}");
    }
}

#[test]
fn diagonals() {
    for DeviceUnderTest { device, .. } in devices() {
        check_diagonal::<f64, u32>(&device);
        check_diagonal::<f32, u64>(&device);
        for n in [0, 1, 700] {
            let numbers: Vec<f64> = (0..n).map(|at| at as f64).collect();
            let a = DeviceCsr::from_diagonal(&device.upload(&numbers).unwrap()).unwrap();
            let host = Csr::from_triplets(n, n, (0..n).map(|at| (at, at, at as f64))).unwrap();
            assert_eq!(a.download().unwrap(), host);
            assert_eq!(Csr::from_diagonal(&numbers).unwrap(), host);
            assert_eq!(a.diagonal().unwrap().download().unwrap(), numbers);
            let ones = Csr::from_triplets(n, n, (0..n).map(|at| (at, at, 1.0))).unwrap();
            let identity = DeviceCsr::<f64>::identity(&device, n).unwrap();
            assert_eq!(identity.download().unwrap(), ones);
            assert_eq!(Csr::identity(n).unwrap(), ones);
            // It is known to be canonical.
            assert_eq!(identity.spadd(1.0, &a, 1.0).unwrap().nnz(), n);
        }
        assert!(DeviceCsr::<f64>::identity(&device, usize::MAX).is_err());
    }
    assert!(Csr::<f64>::identity(usize::MAX).is_err());
}

/// Positions of the entries that a filter keeps, in another way than the library's.
fn kept<V: Value, O: Offset>(matrix: &Csr<V, O>, filter: Filter<V>) -> Vec<bool> {
    let entries: Vec<(usize, usize, V)> = matrix.iter().collect();
    let is_kept = |at: usize| {
        let (row, column, value) = entries[at];
        let diagonal = column as i64 - row as i64;
        match filter {
            Filter::AbsAbove(limit) => value.abs() > limit || value.to_f64().is_nan(),
            Filter::Lower(k) => diagonal <= k,
            Filter::Upper(k) => diagonal >= k,
            Filter::Band { lower, upper } => diagonal >= lower && diagonal <= upper,
            Filter::Nonzero => value != V::ZERO,
            Filter::LargestOfRow(count) => {
                let larger = |other: usize| {
                    let (own, other_value) = (value.abs(), entries[other].2.abs());
                    other_value > own || other_value == own && other < at
                };
                (0..entries.len()).filter(|&other| entries[other].0 == row && larger(other)).count() < count
            }
        }
    };
    (0..entries.len()).map(is_kept).collect()
}

fn check_filters<V: Value, O: Offset>(device: &Device) {
    let filters = [
        Filter::AbsAbove(V::from_f64(1.0)),
        Filter::Lower(0),
        Filter::Lower(-3),
        Filter::Upper(1),
        Filter::Upper(i64::MAX),
        Filter::Band { lower: -2, upper: 40 },
        Filter::Band { lower: i64::MIN, upper: i64::MAX },
        Filter::Band { lower: 1, upper: -1 },
        Filter::Nonzero,
        Filter::LargestOfRow(0),
        Filter::LargestOfRow(3),
        Filter::LargestOfRow(usize::MAX),
    ];
    for host in matrices::<V, O>() {
        let a = device.upload(&host).unwrap();
        for filter in filters {
            if matches!(filter, Filter::LargestOfRow(_)) && host.nnz() > 2000 {
                continue;
            }
            let kept = kept(&host, filter);
            let mut offsets = vec![O::ZERO];
            let (mut columns, mut values) = (vec![], vec![]);
            for row in 0..host.nrows() {
                let range = host.row_offsets()[row].to_usize()..host.row_offsets()[row + 1].to_usize();
                for (at, is_kept) in range.clone().zip(&kept[range]) {
                    if *is_kept {
                        columns.push(host.column_indices()[at]);
                        values.push(host.values()[at]);
                    }
                }
                offsets.push(O::try_from_usize(columns.len()).unwrap());
            }
            let expected = Csr::try_new(host.nrows(), host.ncols(), offsets, columns, values).unwrap();
            assert_eq!(
                a.filter(filter).unwrap().download().unwrap(),
                expected,
                "{filter:?} of {host:?} on {device}"
            );
            match filter {
                Filter::Lower(k) => {
                    assert_eq!(a.tril(k).unwrap().download().unwrap(), expected);
                    assert_eq!(host.tril(k), expected);
                }
                Filter::Upper(k) => {
                    assert_eq!(a.triu(k).unwrap().download().unwrap(), expected);
                    assert_eq!(host.triu(k), expected);
                }
                Filter::Nonzero => assert_eq!(host.filter(|_, _, value| value != V::ZERO), expected),
                _ => (),
            }
        }
    }
}

#[test]
fn filtered_entries_keep_their_order() {
    for DeviceUnderTest { device, .. } in devices() {
        check_filters::<f64, u32>(&device);
        check_filters::<f32, u64>(&device);
    }
}

/// NaN is neither small, nor zero, nor less than other values.
#[test]
fn filters_keep_nan() {
    for DeviceUnderTest { device, .. } in devices() {
        let host =
            Csr::from_triplets(1, 4, [(0, 0, 1.0), (0, 1, -f64::NAN), (0, 2, -0.0), (0, 3, f64::INFINITY)]);
        let a = device.upload(&host.unwrap()).unwrap();
        let columns = |filter| a.filter(filter).unwrap().download().unwrap().column_indices().to_vec();
        assert_eq!(columns(Filter::AbsAbove(1.0)), [1, 3], "on {device}");
        assert_eq!(columns(Filter::Nonzero), [0, 1, 3], "on {device}");
        assert_eq!(columns(Filter::LargestOfRow(1)), [1], "on {device}");
        assert_eq!(columns(Filter::LargestOfRow(2)), [1, 3], "on {device}");
        let later = a.tril(0).unwrap();
        a.scale(2.0).unwrap();
        assert_eq!(later.values().download().unwrap(), [1.0], "a copy of its own");
    }
}
