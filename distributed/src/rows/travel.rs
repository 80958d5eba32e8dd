//! Communication of rows and entries.

use std::ops::Range;

use evenpath::Value;

use super::block::RowBlock;
use crate::error::{Cause, Error, Operation, Result};
use crate::memory::{collected, filled, zeros};
use crate::{Rank, RowPartition};

/// Encodes rows as a message: their lengths, then columns, then values.
fn encode<V: Value>(block: &RowBlock<V>, rows: impl Iterator<Item = usize> + Clone) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows.clone() {
        bytes.extend_from_slice(&(block.row(row).0.len() as u64).to_ne_bytes());
    }
    for row in rows.clone() {
        bytes.extend_from_slice(bytemuck::cast_slice(block.row(row).0));
    }
    for row in rows {
        bytes.extend_from_slice(bytemuck::cast_slice(block.row(row).1));
    }
    bytes
}

/// Decodes a message of `rows` rows; the error is the number of bytes that it should have.
fn decode<V: Value>(bytes: &[u8], rows: usize) -> Result<RowBlock<V>, usize> {
    let lengths_end = rows * size_of::<u64>();
    let Some((lengths, rest)) = bytes.split_at_checked(lengths_end) else { return Err(lengths_end) };
    let lengths: Vec<u64> = bytemuck::pod_collect_to_vec(lengths);
    let mut row_offsets = vec![0_usize];
    for &length in &lengths {
        row_offsets.push(row_offsets[row_offsets.len() - 1].saturating_add(length as usize));
    }
    let nnz = row_offsets[rows];
    let columns_end = nnz.saturating_mul(size_of::<u64>());
    let expected = columns_end.saturating_add(nnz.saturating_mul(size_of::<V>()));
    if rest.len() != expected {
        return Err(lengths_end.saturating_add(expected));
    }
    let (columns, values) = rest.split_at(columns_end);
    let (columns, values) = (bytemuck::pod_collect_to_vec(columns), bytemuck::pod_collect_to_vec(values));
    Ok(RowBlock { row_offsets, columns, values })
}

/// Sends each rank its message, and returns the decoded rows received, in the order of the ranks.
fn exchange<V: Value>(
    rank: &Rank,
    messages: Vec<Vec<u8>>,
    expected_rows: impl Fn(usize) -> usize,
) -> Result<Vec<RowBlock<V>>> {
    let exchange = rank.begin(Operation::AllToAll);
    for to in rank.others() {
        rank.send(exchange, to, &messages[to])?;
    }
    let mut blocks = Vec::new();
    for (from, own) in messages.into_iter().enumerate() {
        let bytes = if from == rank.index() { own } else { rank.receive(exchange, from)? };
        match decode(&bytes, expected_rows(from)) {
            Ok(block) => blocks.push(block),
            Err(expected) => {
                rank.check_message(exchange, from, (bytes.len(), expected))?;
            }
        }
    }
    Ok(blocks)
}

/// Intersection of two ranges of rows.
fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// Moves rows from one partition to another, and returns this rank's. A collective operation.
pub(crate) fn redistribute<V: Value>(
    rank: &Rank,
    block: &RowBlock<V>,
    from: &RowPartition,
    to: &RowPartition,
) -> Result<RowBlock<V>> {
    let (old, new) = (from.range(rank.index()), to.range(rank.index()));
    let message = |other: usize| {
        let rows = common(&old, &to.range(other));
        encode(block, (rows.start - old.start) as usize..(rows.end - old.start) as usize)
    };
    let messages = (0..rank.size()).map(message).collect();
    let count = |other: usize| {
        let rows = common(&new, &from.range(other));
        (rows.end - rows.start) as usize
    };
    let mut result = RowBlock::empty();
    for part in exchange(rank, messages, count)? {
        result.append(&part);
    }
    Ok(result)
}

