//! Measuring y = αAx + βy.

use evenpath::{Csr, Device, Offset, OpError, SpmvOptions, SpmvPlanInfo, Value};
use serde::Serialize;

use crate::measure::{median, times_ms};

/// One measurement of SpMV.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Median time of one run.
    pub ms: f64,
    /// The shortest and the longest.
    pub range_ms: (f64, f64),
    /// Two operations a nonzero.
    pub gflops: f64,
    /// As merge-spmv counts: for each nonzero its value, its column and one element of x; for each row its offset and
    /// one element of y.
    pub effective_gbps: f64,
    /// Each array of matrix and vectors once.
    pub gbps: f64,
    /// Bytes of matrix and vectors: what fits in a cache is measured there.
    pub bytes: u64,
    /// What the plan chose and cost.
    #[serde(skip)]
    pub plan: SpmvPlanInfo,
    /// Milliseconds of the plan's analysis on the device.
    pub plan_ms: f64,
}

/// Measures y = Ax, and gives the result too.
///
/// # Errors
///
/// If the device has not the memory, or was lost.
pub fn measure<V: Value, O: Offset>(
    device: &Device,
    matrix: &Csr<V, O>,
    x: &[V],
    repetitions: usize,
) -> Result<(Measurement, Vec<V>), OpError> {
    let a = device.upload(matrix)?;
    let device_x = device.upload_slice(x)?;
    // Filled with what must not come out again.
    let mut y = device.upload_slice(&vec![V::from_f64(f64::NAN); matrix.rows()])?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    let times = times_ms(device, repetitions, || plan.run(V::ONE, &device_x, V::from_f64(0.0), &mut y))?;
    let plan = plan.info()?;
    let ms = median(&times);
    let (rows, cols, nnz) = (matrix.rows() as f64, matrix.cols() as f64, matrix.nnz() as f64);
    let (value, offset) = (size_of::<V>() as f64, size_of::<O>() as f64);
    let bytes = nnz * (value + 4.0) + (rows + 1.0) * offset + (rows + cols) * value;
    let effective = nnz * (2.0 * value + 4.0) + rows * (offset + value);
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = times.iter().copied().fold(0.0, f64::max);
    let measurement = Measurement {
        ms,
        range_ms: (shortest, longest),
        gflops: 2.0 * nnz / ms / 1e6,
        effective_gbps: effective / ms / 1e6,
        gbps: bytes / ms / 1e6,
        bytes: bytes as u64,
        plan_ms: plan.analysis_ms,
        plan,
    };
    Ok((measurement, y.to_vec()?))
}

/// The first element of `y` that differs from Ax by more than rounding can explain, as text: 2(n + 2)·ε·Σ|a||x| for a
/// row of n nonzeros, computed in f64 from the triplets.
///
/// # Errors
///
/// If there is one.
pub fn check<V: Value, O: Offset>(matrix: &Csr<V, O>, x: &[V], y: &[V]) -> Result<(), String> {
    let mut expected = vec![(0.0, 0.0, 0_u64); matrix.rows()];
    for (row, col, value) in matrix.iter() {
        let product = value.to_f64() * x[col].to_f64();
        let (sum, magnitude, count) = &mut expected[row];
        *sum += product;
        *magnitude += product.abs();
        *count += 1;
    }
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    for (row, ((sum, magnitude, count), y)) in expected.into_iter().zip(y).enumerate() {
        let bound = 2.0 * (count + 2) as f64 * epsilon * magnitude;
        let close = (y.to_f64() - sum).abs() <= bound;
        if !close {
            return Err(format!("y[{row}] is {y}, not {sum} within {bound:e}"));
        }
    }
    Ok(())
}
