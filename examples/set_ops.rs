//! Union, intersection, difference and symmetric difference of two sorted sequences.
//!
//! ```sh
//! cargo run --release --example set_ops -- 1000000
//! ```

mod support;

use std::cmp::Ordering;
use std::error::Error;
use std::process::ExitCode;

use evenpath::Device;
use evenpath::sets::{self, SetOperation};

fn main() -> ExitCode {
    support::on_sequences(set_operations)
}

fn set_operations(device: &Device, len: usize) -> Result<bool, Box<dyn Error>> {
    // Multiples of 2 with every fifth twice, and multiples of 3: a key may occur several times.
    let a: Vec<u64> = (0..len as u64).map(|i| (i - i / 5) * 2).collect();
    let b: Vec<u64> = (0..len as u64).map(|i| i * 3).collect();
    let (device_a, device_b) = (device.upload(&a)?, device.upload(&b)?);

    let mut is_right = true;
    for operation in SetOperation::ALL {
        let result = sets::keys(&device_a, &device_b, operation)?;
        println!("{device}: the {operation} of 2 sequences of {len} has {} keys", result.len());
        is_right &= result.download()? == expected(operation, &a, &b);
        // The size alone, without the keys.
        is_right &= sets::count(&device_a, &device_b, operation)? == result.len();
    }
    Ok(is_right)
}

/// Walks through both sequences: the i-th of equal keys in one matches the i-th in the other.
fn expected(operation: SetOperation, a: &[u64], b: &[u64]) -> Vec<u64> {
    let (mut i, mut j, mut keys) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(from_a), Some(from_b)) => from_a.cmp(from_b),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let (key, is_kept) = match next {
            Ordering::Less => (a[i], operation.keeps_a()),
            Ordering::Equal => (a[i], operation.keeps_matches()),
            Ordering::Greater => (b[j], operation.keeps_b()),
        };
        i += usize::from(next.is_le());
        j += usize::from(next.is_ge());
        keys.extend(is_kept.then_some(key));
    }
    keys
}
