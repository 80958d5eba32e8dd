//! Sums of COO matrices.

use evenpath_kernels::spadd::CoordinateKeys;
use evenpath_kernels::spadd::coordinates::{DESCENT, DUPLICATE};

use super::method::SpaddMethod;
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::format::DeviceCoo;
use crate::format::coordinates::split_keys;
use crate::operand::check::check_shape;
use crate::operand::{OpError, Pairs};
use crate::operation::{Operator, SetOperation};
use crate::sequence::sets::Combine;
use crate::sequence::sort::{SortOptions, index_bits};
use crate::sequence::{reduce, sets, sort};
use crate::{Value, cpu};

impl<V: Value> DeviceCoo<V> {
    /// Computes C = `alpha`·A + `beta`·B. A, B and C are m × n; C is a new COO matrix, sorted by row and column, with one entry
    /// wherever A or B has one or more. Values of a matrix whose factor is zero are ignored, including NaN.
    ///
    /// The method is [`SpaddMethod::Auto`]; [`spadd_with`](Self::spadd_with) takes another. Waits for the device, to learn the size
    /// of C.
    ///
    /// ```
    /// use evenpath::{Coo, Device};
    ///
    /// let device = Device::cpu();
    /// let a: Coo<f64> = Coo::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
    /// let b: Coo<f64> = Coo::from_triplets(2, 2, [(0, 0, 5.0), (0, 1, 1.0)])?;
    /// let c = device.upload(&a)?.spadd(1.0, &device.upload(&b)?, 1.0)?;
    /// assert_eq!(c.to_csr()?.download()?.to_dense()?, [5.0, 3.0, 0.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes or devices differ, there are more entries than a launch can handle, there is not enough memory, or the
    /// device was lost.
    pub fn spadd(&self, alpha: V, b: &Self, beta: V) -> Result<Self, OpError> {
        self.spadd_with(alpha, b, beta, SpaddMethod::Auto)
    }

    /// Computes a sum like [`spadd`](Self::spadd), by the given method.
    ///
    /// # Errors
    ///
    /// If the method does not take the order of the columns of a row ([`OpError::NotCanonical`]); otherwise the same as for
    /// [`spadd`](Self::spadd).
    pub fn spadd_with(&self, alpha: V, b: &Self, beta: V, method: SpaddMethod) -> Result<Self, OpError> {
        check_shape("B", b.shape(), self.shape())?;
        self.device().check_same(b.device())?;
        self.device().refuse_in_graph("a sum of matrices waits for the size of its result")?;
        let terms = ((alpha, self), (beta, b));
        match method {
            SpaddMethod::Auto => match by_merge_path(terms) {
                Err(OpError::NotCanonical { .. }) => by_global_sort(terms),
                sum => sum,
            },
            SpaddMethod::MergePath => by_merge_path(terms),
            SpaddMethod::BalancedPath => by_balanced_path(terms),
            SpaddMethod::GlobalSort => by_global_sort(terms),
        }
    }
}

/// A factor and its matrix.
type Term<'m, V> = (V, &'m DeviceCoo<V>);

fn by_merge_path<V: Value>(
    ((alpha, a), (beta, b)): (Term<'_, V>, Term<'_, V>),
) -> Result<DeviceCoo<V>, OpError> {
    if u32::try_from(a.nnz() + b.nnz()).is_ok() {
        a.to_csr()?.spadd(alpha, &b.to_csr()?, beta)?.to_coo()
    } else {
        a.to_csr_with_offsets::<u64>()?.spadd(alpha, &b.to_csr_with_offsets()?, beta)?.to_coo()
    }
}

fn by_balanced_path<V: Value>((a, b): (Term<'_, V>, Term<'_, V>)) -> Result<DeviceCoo<V>, OpError> {
    let (a_entries, a_repeats) = KeyedEntries::of_sorted("A", a)?;
    let (b_entries, b_repeats) = KeyedEntries::of_sorted("B", b)?;
    let union = sets::pairs(a_entries.pairs(), b_entries.pairs(), SetOperation::Union, Combine::Sum)?;
    drop((a_entries, b_entries));
    let union = KeyedEntries { keys: union.0, values: union.1 };
    // A union of sets with repeated keys has each as often as the set that has more of it.
    let sum = if a_repeats || b_repeats { union.compress()? } else { union };
    sum.into_coo(a.1.shape())
}

