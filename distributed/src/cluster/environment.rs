//! Environment variables that identify a rank's process.

use std::ffi::OsString;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::transport::{Secret, TcpOptions};

/// Default limit on the wait for another rank's message; see
/// [`Cluster::with_timeout`](crate::Cluster::with_timeout).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum timeout, about 34 years: longer ones are shortened, so that deadlines do not overflow.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(1 << 30);

/// Maximum number of ranks: their addresses must fit into one message.
const MOST_RANKS: u32 = 1 << 16;

/// Reads the variables. `value` returns the value of a variable.
pub(super) fn read(value: impl Fn(&str) -> Option<OsString>) -> Result<(TcpOptions, Duration)> {
    let text = |name: &str| text(&value, name)?.ok_or_else(|| wrong(format!("{name} is not set")));
    let number = |name: &str| {
        let text = text(name)?;
        text.parse::<u32>().map_err(|_| wrong(format!("{name} is {text:?}, but must be a number")))
    };
    let (index, size) = (number("EVENPATH_RANK")?, number("EVENPATH_SIZE")?);
    if size > MOST_RANKS {
        return Err(wrong(format!("EVENPATH_SIZE is {size}, but must be at most {MOST_RANKS}")));
    }
    if index >= size {
        return Err(wrong(format!("EVENPATH_RANK is {index}, but must be less than EVENPATH_SIZE, {size}")));
    }
    let root = host("EVENPATH_ADDRESS", text("EVENPATH_ADDRESS")?)?;
    if !root.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        return Err(wrong(format!(
            "EVENPATH_ADDRESS is {root:?}, but must be a host and a port, such as `host:7000`"
        )));
    }
    let bind = self::text(&value, "EVENPATH_BIND")?.map(|text| host("EVENPATH_BIND", text)).transpose()?;
    let secret = secret(&value)?;
    let options = TcpOptions { index: index as usize, size: size as usize, root, bind, secret };
    Ok((options, timeout(value)?))
}

/// Reads the timeout.
pub(super) fn timeout(value: impl Fn(&str) -> Option<OsString>) -> Result<Duration> {
    let Some(text) = text(&value, "EVENPATH_TIMEOUT")? else { return Ok(DEFAULT_TIMEOUT) };
    let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let refused = || wrong(format!("EVENPATH_TIMEOUT is {text:?}, but must be a number of seconds above 0"));
    Ok(timeout.ok_or_else(refused)?.min(LONGEST_TIMEOUT))
}

/// Reads the secret, or the contents of its file without the trailing line break.
fn secret(value: &impl Fn(&str) -> Option<OsString>) -> Result<Secret> {
    let (name, bytes) = match (value("EVENPATH_SECRET"), value("EVENPATH_SECRET_FILE")) {
        (None, None) => return Ok(Secret::default()),
        (Some(_), Some(_)) => {
            return Err(wrong(
                "EVENPATH_SECRET and EVENPATH_SECRET_FILE are both set, but only one is allowed".into(),
            ));
        }
        (Some(secret), None) => ("EVENPATH_SECRET", secret.into_encoded_bytes()),
        (None, Some(path)) => {
            let bytes = std::fs::read(&path);
            let refused = |error| wrong(format!("EVENPATH_SECRET_FILE: {}: {error}", path.display()));
            let bytes = bytes.map_err(refused)?;
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            ("EVENPATH_SECRET_FILE", line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        }
    };
    if bytes.is_empty() {
        return Err(wrong(format!("the secret in {name} is empty")));
    }
    Ok(Secret::new(&bytes))
}

/// Returns the value of a variable, if set.
fn text(value: &impl Fn(&str) -> Option<OsString>, name: &str) -> Result<Option<String>> {
    let text = value(name).map(OsString::into_string).transpose();
    text.map_err(|text| wrong(format!("{name} is `{}`, but must be Unicode", text.display())))
}

/// Returns a host name, unless it has invalid characters.
fn host(name: &str, text: String) -> Result<String> {
    if text.is_empty() || text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(wrong(format!(
            "{name} is {text:?}, but must be an address without spaces and line breaks"
        )));
    }
    Ok(text)
}

fn wrong(reason: String) -> Error {
    Error::Start { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, &str); 6] = [
        ("EVENPATH_RANK", "1"),
        ("EVENPATH_SIZE", "4"),
        ("EVENPATH_ADDRESS", "host:1"),
        ("EVENPATH_TIMEOUT", "0.5"),
        ("EVENPATH_BIND", "0.0.0.0"),
        ("EVENPATH_SECRET", "s"),
    ];

    fn of(variables: &[(&str, &str)]) -> Result<(TcpOptions, Duration)> {
        read(|name| variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.into()))
    }

    #[test]
    fn variables_are_read_and_checked() {
        let options = TcpOptions {
            index: 1,
            size: 4,
            root: "host:1".into(),
            bind: Some("0.0.0.0".into()),
            secret: Secret::new(b"s"),
        };
        assert_eq!(of(&ALL).unwrap(), (options.clone(), Duration::from_millis(500)));
        let least = TcpOptions { bind: None, secret: Secret::default(), ..options };
        assert_eq!(of(&ALL[..3]).unwrap(), (least, DEFAULT_TIMEOUT));
        for (name, value) in [
            ("EVENPATH_RANK", "4"),
            ("EVENPATH_SIZE", "-1"),
            ("EVENPATH_SIZE", "4000000000"),
            ("EVENPATH_RANK", "x"),
            ("EVENPATH_TIMEOUT", "0"),
            ("EVENPATH_ADDRESS", "host"),
            ("EVENPATH_ADDRESS", ":7000"),
            ("EVENPATH_ADDRESS", "host:70000"),
            ("EVENPATH_ADDRESS", "host\n:1"),
            ("EVENPATH_BIND", "0.0.0.0\n"),
            ("EVENPATH_BIND", ""),
            ("EVENPATH_SECRET", ""),
        ] {
            let changed = ALL.map(|variable| if variable.0 == name { (name, value) } else { variable });
            assert!(of(&changed).unwrap_err().to_string().contains(name), "{name}={value}");
        }
        for missing in ["EVENPATH_RANK", "EVENPATH_SIZE", "EVENPATH_ADDRESS"] {
            let others: Vec<_> = ALL.into_iter().filter(|variable| variable.0 != missing).collect();
            assert!(of(&others).unwrap_err().to_string().contains(&format!("{missing} is not set")));
        }
    }

    #[test]
    fn a_secret_may_be_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let with_file = |name| [&ALL[..3], &[(name, path.to_str().unwrap())]].concat();
        let error = of(&with_file("EVENPATH_SECRET_FILE")).unwrap_err().to_string();
        assert!(error.contains("EVENPATH_SECRET_FILE: ") && error.contains("secret: "), "{error}");
        for end in ["", "\n", "\r\n"] {
            std::fs::write(&path, format!("s{end}")).unwrap();
            assert_eq!(of(&with_file("EVENPATH_SECRET_FILE")).unwrap().0.secret, Secret::new(b"s"));
        }
        let both = [&with_file("EVENPATH_SECRET_FILE")[..], &ALL[5..]].concat();
        assert!(of(&both).unwrap_err().to_string().contains("both set"));
        std::fs::write(&path, "\n").unwrap();
        let error = of(&with_file("EVENPATH_SECRET_FILE")).unwrap_err().to_string();
        assert!(error.contains("the secret in EVENPATH_SECRET_FILE is empty"), "{error}");
    }
}