/// Fetches the rows of the given ascending numbers from any ranks, in order. A collective operation.
pub(crate) fn fetch<V: Value>(
    rank: &Rank,
    block: &RowBlock<V>,
    partition: &RowPartition,
    numbers: &[u64],
) -> Result<RowBlock<V>> {
    let requests = by_owner(partition, numbers);
    let requested = rank.all_to_all(&requests)?;
    let own = check_owned(rank, partition, requested.iter().map(Vec::as_slice))?;
    let message = |rows: &Vec<u64>| encode(block, rows.iter().map(|&row| (row - own.start) as usize));
    let messages = requested.iter().map(message).collect();
    let mut result = RowBlock::empty();
    for part in exchange(rank, messages, |from| requests[from].len())? {
        result.append(&part);
    }
    Ok(result)
}

/// Returns this rank's rows. Ends the work of all ranks if one sent numbers outside them; `numbers` are those
/// received from each.
pub(crate) fn check_owned<'a>(
    rank: &Rank,
    partition: &RowPartition,
    numbers: impl Iterator<Item = &'a [u64]>,
) -> Result<Range<u64>> {
    let own = partition.range(rank.index());
    check_in_range(rank, &own, numbers)?;
    Ok(own)
}

/// Ends the work of all ranks if one sent numbers outside a range of this rank; `numbers` are those received
/// from each.
fn check_in_range<'a>(rank: &Rank, own: &Range<u64>, numbers: impl Iterator<Item = &'a [u64]>) -> Result<()> {
    for (from, numbers) in numbers.enumerate() {
        if let Some(number) = numbers.iter().find(|&number| !own.contains(number)) {
            let (index, Range { start, end }) = (rank.index(), own);
            let reason =
                format!("row or column {number} is outside {start}..{end}, the range of rank {index}");
            return Err(rank.fail(from, Cause::Protocol(reason)));
        }
    }
    Ok(())
}

/// Groups ascending row numbers by the rank that owns them.
pub(crate) fn by_owner(partition: &RowPartition, numbers: &[u64]) -> Vec<Vec<u64>> {
    let mut rest = numbers;
    let owners = (0..partition.ranks()).map(|owner| {
        let (own, others) = rest.split_at(rest.partition_point(|&row| row < partition.range(owner).end));
        rest = others;
        own.to_vec()
    });
    owners.collect()
}

/// Builds this rank's rows from entries that any rank has: row, column and value. Entries of a row are in the
/// order of the ranks, and in each rank's order. A collective operation.
pub(crate) fn assemble<V: Value>(
    rank: &Rank,
    partition: &RowPartition,
    entries: impl IntoIterator<Item = (u64, u64, V)>,
) -> Result<RowBlock<V>> {
    let mut parts: Vec<TripletArrays<V>> = filled(&TripletArrays::default(), rank.size())?;
    for (row, column, value) in entries {
        if row >= partition.nrows() {
            return Err(Error::RowOutOfRange { row, first: 0, end: partition.nrows() });
        }
        parts[partition.owner(row)].push(row, column, value);
    }
    receive_rows(rank, parts, partition.range(rank.index()))
}

/// Sends each rank its entries, and builds this rank's rows from those received. Entries of a row are in the
/// order of the ranks, and in each rank's order. A collective operation.
pub(crate) fn receive_rows<V: Value>(
    rank: &Rank,
    parts: Vec<TripletArrays<V>>,
    own: Range<u64>,
) -> Result<RowBlock<V>> {
    let parts = exchange_entries(rank, parts)?;
    check_in_range(rank, &own, parts.iter().map(|part| &*part.rows))?;
    let rows = (own.end - own.start) as usize;
    let mut row_offsets: Vec<usize> = zeros(rows.saturating_add(1))?;
    for &row in parts.iter().flat_map(|part| &part.rows) {
        row_offsets[(row - own.start) as usize + 1] += 1;
    }
    for row in 0..rows {
        row_offsets[row + 1] += row_offsets[row];
    }
    let mut next = collected(row_offsets.iter().copied())?;
    let (mut columns, mut values) = (zeros(row_offsets[rows])?, zeros(row_offsets[rows])?);
    for part in parts {
        for (row, column, value) in part.iter() {
            let at = &mut next[(row - own.start) as usize];
            (columns[*at], values[*at]) = (column, value);
            *at += 1;
        }
    }
    Ok(RowBlock { row_offsets, columns, values })
}

