use evenpath::{Device, DeviceDense, Layout, RealStorage};

/// A dense matrix of numbers that are not round, with gaps between rows or columns filled with NaN.
#[derive(Debug, Clone)]
pub struct HostDense<T> {
    /// The elements in the order of memory, with gaps.
    pub values: Vec<T>,
    rows: usize,
    cols: usize,
    layout: Layout,
    /// Distance in elements between the starts of rows, or of columns.
    pub leading_dimension: usize,
}

impl<T: RealStorage> HostDense<T> {
    /// Creates a matrix whose rows or columns have `gap` more elements between them.
    pub fn new(rows: usize, cols: usize, layout: Layout, gap: usize) -> Self {
        let (line, lines) = match layout {
            Layout::RowMajor => (cols, rows),
            Layout::ColumnMajor => (rows, cols),
        };
        let leading_dimension = line + gap;
        let number = |i: usize| T::from_f64(((i * 7919 + 13) % 1009) as f64 / 504.0 - 1.0);
        let values = (0..lines * leading_dimension)
            .map(|i| if i % leading_dimension < line { number(i) } else { T::from_f64(f64::NAN) })
            .collect();
        Self { values, rows, cols, layout, leading_dimension }
    }

    /// Returns the index of an element.
    pub fn place(&self, row: usize, col: usize) -> usize {
        match self.layout {
            Layout::RowMajor => row * self.leading_dimension + col,
            Layout::ColumnMajor => col * self.leading_dimension + row,
        }
    }

    /// Returns the elements of a row.
    pub fn row(&self, row: usize) -> Vec<T> {
        (0..self.cols).map(|col| self.values[self.place(row, col)]).collect()
    }

    /// Returns the elements of a column.
    pub fn column(&self, col: usize) -> Vec<T> {
        (0..self.rows).map(|row| self.values[self.place(row, col)]).collect()
    }

    /// Uploads the matrix.
    ///
    /// # Panics
    ///
    /// If there is too little memory.
    pub fn upload(&self, device: &Device) -> DeviceDense<T> {
        let values = device.upload(&self.values).expect("upload");
        let Self { rows, cols, layout, leading_dimension, .. } = *self;
        DeviceDense::try_with_leading_dimension(values, rows, cols, layout, leading_dimension)
            .expect("a matrix")
    }
}
