//! The places of columns in a row.

/// The content of a free slot: no column has this index.
const FREE: u32 = u32::MAX;

/// A hash table of the columns of a row, by open addressing.
#[derive(Debug, Default)]
pub(super) struct ColumnTable {
    /// Columns and their places; at least three of four slots are free.
    slots: Vec<(u32, u32)>,
    shift: u32,
}

impl ColumnTable {
    /// Replaces the columns, at least one, by distinct others, below 2³² − 1.
    pub(super) fn set(&mut self, columns: &[u32]) {
        let len = (4 * columns.len()).next_power_of_two();
        self.slots.clear();
        self.slots.resize(len, (FREE, 0));
        self.shift = u64::BITS - len.ilog2();
        for (place, &column) in columns.iter().enumerate() {
            let mut slot = self.home(column);
            while self.slots[slot].0 != FREE {
                slot = (slot + 1) & (len - 1);
            }
            self.slots[slot] = (column, place as u32);
        }
    }

    /// Returns the place of a column, if it is there.
    #[inline]
    pub(super) fn place(&self, column: u32) -> Option<usize> {
        let mut slot = self.home(column);
        loop {
            let (found, place) = self.slots[slot];
            if found == column {
                return Some(place as usize);
            }
            if found == FREE {
                return None;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The first slot to try: the upper bits of the product with 2⁶⁴ over the golden ratio.
    #[inline]
    fn home(&self, column: u32) -> usize {
        (u64::from(column).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_place() {
        let mut table = ColumnTable::default();
        for columns in [vec![7], (0..1000).map(|at| at * at).collect::<Vec<u32>>(), vec![0, u32::MAX - 1]] {
            table.set(&columns);
            for (place, &column) in columns.iter().enumerate() {
                assert_eq!(table.place(column), Some(place));
            }
            assert!(
                (0..5000)
                    .filter(|column| !columns.contains(column))
                    .all(|column| table.place(column).is_none())
            );
        }
    }
}
