//! Parts of vectors.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range, RangeBounds};

use bytemuck::Pod;

use super::error::DeviceError;
use super::slice::{DeviceSlice, Elements, check_range};
use crate::Scalar;

/// A shared borrow of part of a vector: see [`DeviceSlice::slice`].
pub struct DeviceView<'a, T: Pod> {
    elements: Elements<T>,
    borrow: PhantomData<&'a [T]>,
}

/// A mutable borrow of part of a vector: see [`DeviceSlice::slice_mut`].
pub struct DeviceViewMut<'a, T: Pod> {
    elements: Elements<T>,
    borrow: PhantomData<&'a mut [T]>,
}

impl<T: Pod> DeviceSlice<T> {
    /// Borrows the elements in a range of indices, counted from 0, as an operand. Nothing is copied.
    ///
    /// Operations whose kernels access sixteen bytes at once, such as sorts, scans, merges and SpMV by
    /// windows, copy an operand that is not aligned to sixteen bytes in every run.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let x = Device::best()?.upload(&[1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(vector::dot(&x.slice(..2)?, &x.slice(2..)?)?, 11.0);
    /// assert!(x.slice(3..5).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceView<'_, T>, DeviceError> {
        Ok(DeviceView { elements: self.part(&range)?, borrow: PhantomData })
    }

    /// Mutably borrows the elements in a range of indices, counted from 0. Nothing is copied.
    ///
    /// ```
    /// let mut x = evenpath::Device::best()?.upload(&[1.0, 2.0, 3.0])?;
    /// x.slice_mut(1..)?.set_zero()?;
    /// assert_eq!(x.download()?, [1.0, 0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the range is out of bounds.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceViewMut<'_, T>, DeviceError> {
        Ok(DeviceViewMut { elements: self.part(&range)?, borrow: PhantomData })
    }

    /// Splits n elements at index `middle`, into `middle` elements and n − `middle`.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let mut both = device.upload(&[1.0, 2.0, 0.0, 0.0])?;
    /// let (x, mut y) = both.split_at_mut(2)?;
    /// vector::axpby(3.0, &x, 0.0, &mut y)?;
    /// assert_eq!(both.download()?, [1.0, 2.0, 3.0, 6.0]);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `middle` is out of bounds.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> Result<(DeviceViewMut<'_, T>, DeviceViewMut<'_, T>), DeviceError> {
        let (low, high) = (self.part(&(..middle))?, self.part(&(middle..))?);
        let view = |elements| DeviceViewMut { elements, borrow: PhantomData };
        Ok((view(low), view(high)))
    }

    /// Returns the elements in a range. The caller keeps `self` borrowed while it uses them.
    fn part(&self, range: &impl RangeBounds<usize>) -> Result<Elements<T>, DeviceError> {
        let Range { start, end } = check_range(range, self.len())?;
        Ok(Elements::new(self.parts.device.clone(), self.parts.memory.part(start, end - start)))
    }
}

impl<V: Scalar> DeviceSlice<V> {
    /// Borrows n numbers as a vector of their parts: for complex numbers 2n elements, the real part of each before its imaginary part;
    /// for real numbers the vector itself. Nothing is copied. Sums of complex vectors, and their products with real numbers, are those of
    /// the parts.
    ///
    /// ```
    /// use evenpath::{Complex, Device, vector};
    ///
    /// let device = Device::best()?;
    /// let x = device.upload(&[Complex::new(1.0_f64, 2.0), Complex::new(3.0, 4.0)])?;
    /// assert_eq!(x.as_parts().download()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(vector::dot(&x.as_parts(), &x.as_parts())?, 30.0); // ‖x‖²
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_parts(&self) -> DeviceView<'_, V::Real> {
        DeviceView { elements: self.real(), borrow: PhantomData }
    }

    /// Mutably borrows n numbers as a vector of their parts, like [`as_parts`](Self::as_parts).
    ///
    /// ```
    /// use evenpath::{Complex, Device, vector};
    ///
    /// let mut x = Device::best()?.zeros::<Complex<f32>>(2)?;
    /// vector::fill(1.0, &mut x.as_parts_mut())?;
    /// assert_eq!(x.download()?, [Complex::new(1.0, 1.0); 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_parts_mut(&mut self) -> DeviceViewMut<'_, V::Real> {
        DeviceViewMut { elements: self.real(), borrow: PhantomData }
    }

    /// Returns the parts of the numbers. The caller keeps `self` borrowed while it uses them.
    fn real(&self) -> Elements<V::Real> {
        Elements::new(self.parts.device.clone(), self.parts.memory.real())
    }
}

impl<T: Pod> Deref for DeviceView<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        self.elements.as_slice()
    }
}

impl<T: Pod> Deref for DeviceViewMut<'_, T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        self.elements.as_slice()
    }
}

impl<T: Pod> DerefMut for DeviceViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        self.elements.as_mut_slice()
    }
}

impl<T: Pod> std::fmt::Debug for DeviceView<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Pod> std::fmt::Debug for DeviceViewMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
