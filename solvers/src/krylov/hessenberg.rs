//! The small least-squares problem of GMRES, on the host.

/// The problem min ‖βe₁ − Hy‖₂ for a Hessenberg matrix H that grows by columns. Givens rotations make it triangular
/// (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986, section 3.2).
pub(crate) struct Hessenberg {
    /// Columns of the triangle.
    columns: Vec<Vec<f64>>,
    /// Cosines and sines.
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side, one longer than there are columns.
    rhs: Vec<f64>,
}

impl Hessenberg {
    /// No columns.
    pub(crate) fn new(beta: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), rhs: vec![beta] }
    }

    /// Norm of the least residual.
    pub(crate) fn residual(&self) -> f64 {
        self.rhs[self.columns.len()].abs()
    }

    /// Adds a column: its part in the square, and the entry below. Returns false, and adds nothing, if the triangle
    /// would have a pivot of at most `least`.
    pub(crate) fn push(&mut self, mut column: Vec<f64>, below: f64, least: f64) -> bool {
        for (at, &(cosine, sine)) in self.rotations.iter().enumerate() {
            let (upper, lower) = (column[at], column[at + 1]);
            column[at] = cosine * upper + sine * lower;
            column[at + 1] = cosine * lower - sine * upper;
        }
        let last = column.len() - 1;
        let pivot = column[last].hypot(below);
        if pivot <= least {
            return false;
        }
        let (cosine, sine) = (column[last] / pivot, below / pivot);
        column[last] = pivot;
        let rhs = self.rhs[last];
        self.rhs[last] = cosine * rhs;
        self.rhs.push(-sine * rhs);
        self.rotations.push((cosine, sine));
        self.columns.push(column);
        true
    }

    /// Returns the y of the least residual.
    pub(crate) fn solve(&self) -> Vec<f64> {
        let mut y = self.rhs[..self.columns.len()].to_vec();
        for (at, column) in self.columns.iter().enumerate().rev() {
            y[at] /= column[at];
            let last = y[at];
            for (element, entry) in y[..at].iter_mut().zip(column) {
                *element -= entry * last;
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::Hessenberg;

    #[test]
    fn the_residual_is_least() {
        // H = [1 2; 3 4; 0 5], β = 2.
        let mut problem = Hessenberg::new(2.0);
        assert!(problem.push(vec![1.0], 3.0, 0.0) && problem.push(vec![2.0, 4.0], 5.0, 0.0));
        let y = problem.solve();
        let residual = [2.0 - y[0] - 2.0 * y[1], -3.0 * y[0] - 4.0 * y[1], -5.0 * y[1]];
        let norm = residual.iter().map(|value| value * value).sum::<f64>().sqrt();
        assert!((norm - problem.residual()).abs() < 1e-14);
        // It is orthogonal to the columns.
        assert!((residual[0] + 3.0 * residual[1]).abs() < 1e-14);
        assert!((2.0 * residual[0] + 4.0 * residual[1] + 5.0 * residual[2]).abs() < 1e-14);
    }

    #[test]
    fn a_singular_column_is_refused() {
        let mut problem = Hessenberg::new(1.0);
        assert!(problem.push(vec![1.0], 1.0, 0.0));
        assert!(!problem.push(vec![1.0, 1.0], 0.0, 1e-12));
        assert_eq!(problem.solve().len(), 1);
        assert!(!Hessenberg::new(1.0).push(vec![0.0], 0.0, 0.0));
    }
}