fn by_global_sort<V: Value>(
    ((alpha, a), (beta, b)): (Term<'_, V>, Term<'_, V>),
) -> Result<DeviceCoo<V>, OpError> {
    let (rows, cols) = a.shape();
    let mut entries = KeyedEntries::uninitialized(a.device(), a.nnz() + b.nnz())?;
    let (mut keys, mut values) = (entries.keys.slice_mut(..)?, entries.values.slice_mut(..)?);
    let (mut a_keys, mut b_keys) = keys.split_at_mut(a.nnz())?;
    let (mut a_values, mut b_values) = values.split_at_mut(a.nnz())?;
    write_keys((alpha, a), &mut a_keys, &mut a_values)?;
    write_keys((beta, b), &mut b_keys, &mut b_values)?;
    let bits = SortOptions::default().with_bits(0..index_bits(cols) + index_bits(rows));
    let sorted = sort::pairs(entries.pairs(), bits)?;
    drop(entries);
    KeyedEntries { keys: sorted.0, values: sorted.1 }.compress()?.into_coo((rows, cols))
}

/// Entries with their coordinates as keys, the row above the column.
struct KeyedEntries<V: Value> {
    keys: DeviceVec<u64>,
    values: DeviceVec<V>,
}

impl<V: Value> KeyedEntries<V> {
    fn uninitialized(device: &Device, len: usize) -> Result<Self, OpError> {
        Ok(Self { keys: device.uninitialized(len)?, values: device.uninitialized(len)? })
    }

    /// Entries of a matrix whose rows are sorted by column, and whether there are duplicates.
    fn of_sorted(operand: &'static str, term: Term<'_, V>) -> Result<(Self, bool), OpError> {
        let (_, matrix) = term;
        let mut entries = Self::uninitialized(matrix.device(), matrix.nnz())?;
        let found = write_keys(term, &mut entries.keys, &mut entries.values)?.first::<2>()?;
        let descent = found[DESCENT] as usize;
        if descent < matrix.nnz() {
            let (rows, columns, _) = matrix.arrays();
            let (previous, column) = (columns.get(descent - 1)?, columns.get(descent)?);
            return Err(OpError::NotCanonical {
                operand,
                row: rows.get(descent)? as usize,
                previous,
                column,
            });
        }
        Ok((entries, found[DUPLICATE] < matrix.nnz() as u64))
    }

    fn pairs(&self) -> Pairs<'_, u64, V> {
        Pairs::new(&self.keys, &self.values)
    }

    /// Adds up the entries of each run of equal keys.
    fn compress(self) -> Result<Self, OpError> {
        let (keys, values) = reduce::by_keys(&self.keys, &self.values, Operator::Sum)?;
        Ok(Self { keys, values })
    }

    fn into_coo(self, (rows, cols): (usize, usize)) -> Result<DeviceCoo<V>, OpError> {
        let (row_indices, column_indices) = split_keys(&self.keys, index_bits(cols))?;
        Ok(DeviceCoo::from_valid((rows, cols), row_indices, column_indices, self.values)?)
    }
}

/// Writes the keys of a matrix's entries, and its values times the factor, one element per entry each. Returns the first entry that
/// is less than the one before it, and the first that is equal; `u64::MAX` if there is none.
fn write_keys<V: Value>(
    (factor, matrix): Term<'_, V>,
    keys: &mut DeviceSlice<u64>,
    scaled: &mut DeviceSlice<V>,
) -> Result<DeviceVec<u64>, OpError> {
    let (device, len, column_bits) = (matrix.device(), matrix.nnz(), index_bits(matrix.ncols()));
    let (rows, columns, values) = matrix.arrays();
    let on_host = (rows.host_slice(), columns.host_slice(), values.host_slice());
    if let ((Some(rows), Some(columns), Some(values)), Some(keys), Some(scaled)) =
        (on_host, keys.host_slice_mut(), scaled.host_slice_mut())
    {
        cpu::coordinate_keys((rows, columns), column_bits, keys);
        cpu::scaled(factor, values, scaled);
        let mut found = [u64::MAX; 2];
        found[DESCENT] = cpu::first_pair(keys, |previous, key| key < previous);
        found[DUPLICATE] = cpu::first_pair(keys, |previous, key| key == previous);
        return Ok(device.upload(&found)?);
    }
    let launch = device.kernel().threads(len)?;
    let mut found = device.upload(&[u64::MAX; 2])?;
    let kernel = CoordinateKeys {
        row_indices: rows.as_global(),
        column_indices: columns.as_global(),
        values: values.as_global(),
        keys: keys.as_global_mut(),
        scaled: scaled.as_global_mut(),
        found: found.as_global_mut(),
        factor,
        column_bits,
        len: len as u64,
    };
    // SAFETY: the views are of live buffers of `len` elements on this device, and of two that are all ones.
    unsafe { launch.launch(kernel) }?;
    Ok(found)
}
