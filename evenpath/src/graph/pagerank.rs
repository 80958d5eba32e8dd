//! PageRank.

use super::check::check_graph;
use crate::csr::Reduction;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::spmv::SpmvOptions;
use crate::vector::{self, Map};
use crate::{Offset, Value};

/// Options of [`pagerank`].
///
/// ```
/// use evenpath::graph::PagerankOptions;
///
/// let options = PagerankOptions::default().with_damping(0.9).with_tolerance(1e-6).with_max_steps(50);
/// assert_eq!((options.damping, options.max_steps), (0.9, 50));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PagerankOptions {
    /// Probability that a link is followed, from 0 to 1. By default 0.85.
    pub damping: f64,
    /// Change of the ranks in a step, in the 2-norm, at which the method stops. By default 10⁻⁶.
    pub tolerance: f64,
    /// Maximum number of steps. By default 100.
    pub max_steps: usize,
}

impl Default for PagerankOptions {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-6, max_steps: 100 }
    }
}

impl PagerankOptions {
    /// The same with another damping.
    #[must_use]
    pub fn with_damping(self, damping: f64) -> Self {
        Self { damping, ..self }
    }

    /// The same with another tolerance.
    #[must_use]
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// The same with another maximum of steps.
    #[must_use]
    pub fn with_max_steps(self, max_steps: usize) -> Self {
        Self { max_steps, ..self }
    }
}

/// Result of [`pagerank`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pagerank<V> {
    /// The rank of each page; their sum is 1.
    pub ranks: Vec<V>,
    /// Steps that were made.
    pub steps: usize,
    /// True if the last step changed the ranks by the tolerance or less.
    pub converged: bool,
}

/// Computes the ranks of pages by the power method: the probabilities that a surfer is at a page who follows one of its links or, with
/// probability 1 − damping and where there are none, jumps to any page. An entry (u, v) is a link from u to v; values of the matrix
/// do not count.
///
/// A step is a product with the transpose, which is formed once, and the host reads two numbers.
///
/// ```
/// use evenpath::graph::{self, PagerankOptions};
/// use evenpath::{Csr, Device};
///
/// let links = Csr::from_triplets(3, 3, [(0, 2, 1.0), (1, 2, 1.0), (2, 0, 1.0)])?;
/// let links = Device::best()?.upload(&links)?;
/// let ranks = graph::pagerank(&links, PagerankOptions::default())?.ranks;
/// assert!(ranks[2] > ranks[0] && ranks[0] > ranks[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, the damping is not from 0 to 1, this thread captures a graph of launches, there is too little memory,
/// or the device was lost.
pub fn pagerank<V: Value, O: Offset>(
    a: &DeviceCsr<V, O>,
    options: PagerankOptions,
) -> Result<Pagerank<V>, OpError> {
    let pages = check_graph(a)?;
    let PagerankOptions { damping, tolerance, max_steps } = options;
    if !(0.0..=1.0).contains(&damping) {
        return Err(OpError::Damping { damping });
    }
    if pages == 0 {
        return Ok(Pagerank { ranks: Vec::new(), steps: 0, converged: true });
    }
    let (device, damping) = (a.device(), V::from_f64(damping));
    // Infinite for pages without links, whose columns of the transpose are empty.
    let mut probabilities = a.reduce_rows(Reduction::Count)?;
    let mut jump = probabilities.copied()?;
    vector::map(Map::Reciprocal, &mut probabilities)?;
    let follow = a.transpose()?;
    follow.update_values(|values| vector::fill(damping, values))?;
    follow.scale_columns(&probabilities)?;
    // 1 for pages without links, 1 − damping for others.
    let maps = [Map::Clamp { low: V::ZERO, high: V::ONE }, Map::Scale(-damping), Map::Add(V::ONE)];
    for map in maps {
        vector::map(map, &mut jump)?;
    }

    let plan = follow.plan_spmv(SpmvOptions::default())?;
    let (mut ranks, mut next) = (device.uninitialized(pages)?, device.uninitialized(pages)?);
    vector::fill(V::ONE / V::from_u64(pages as u64), &mut ranks)?;
    for step in 1..=max_steps {
        let jumps = vector::dot(&jump, &ranks)?;
        vector::fill(jumps / V::from_u64(pages as u64), &mut next)?;
        plan.run(V::ONE, &ranks, V::ONE, &mut next)?;
        vector::axpby(V::ONE, &next, -V::ONE, &mut ranks)?; // the step
        let moved = vector::norm2(&ranks)?.to_f64();
        std::mem::swap(&mut ranks, &mut next);
        if moved <= tolerance {
            return Ok(Pagerank { ranks: ranks.download()?, steps: step, converged: true });
        }
    }
    Ok(Pagerank { ranks: ranks.download()?, steps: max_steps, converged: false })
}
