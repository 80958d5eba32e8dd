//! Products with rows of dense leaves, by a warp: no coordinates are read, and products are summed within the warp before they
//! are added to y.
//!
//! A lane takes four neighboring columns. So a warp takes a row of 128 columns, half of one of 256, or several shorter ones.

use evenpath_simt::{device, thread, warp};

use super::add_products::AddProducts;
use super::tree::DenseRows;
use crate::spmv::AtomicFloat;

/// Steps whose slots are in flight.
const BATCH: usize = 2;

/// The columns of a lane.
#[derive(Clone, Copy)]
struct LeafColumns {
    /// The first column.
    first: u32,
    /// The slot of the first column in the first of the lane's rows.
    slot: u32,
    /// Slots from one of the lane's rows to the next.
    stride: u32,
    /// The number of neighboring lanes that take columns of one row.
    lanes: u32,
}

/// Calls `visit` with the lane's columns: twice if a row is twice as wide as a warp.
#[device]
fn for_each_columns<V: AtomicFloat>(rows: DenseRows<V>, visit: impl Fn(LeafColumns)) {
    let (width, d) = (DenseRows::<V>::WIDTH, 1 << rows.d_log2);
    let mut offset = 0;
    while offset < d {
        let slot = rows.begin + offset + 4 * thread::lane();
        visit(LeafColumns { first: slot & (d - 1), slot, stride: width.max(d), lanes: width.min(d) / 4 });
        offset += width;
    }
}

/// Returns a bit for each of the lane's columns that has an entry.
#[device]
fn present_columns<V: AtomicFloat, const N: usize>(slots: [[V; 4]; N]) -> u32 {
    let mut present = 0;
    for step in 0..N {
        for k in 0..4 {
            present |= u32::from(slots[step][k].to_bits() != 0) << k;
        }
    }
    present
}

/// Adds products with the rows to y, row by row.
#[device(track_caller)]
pub(super) fn add_rows<V: AtomicFloat>(operation: AddProducts<V>, row: u32, col: u32, rows: DenseRows<V>) {
    for_each_columns(rows, |columns| {
        // An element of x is loaded at the first entry of its column: columns beyond the matrix have no entries.
        let (mut x, mut loaded) = ([V::ZERO; 4], 0);
        let mut at = columns.slot;
        while at < rows.end {
            let mut slots = [[V::ZERO; 4]; BATCH];
            for step in 0..BATCH {
                slots[step] = rows.four(at + step as u32 * columns.stride);
            }
            let present = present_columns(slots);
            for k in 0..4 {
                let is_new = (present & !loaded) >> k & 1 != 0;
                let element = operation.x.load_if((col + columns.first) as usize + k, is_new);
                x[k] = if is_new { element } else { x[k] };
            }
            loaded |= present;
            for step in 0..BATCH {
                let (mut sum, mut has_entry) = (V::ZERO, false);
                for k in 0..4 {
                    if slots[step][k].to_bits() != 0 {
                        sum += slots[step][k] * x[k];
                        has_entry = true;
                    }
                }
                let sum = warp::reduce_groups(sum, columns.lanes, |a, b| a + b);
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

/// Adds products with the transposed rows to y: each lane sums its columns, then lanes with the same columns are combined.
#[device(track_caller)]
pub(super) fn add_columns<V: AtomicFloat>(operation: AddProducts<V>, row: u32, col: u32, rows: DenseRows<V>) {
    for_each_columns(rows, |columns| {
        let mut sums = [V::ZERO; 4];
        // A bit per column that has an entry.
        let mut present = 0_u32;
        let mut at = columns.slot;
        while at < rows.end {
            let mut slots = [[V::ZERO; 4]; BATCH];
            let mut x = [V::ZERO; BATCH];
            for step in 0..BATCH {
                slots[step] = rows.four(at + step as u32 * columns.stride);
            }
            for step in 0..BATCH {
                let of_row = row + ((at + step as u32 * columns.stride) >> rows.d_log2);
                let has_entry = present_columns([slots[step]; 1]) != 0;
                x[step] = operation.x.load_if(of_row as usize, has_entry);
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
        for k in 0..4 {
            sums[k] = warp::reduce_across(sums[k], columns.lanes, |a, b| a + b);
        }
        let present = warp::reduce_across(present, columns.lanes, |a, b| a | b);
        if thread::lane() < columns.lanes {
            for k in 0..4 {
                if present >> k & 1 != 0 {
                    operation.add(col, columns.first + k as u32, sums[k]);
                }
            }
        }
    });
}
