//! L ∘ (LL) for the entries L below the diagonal of a graph's matrix: the products at the entries of L alone, beside the whole
//! product.

use std::collections::BTreeMap;

use evenpath::Csr;
use evenpath::spgemm::SpgemmOptions;
use rayon::prelude::*;

use super::bench::{Bench, Measured, contender};
use super::edges::undirected;
use super::spgemm::{Check, products};
use crate::measure::single_times_ms;
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Approximate limit on the products that a check computes: for larger results it samples rows.
const CHECKED: u64 = 1 << 26;

/// Measures both products. The peers have the whole one only.
///
/// # Errors
///
/// If the matrix is not square, there are more products than the bench allows, there is not enough device memory, or the device was
/// lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>) -> Measured {
    let Bench { device, repetitions, .. } = *bench;
    let host = undirected(matrix)?.tril(-1);
    let products = products(&host, &host);
    if products > bench.most_products {
        return Err(format!("{products} products are more than {}", bench.most_products).into());
    }
    let whole_check = Check::new(&host, &host);
    let check_whole =
        |offsets: &[u32], columns: &[u32], values: &[V]| whole_check.check(offsets, columns, values);
    let mut peers = Vec::new();
    bench.peers.spgemm(&host, &host, repetitions, |run| {
        peers.push(contender(run, |c| check_whole(&c.row_offsets, &c.column_indices, &c.values)));
    });
    let l = device.upload(&host)?;
    let options = SpgemmOptions::default();
    let masked = || l.spgemm_masked(&l, &l, options);
    let checked = check(&host, &masked()?.download()?);
    let times = single_times_ms(device, repetitions, || masked().map(drop))?;
    let mut ours = vec![Contender::ran(OWN_NAME, "masked", &times, checked)];
    let whole = || l.spgemm(&l, options);
    ours.push(match whole() {
        Err(error) => Contender::refused(OWN_NAME, "whole", &error),
        Ok(c) => {
            let c = c.download()?;
            let checked = check_whole(c.row_offsets(), c.column_indices(), c.values());
            let times = single_times_ms(device, repetitions, || whole().map(drop))?;
            Contender::ran(OWN_NAME, "whole", &times, checked)
        }
    });
    let mut more = BTreeMap::from([("nonzeros of L".to_owned(), host.nnz() as f64)]);
    if let [Some(masked), Some(whole)] = [&ours[0], &ours[1]].map(Contender::right_ms) {
        more.insert("whole over masked".to_owned(), whole / masked);
    }
    let entry = (size_of::<V>() + size_of::<u32>()) as u64;
    let bytes = host.nnz() as u64 * (entry + size_of::<V>() as u64) + 4 * (host.nrows() as u64 + 1);
    Ok(Figures::new((products, 2 * products, bytes), ours, peers, more))
}

/// Checks that `found` has the pattern of `l`, and the sums of products there, within (n + 2)·ε·Σ|a||b| for n products.
fn check<V: PeerValue>(l: &Csr<V>, found: &Csr<V>) -> Result<(), String> {
    if found.shape() != l.shape()
        || found.row_offsets() != l.row_offsets()
        || found.column_indices() != l.column_indices()
    {
        return Err("the pattern is not that of the mask".into());
    }
    let step = products(l, l).div_ceil(CHECKED).max(1) as usize;
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let entries = |row: usize| l.row(row).into_iter().flat_map(|row| row.iter());
    let check_row = |sums: &mut Vec<(f64, f64, u64)>, row: usize| {
        let terms = |row: usize| {
            let products = move |(k, a): (u32, V)| entries(k as usize).map(move |(column, b)| (column, a, b));
            entries(row).flat_map(products)
        };
        for (column, a, b) in terms(row) {
            let (sum, magnitude, count) = &mut sums[column as usize];
            let product = a.to_f64() * b.to_f64();
            (*sum, *magnitude, *count) = (*sum + product, *magnitude + product.abs(), *count + 1);
        }
        let wrong = found.row(row).into_iter().flat_map(|row| row.iter()).find(|&(column, value)| {
            let (sum, magnitude, count) = sums[column as usize];
            let bound = (count + 2) as f64 * epsilon * magnitude;
            // Not `>`, because NaN must fail.
            let is_close = (value.to_f64() - sum).abs() <= bound;
            !is_close
        });
        let expected = wrong.map(|(column, _)| sums[column as usize].0);
        for (column, _, _) in terms(row) {
            sums[column as usize] = (0.0, 0.0, 0);
        }
        match wrong.zip(expected) {
            None => Ok(()),
            Some(((column, value), sum)) => Err(format!("C[{row}][{column}] is {value}, not {sum}")),
        }
    };
    let sums = || vec![(0.0, 0.0, 0); l.ncols()];
    let rows = (0..l.nrows().div_ceil(step)).into_par_iter().map(|index| index * step);
    rows.map_init(sums, check_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_finds_errors() {
        let entries = [(1, 0, 2.0), (2, 0, 1.0), (2, 1, 3.0), (3, 1, 1.0), (3, 2, -1.0)];
        let l: Csr<f64> = Csr::from_triplets(4, 4, entries).unwrap();
        let with = |values: [f64; 5]| {
            let mut found = l.clone();
            found.values_mut().copy_from_slice(&values);
            check(&l, &found)
        };
        assert_eq!(with([0.0, 6.0, 0.0, -3.0, 0.0]), Ok(()));
        for at in 0..5 {
            for error in [1e-12, f64::NAN] {
                let mut values = [0.0, 6.0, 0.0, -3.0, 0.0];
                values[at] += error;
                assert!(with(values).is_err(), "{at} {error}");
            }
        }
        assert!(check(&l, &l.transpose().unwrap()).is_err());
    }
}
