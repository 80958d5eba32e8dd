//! Patterns and values of results, on devices that run kernels and on the CPU.

use super::path;
use super::path::{Path, Write};
use crate::cpu::{RowMerge, write_row_offsets};
use crate::device::{DeviceKind, DeviceVec};
use crate::format::canonical::check_canonical;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar};

use super::operands::{Factors, SpaddOperands, countable};

impl<'m, V: Scalar, O: Offset> SpaddOperands<'m, V, O> {
    /// The first phase on devices that run kernels. Checks that both matrices are canonical.
    pub(super) fn walk(&self) -> Result<Option<Path>, OpError> {
        if self.device().kind() == DeviceKind::Cpu {
            return Ok(None);
        }
        self.device().prepare(path::kernels::<V, O>)?;
        Path::walk(self.operation.code(), self.a.pattern(), self.b.pattern()).map(Some)
    }

    /// The merge of the rows on the CPU. Checks that both matrices are canonical.
    pub(super) fn merge(&self) -> Result<RowMerge<'m, O>, OpError> {
        check_canonical("A", self.a.pattern())?;
        check_canonical("B", self.b.pattern())?;
        let host = |pattern: &'m DevicePattern<O>| {
            let offsets = pattern.row_offsets.host_slice().unwrap_or_default();
            (offsets, pattern.column_indices.host_slice().unwrap_or_default())
        };
        Ok(RowMerge { operation: self.operation, a: host(self.a.pattern()), b: host(self.b.pattern()) })
    }

    /// The second phase: the pattern of the result and, with factors, its values.
    pub(super) fn fill(
        &self,
        path: Option<&Path>,
        factors: Option<Factors<V>>,
    ) -> Result<(DevicePattern<O>, Option<DeviceVec<V>>), OpError> {
        let Some(path) = path else { return self.fill_on_host(factors) };
        let nonzeros = countable::<O>(path.results())?;
        let (rows, device) = (self.a.nrows(), self.device());
        let mut row_offsets = if rows == 0 { device.zeros(1)? } else { device.uninitialized(rows + 1)? };
        let mut columns = device.uninitialized(nonzeros)?;
        let pattern = Some((&mut row_offsets, &mut columns));
        let mut values = None;
        if factors.is_some() {
            values = Some(device.uninitialized(nonzeros)?);
        }
        path.fill(self, Write { pattern, values: values.as_mut().zip(factors) })?;
        Ok((DevicePattern::canonical(rows, self.a.ncols(), row_offsets, columns), values))
    }

    /// Only the values of the result, one per result on the path.
    pub(super) fn fill_values(
        &self,
        path: &Path,
        len: usize,
        factors: Factors<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let mut values = self.device().uninitialized(len)?;
        path.fill(self, Write { pattern: None, values: Some((&mut values, factors)) })?;
        Ok(values)
    }

    fn fill_on_host(
        &self,
        factors: Option<Factors<V>>,
    ) -> Result<(DevicePattern<O>, Option<DeviceVec<V>>), OpError> {
        let (merge, device) = (self.merge()?, self.device());
        let counts = merge.counts();
        let nonzeros = countable::<O>(counts.iter().sum())?;
        let mut row_offsets = device.uninitialized(self.a.nrows() + 1)?;
        let mut columns = device.uninitialized(nonzeros)?;
        let mut values = if factors.is_some() { Some(device.uninitialized(nonzeros)?) } else { None };
        let (a, b) = (self.a.values_now(), self.b.values_now());
        if let (Some(offsets), Some(columns)) = (row_offsets.host_slice_mut(), columns.host_slice_mut()) {
            write_row_offsets(&counts, offsets);
            let values = values.as_mut().and_then(|values| values.host_slice_mut());
            match (factors, a.host_slice(), b.host_slice(), values) {
                (Some(factors), Some(a), Some(b), Some(values)) => {
                    merge.write((a, b), factors, offsets, (columns, values));
                }
                _ => merge.write_columns(offsets, columns),
            }
        }
        Ok((DevicePattern::canonical(self.a.nrows(), self.a.ncols(), row_offsets, columns), values))
    }

    /// The values of the result on the CPU, given its row offsets.
    pub(super) fn values_on_host(
        &self,
        merge: &RowMerge<'_, O>,
        row_offsets: &[O],
        factors: Factors<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let nonzeros = row_offsets.last().map_or(0, |end| end.to_usize());
        let mut values = self.device().uninitialized(nonzeros)?;
        let (a, b) = (self.a.values_now(), self.b.values_now());
        if let (Some(a), Some(b), Some(values)) = (a.host_slice(), b.host_slice(), values.host_slice_mut()) {
            merge.write_values((a, b), factors, row_offsets, values);
        }
        Ok(values)
    }
}
