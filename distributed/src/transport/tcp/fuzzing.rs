//! Parsing of bytes from a connection, without a connection.

use super::hello::{Greeting, HelloStep, Secret};
use super::stream::{ReadError, read_frame};
use crate::transport::frame::Frame;

/// Outcome for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::transport) enum Greeted {
    Waits,
    Known,
    Refused,
}

pub(in crate::transport) fn read(bytes: &mut &[u8]) -> Result<Option<Frame>, String> {
    let mut admitted = 0;
    read_frame(bytes, |_, piece| admitted += piece).map_err(|error| match error {
        ReadError::Io(error) => error.to_string(),
        ReadError::Cut => "cut".into(),
        ReadError::Frame(reason) => reason,
    })
}

pub(in crate::transport) fn greet(pieces: &[&[u8]]) -> Greeted {
    let (secret, mut greeting) = (Secret::new(b"unknown"), Greeting::default());
    for piece in pieces {
        match greeting.receive(piece, (4, 0), &secret, &[1; 32]) {
            HelloStep::More | HelloStep::Send(_) => {}
            HelloStep::Known { .. } => return Greeted::Known,
            HelloStep::Refuse(_) => return Greeted::Refused,
        }
    }
    Greeted::Waits
}
