//! Positions in a vector, to gather elements from or add them to.

use evenpath_kernels::update::Update;
use evenpath_kernels::vector::{AddAt, Gather};

use crate::Value;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::operand::check::check_vector;

/// Positions in vectors of a given length, checked once, in a device's memory.
///
/// [`gather`](Self::gather) copies the elements at the positions to a shorter vector, [`add`](Self::add) adds
/// the elements of one to them.
///
/// ```
/// use evenpath::Device;
/// use evenpath::vector::Positions;
///
/// let device = Device::best()?;
/// let positions = Positions::new(&device, &[3, 0], 4)?;
/// let mut x = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let mut gathered = device.zeros(2)?;
/// positions.gather(&x, &mut gathered)?;
/// assert_eq!(gathered.download()?, [4.0, 1.0]);
/// positions.add(&gathered, &mut x)?;
/// assert_eq!(x.download()?, [2.0, 2.0, 3.0, 8.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug)]
pub struct Positions {
    elements: DeviceVec<u32>,
    /// One element: the number of positions, an argument of the kernel that adds.
    count: DeviceVec<u64>,
    /// Length of the vectors.
    len: usize,
    /// A position that occurs more than once.
    repeated: Option<u32>,
}

impl Positions {
    /// Copies positions in vectors of `len` elements to a device. They may be in any order.
    ///
    /// # Errors
    ///
    /// If a position is not below `len`, there are 2³² or more, there is too little memory, or the device was
    /// lost.
    pub fn new(device: &Device, positions: &[u32], len: usize) -> Result<Self, OpError> {
        if let Some(&outside) = positions.iter().find(|&&position| position as usize >= len) {
            return Err(DeviceError::OutOfBounds { index: outside as usize, len }.into());
        }
        if u32::try_from(positions.len()).is_err() {
            let (what, limit) = ("a list of positions", u32::MAX as usize);
            return Err(OpError::TooLong { what, len: positions.len(), limit });
        }
        let count = device.upload(&[positions.len() as u64])?;
        let repeated = find_repeated(positions);
        Ok(Self { elements: device.upload(positions)?, count, len, repeated })
    }

    /// Number of positions.
    pub fn count(&self) -> usize {
        self.elements.len()
    }

    /// Length of the vectors.
    pub fn vector_len(&self) -> usize {
        self.len
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> u64 {
        self.elements.bytes() + self.count.bytes()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.elements.device()
    }

    /// Copies the elements of `source` at the positions to `result`, in the order of the positions. Runs in
    /// the order of the device's stream; the call does not wait.
    ///
    /// # Errors
    ///
    /// If `source` does not have [`vector_len`](Self::vector_len) elements or `result` not
    /// [`count`](Self::count), or one of them is on another device; then nothing is written. If the device
    /// was lost.
    pub fn gather<V: Value>(
        &self,
        source: &DeviceSlice<V>,
        result: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        check_vector(self.device(), ("source", source), self.len)?;
        check_vector(self.device(), ("result", result), self.count())?;
        if let (Some(positions), Some(source), Some(result)) =
            (self.elements.host_slice(), source.host_slice(), result.host_slice_mut())
        {
            for (element, &position) in result.iter_mut().zip(positions) {
                *element = source[position as usize];
            }
            return Ok(());
        }
        let launch = self.device().kernel().threads(self.count())?;
        let kernel = Gather {
            source: source.as_global(),
            positions: self.elements.as_global(),
            update: Update { y: result.as_global_mut(), alpha: V::ONE, beta: V::ZERO },
            len: self.count() as u32,
        };
        // SAFETY: the positions are below the source's length, the result has an element for each, and all are of this device;
        // buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Adds the elements of `addends`, in the order of the positions, to those of `target` at the positions.
    /// Runs in the order of the device's stream; the call does not wait.
    ///
    /// # Errors
    ///
    /// If a position occurs more than once, `addends` does not have [`count`](Self::count) elements or
    /// `target` not [`vector_len`](Self::vector_len), or one of them is on another device; then nothing is
    /// written. If the device was lost.
    pub fn add<V: Value>(
        &self,
        addends: &DeviceSlice<V>,
        target: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        if let Some(position) = self.repeated {
            return Err(OpError::RepeatedPosition { position });
        }
        check_vector(self.device(), ("addends", addends), self.count())?;
        check_vector(self.device(), ("target", target), self.len)?;
        if let (Some(positions), Some(addends), Some(target)) =
            (self.elements.host_slice(), addends.host_slice(), target.host_slice_mut())
        {
            for (&addend, &position) in addends.iter().zip(positions) {
                target[position as usize] += addend;
            }
            return Ok(());
        }
        let launch = self.device().kernel().threads(self.count())?;
        let kernel = AddAt {
            positions: self.elements.as_global(),
            addends: addends.as_global(),
            count: self.count.as_global(),
            y: target.as_global_mut(),
        };
        // SAFETY: the positions are distinct and below the target's length, there is an addend for each, and all are of this device;
        // buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

/// Smallest position that occurs more than once.
fn find_repeated(positions: &[u32]) -> Option<u32> {
    if positions.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
