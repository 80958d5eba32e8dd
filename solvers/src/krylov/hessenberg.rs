//! The small least-squares problem of GMRES, on the host.

use evenpath::Complex;

use crate::number::magnitude;

/// The problem min ‖βe₁ − Hy‖₂ for a Hessenberg matrix H that grows by columns, with real numbers below the diagonal. Givens rotations
/// make it triangular (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986, section 3.2).
pub(crate) struct Hessenberg {
    /// Columns of the triangle, whose diagonal is real.
    columns: Vec<Vec<Complex<f64>>>,
    /// Cosines, which have the phase of the pivot, and sines.
    rotations: Vec<(Complex<f64>, f64)>,
    /// The rotated right-hand side, one longer than there are columns.
    rhs: Vec<Complex<f64>>,
}

impl Hessenberg {
    /// No columns.
    pub(crate) fn new(beta: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), rhs: vec![beta.into()] }
    }

    /// Norm of the least residual.
    pub(crate) fn residual(&self) -> f64 {
        magnitude(self.rhs[self.columns.len()])
    }

    /// Adds a column: its part in the square, and the entry below. Returns false, and adds nothing, if the triangle
    /// would have a pivot of at most `least`.
    pub(crate) fn push(&mut self, mut column: Vec<Complex<f64>>, below: f64, least: f64) -> bool {
        for (at, &(cosine, sine)) in self.rotations.iter().enumerate() {
            let (upper, lower) = (column[at], column[at + 1]);
            column[at] = cosine.conj() * upper + sine * lower;
            column[at + 1] = cosine * lower - sine * upper;
        }
        let last = column.len() - 1;
        let pivot = magnitude(column[last]).hypot(below);
        if pivot <= least {
            return false;
        }
        let (cosine, sine) = (column[last] / pivot, below / pivot);
        column[last] = pivot.into();
        let rhs = self.rhs[last];
        self.rhs[last] = cosine.conj() * rhs;
        self.rhs.push(-sine * rhs);
        self.rotations.push((cosine, sine));
        self.columns.push(column);
        true
    }

    /// Returns the y of the least residual.
    pub(crate) fn solve(&self) -> Vec<Complex<f64>> {
        let mut y = self.rhs[..self.columns.len()].to_vec();
        for (at, column) in self.columns.iter().enumerate().rev() {
            y[at] /= column[at].re;
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
    use evenpath::Complex;

    use super::{Hessenberg, magnitude};

    /// The columns of H, as pairs of the part in the square and the entry below.
    type Columns = [(Vec<Complex<f64>>, f64); 2];

    /// Checks that the residual is that of βe₁ − Hy, and orthogonal to the columns.
    fn check(columns: &Columns) {
        let mut problem = Hessenberg::new(2.0);
        let mut residual = [Complex::new(2.0, 0.0), Complex::default(), Complex::default()];
        assert!(columns.iter().all(|(column, below)| problem.push(column.clone(), *below, 0.0)));
        let y = problem.solve();
        let column_of = |(column, below): &(Vec<Complex<f64>>, f64)| {
            let mut full = column.clone();
            full.push((*below).into());
            full
        };
        for (y, column) in y.iter().zip(columns) {
            for (residual, entry) in residual.iter_mut().zip(column_of(column)) {
                *residual -= entry * y;
            }
        }
        let norm = residual.iter().fold(0.0_f64, |norm, &value| norm.hypot(magnitude(value)));
        assert!((norm - problem.residual()).abs() < 1e-14);
        for column in columns {
            let product: Complex<f64> = column_of(column)
                .iter()
                .zip(&residual)
                .map(|(entry, residual)| entry.conj() * residual)
                .sum();
            assert!(magnitude(product) < 1e-14, "{product}");
        }
    }

    #[test]
    fn the_residual_is_least() {
        let real = |number: f64| Complex::new(number, 0.0);
        check(&[(vec![real(1.0)], 3.0), (vec![real(2.0), real(4.0)], 5.0)]);
        let i = Complex::new(0.0, 1.0);
        check(&[(vec![1.0 - 2.0 * i], 3.0), (vec![2.0 * i, 4.0 + i], 5.0)]);
        check(&[(vec![i], 0.5), (vec![real(0.0), -i], 1.0)]);
    }

    #[test]
    fn a_singular_column_is_refused() {
        let one = Complex::new(1.0, 0.0);
        let mut problem = Hessenberg::new(1.0);
        assert!(problem.push(vec![one], 1.0, 0.0));
        assert!(!problem.push(vec![one, one], 0.0, 1e-12));
        assert_eq!(problem.solve().len(), 1);
        assert!(!Hessenberg::new(1.0).push(vec![Complex::default()], 0.0, 0.0));
    }
}
