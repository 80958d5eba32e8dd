use evenpath_simt::{device, warp, Float};

/// Returns the sum of the values of `count` lanes, `stride` lanes from one to the next, in the first of them. All lanes of
/// the warp call it, with the same `count` and `stride`.
#[device]
pub(super) fn sum_lanes<V: Float>(value: V, count: u32, stride: u32) -> V {
    let (mut sum, mut left) = (value, count);
    while left > 1 && left % 2 == 0 {
        left /= 2;
        sum += warp::shuffle_down(warp::FULL, sum, left * stride);
    }
    let part = sum;
    let mut lane = 1;
    while lane < left {
        sum += warp::shuffle_down(warp::FULL, part, lane * stride);
        lane += 1;
    }
    sum
}