/// Entries with global row and column numbers.
#[derive(Clone)]
pub(crate) struct TripletArrays<V> {
    pub(crate) rows: Vec<u64>,
    pub(crate) columns: Vec<u64>,
    pub(crate) values: Vec<V>,
}

impl<V> Default for TripletArrays<V> {
    fn default() -> Self {
        Self { rows: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }
}

impl<V: Value> TripletArrays<V> {
    /// Appends an entry.
    pub(crate) fn push(&mut self, row: u64, column: u64, value: V) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    /// Row, column and value of each entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64, V)> {
        let places = self.rows.iter().zip(&self.columns);
        places.zip(&self.values).map(|((&row, &column), &value)| (row, column, value))
    }
}

/// Sends each rank its entries, and returns those received, by rank. A collective operation.
pub(crate) fn exchange_entries<V: Value>(
    rank: &Rank,
    parts: Vec<TripletArrays<V>>,
) -> Result<Vec<TripletArrays<V>>> {
    let exchange = rank.begin(Operation::AllToAll);
    for to in rank.others() {
        let TripletArrays { rows, columns, values } = &parts[to];
        let bytes: [&[u8]; 3] =
            [bytemuck::cast_slice(rows), bytemuck::cast_slice(columns), bytemuck::cast_slice(values)];
        rank.send(exchange, to, &bytes.concat())?;
    }
    let mut all = Vec::new();
    for (from, own) in parts.into_iter().enumerate() {
        if from == rank.index() {
            all.push(own);
            continue;
        }
        let bytes: Vec<u8> = rank.receive(exchange, from)?;
        let count = bytes.len() / (2 * size_of::<u64>() + size_of::<V>());
        rank.check_message(exchange, from, (bytes.len(), count * (2 * size_of::<u64>() + size_of::<V>())))?;
        let (rows, rest) = bytes.split_at(count * size_of::<u64>());
        let (columns, values) = rest.split_at(count * size_of::<u64>());
        all.push(TripletArrays {
            rows: bytemuck::pod_collect_to_vec(rows),
            columns: bytemuck::pod_collect_to_vec(columns),
            values: bytemuck::pod_collect_to_vec(values),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_wrong_length_are_refused() {
        let block = RowBlock::new(vec![0, 1, 1, 3], vec![5, 6, 1 << 40], vec![1.5_f32, 2.5, 3.5]).unwrap();
        let bytes = encode(&block, 0..3);
        assert_eq!(decode::<f32>(&bytes, 3), Ok(block.clone()));
        assert_eq!(decode::<f32>(&bytes[..bytes.len() - 1], 3), Err(bytes.len()));
        assert_eq!(decode::<f32>(&bytes[..5], 3), Err(24));
        assert_eq!(decode::<f32>(&[&bytes[..], &[0]].concat(), 3), Err(bytes.len()), "longer than expected");
        assert!(decode::<f64>(&bytes, 3).is_err());
        assert!(decode::<f32>(&[255; 32], 3).is_err());
        assert_eq!(decode::<f32>(&encode(&block, [2].into_iter()), 1).unwrap().row(0), block.row(2));
    }

    #[test]
    fn ranges_have_rows_in_common() {
        assert_eq!(common(&(2..5), &(4..9)), 4..5);
        assert!(common(&(2..5), &(7..9)).is_empty() && common(&(7..9), &(2..5)).is_empty());
    }
}
