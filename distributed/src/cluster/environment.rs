//! The variables that say which rank a process is.

use std::time::Duration;

use super::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::error::{Error, Result};
use crate::transport::TcpAddress;

/// Reads the variables by a function that gives the value of each.
pub(super) fn read(value: impl Fn(&str) -> Option<String>) -> Result<(TcpAddress, Duration)> {
    let text = |name: &str| value(name).ok_or_else(|| wrong(format!("{name} is not set")));
    let number = |name: &str| {
        let text = text(name)?;
        text.parse::<u32>().map_err(|_| wrong(format!("{name} is `{text}`, and must be a number")))
    };
    let (index, size) = (number("EVENPATH_RANK")? as usize, number("EVENPATH_SIZE")? as usize);
    if index >= size {
        return Err(wrong(format!("EVENPATH_RANK is {index}, and must be less than EVENPATH_SIZE, {size}")));
    }
    let address = TcpAddress { index, size, root: text("EVENPATH_ADDRESS")? };
    Ok((address, timeout(value)?))
}

/// How long to wait for others.
pub(super) fn timeout(value: impl Fn(&str) -> Option<String>) -> Result<Duration> {
    let Some(text) = value("EVENPATH_TIMEOUT") else { return Ok(DEFAULT_TIMEOUT) };
    let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let refused = || wrong(format!("EVENPATH_TIMEOUT is `{text}`, and must be seconds above 0"));
    Ok(timeout.ok_or_else(refused)?.min(LONGEST_TIMEOUT))
}

fn wrong(reason: String) -> Error {
    Error::Start { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<(TcpAddress, Duration)> {
        read(|name| {
            variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.to_owned())
        })
    }

    #[test]
    fn variables_are_read_and_checked() {
        let all = [
            ("EVENPATH_RANK", "1"),
            ("EVENPATH_SIZE", "4"),
            ("EVENPATH_ADDRESS", "host:1"),
            ("EVENPATH_TIMEOUT", "0.5"),
        ];
        let address = TcpAddress { index: 1, size: 4, root: "host:1".into() };
        assert_eq!(of(&all).unwrap(), (address.clone(), Duration::from_millis(500)));
        assert_eq!(of(&all[..3]).unwrap(), (address, DEFAULT_TIMEOUT));
        for (name, value) in [
            ("EVENPATH_RANK", "4"),
            ("EVENPATH_SIZE", "-1"),
            ("EVENPATH_RANK", "x"),
            ("EVENPATH_TIMEOUT", "0"),
        ] {
            let changed = all.map(|variable| if variable.0 == name { (name, value) } else { variable });
            assert!(of(&changed).unwrap_err().to_string().contains(name), "{name}={value}");
        }
        for missing in ["EVENPATH_RANK", "EVENPATH_SIZE", "EVENPATH_ADDRESS"] {
            let others: Vec<_> = all.into_iter().filter(|variable| variable.0 != missing).collect();
            assert!(of(&others).unwrap_err().to_string().contains(&format!("{missing} is not set")));
        }
    }
}
