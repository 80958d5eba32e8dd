//! Products with rows of dense leaves, by a warp: no coordinates are read, and what belongs to one element of y is added up
//! before it is added to it.
//!
//! A lane has four neighbouring columns. So a warp has a row of 128, half of one of 256, or several shorter ones at once.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, warp};

use super::spmv::AddProducts;
use super::DenseRows;
use crate::spmv::AtomicFloat;

/// Steps whose slots are on their way at once.
const BATCH: usize = 2;

/// The columns of a lane.
#[derive(Clone, Copy)]
struct Columns {
    /// The first.
    first: u32,
    /// Its slot in the first of the lane's rows.
    slot: u32,
    /// From there to the next of the lane's rows.
    stride: u32,
    /// Neighbouring lanes that have columns of one row.
    lanes: u32,
}

/// Calls `visit` with the lane's columns: twice where a row is two times as wide as a warp.
#[inline(always)]
fn for_each_columns<V: AtomicFloat>(rows: DenseRows<V>, visit: impl Fn(Columns)) {
    let (width, d) = (DenseRows::<V>::WIDTH, 1 << rows.d_log2);
    let mut offset = 0;
    while offset < d {
        let slot = rows.begin + offset + 4 * thread::lane();
        visit(Columns { first: slot & (d - 1), slot, stride: width.max(d), lanes: width.min(d) / 4 });
        offset += width;
    }
}

/// Adds products with the rows to y, row by row.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn add_rows<V: AtomicFloat>(operation: AddProducts<V>, row: u32, col: u32, rows: DenseRows<V>) {
    for_each_columns(rows, |columns| {
        let mut x = [V::ZERO; 4];
        for k in 0..4 {
            let at = u64::from(col + columns.first) + k as u64;
            // Columns behind the matrix have no entries.
            x[k] = operation.x.load_if(at as usize, at < operation.x.len());
        }
        let mut at = columns.slot;
        while at < rows.end {
            let mut slots = [[V::ZERO; 4]; BATCH];
            for step in 0..BATCH {
                slots[step] = rows.four(at + step as u32 * columns.stride);
            }
            for step in 0..BATCH {
                let (mut sum, mut has_entry) = (V::ZERO, false);
                for k in 0..4 {
                    if slots[step][k].to_bits() != 0 {
                        sum += slots[step][k] * x[k];
                        has_entry = true;
                    }
                }
                let mut distance = columns.lanes / 2;
                while distance > 0 {
                    sum += warp::shuffle_xor(warp::FULL, sum, distance);
                    distance /= 2;
                }
                let first_lane = thread::lane() & !(columns.lanes - 1);
                let of_row = u32::MAX >> (thread::WARP_SIZE - columns.lanes) << first_lane;
                let has_row = warp::ballot(warp::FULL, has_entry) & of_row != 0;
                if has_row && thread::lane() == first_lane {
                    operation.add(row, (at + step as u32 * columns.stride) >> rows.d_log2, sum);
                }
            }
            at += BATCH as u32 * columns.stride;
        }
    });
}

/// Adds products with the transposed rows to y: each lane adds its columns up, then those that have the same.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn add_columns<V: AtomicFloat>(operation: AddProducts<V>, row: u32, col: u32, rows: DenseRows<V>) {
    for_each_columns(rows, |columns| {
        let mut sums = [V::ZERO; 4];
        // A bit a column that has an entry.
        let mut present = 0_u32;
        let mut at = columns.slot;
        while at < rows.end {
            let mut slots = [[V::ZERO; 4]; BATCH];
            let mut x = [V::ZERO; BATCH];
            for step in 0..BATCH {
                let slot = at + step as u32 * columns.stride;
                let x_at = u64::from(row + (slot >> rows.d_log2));
                slots[step] = rows.four(slot);
                // Rows behind the matrix have no entries.
                x[step] = operation.x.load_if(x_at as usize, x_at < operation.x.len());
            }
            for step in 0..BATCH {
                for k in 0..4 {
                    if slots[step][k].to_bits() != 0 {
                        sums[k] += slots[step][k] * x[step];
                        present |= 1 << k;
                    }
                }
            }
            at += BATCH as u32 * columns.stride;
        }
        let mut distance = thread::WARP_SIZE / 2;
        while distance >= columns.lanes {
            for k in 0..4 {
                sums[k] += warp::shuffle_xor(warp::FULL, sums[k], distance);
            }
            present |= warp::shuffle_xor(warp::FULL, present, distance);
            distance /= 2;
        }
        if thread::lane() < columns.lanes {
            for k in 0..4 {
                if present >> k & 1 != 0 {
                    operation.add(col, columns.first + k as u32, sums[k]);
                }
            }
        }
    });
}
