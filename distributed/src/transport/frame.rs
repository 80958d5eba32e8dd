//! Encoding of messages: a header of fixed length, then the payload.

use super::message::{Report, Tag};
use crate::error::{Cause, Failure, Operation};

/// Size of a header, in bytes.
pub(super) const HEADER: usize = 32;
/// Maximum message between two ranks: 64 GiB.
pub(super) const LONGEST_MESSAGE: u64 = 1 << 36;
/// Maximum payload of any other frame.
const LONGEST_NOTE: u64 = 1 << 20;
/// Maximum text of a failure, in bytes. In JSON a byte takes at most six.
const LONGEST_TEXT: usize = 1 << 16;

/// A unit of communication between processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message.
    Data(Tag, Vec<u8>),
    /// The sender has ended a run.
    Finished { run: u64 },
    /// The sender has left the cluster.
    Goodbye,
    /// A rank failed.
    Abort(Failure),
    /// Asks which rank the receiver waits for.
    Ask,
    /// The answer to `Ask`.
    Answer(Option<Report>),
}

/// A header, to be followed by the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    kind: u8,
    operation: u8,
    run: u64,
    sequence: u64,
    pub(super) len: u64,
}

impl Header {
    fn new(kind: u8, payload: &[u8]) -> Self {
        Self { kind, operation: 0, run: 0, sequence: 0, len: payload.len() as u64 }
    }

    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind;
        bytes[1] = self.operation;
        bytes[8..16].copy_from_slice(&self.run.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER]) -> Self {
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        Self { kind: bytes[0], operation: bytes[1], run: number(8), sequence: number(16), len: number(24) }
    }

    /// Returns the tag if the payload is a message, `None` if it is a note; the error describes an invalid
    /// header. Called before the payload is read.
    pub(super) fn check(self) -> Result<Option<Tag>, String> {
        let (tag, limit) = match self.kind {
            1 => {
                let operation = Operation::from_number(self.operation)
                    .ok_or_else(|| format!("operation {} is unknown", self.operation))?;
                (Some(Tag { run: self.run, sequence: self.sequence, operation }), LONGEST_MESSAGE)
            }
            2 | 3 | 5 => (None, 0),
            4 | 6 => (None, LONGEST_NOTE),
            kind => return Err(format!("a frame of kind {kind}")),
        };
        if self.len > limit {
            return Err(format!(
                "a frame of kind {} with {} bytes, but the limit is {limit}",
                self.kind, self.len
            ));
        }
        Ok(tag)
    }

    /// Returns the frame of this header and its payload; the error describes an invalid one.
    pub(super) fn frame(self, payload: Vec<u8>) -> Result<Frame, String> {
        if let Some(tag) = self.check()? {
            return Ok(Frame::Data(tag, payload));
        }
        let read = match self.kind {
            2 => Ok(Frame::Finished { run: self.run }),
            3 => Ok(Frame::Goodbye),
            4 => serde_json::from_slice(&payload).map(Frame::Abort),
            5 => Ok(Frame::Ask),
            _ => serde_json::from_slice(&payload).map(Frame::Answer),
        };
        read.map_err(|error| error.to_string())
    }
}

impl Frame {
    /// Splits into header and payload.
    pub(super) fn into_parts(self) -> ([u8; HEADER], Vec<u8>) {
        let (header, payload) = match self {
            Self::Data(Tag { run, sequence, operation }, payload) => {
                (Header { operation: operation as u8, run, sequence, ..Header::new(1, &payload) }, payload)
            }
            Self::Finished { run } => (Header { run, ..Header::new(2, &[]) }, Vec::new()),
            Self::Goodbye => (Header::new(3, &[]), Vec::new()),
            Self::Abort(failure) => note(4, &shortened(failure)),
            Self::Ask => (Header::new(5, &[]), Vec::new()),
            Self::Answer(report) => note(6, &report),
        };
        (header.to_bytes(), payload)
    }
}

fn note(kind: u8, value: &impl serde::Serialize) -> (Header, Vec<u8>) {
    // Serializing strings and numbers cannot fail.
    let payload = serde_json::to_vec(value).unwrap_or_default();
    (Header::new(kind, &payload), payload)
}

/// Shortens the text of a failure to fit into a frame.
fn shortened(mut failure: Failure) -> Failure {
    if let Cause::Error(text)
    | Cause::Panic(text)
    | Cause::Disconnected(text)
    | Cause::Nccl(text)
    | Cause::Protocol(text) = &mut failure.cause
        && text.len() > LONGEST_TEXT
    {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn frames_survive_as_bytes() {
        let tag = Tag { run: 3, sequence: u64::MAX, operation: Operation::Halo };
        let failure = Failure { rank: 7, cause: Cause::Panic("“oh”\n".into()) };
        let frames = [
            Frame::Data(tag, vec![1, 2, 3]),
            Frame::Finished { run: 9 },
            Frame::Goodbye,
            Frame::Abort(failure),
            Frame::Ask,
            Frame::Answer(None),
            Frame::Answer(Some(Report { operation: Operation::Halo, missing: vec![3], present: vec![0, 2] })),
        ];
        for frame in frames {
            let (header, payload) = frame.clone().into_parts();
            let header = Header::from_bytes(&header);
            assert_eq!(header.len, payload.len() as u64);
            assert_eq!(header.frame(payload), Ok(frame));
        }
    }

    #[test]
    fn invalid_frames_are_refused() {
        let mut bytes = Frame::Goodbye.into_parts().0;
        bytes[0] = 99;
        assert!(Header::from_bytes(&bytes).frame(Vec::new()).unwrap_err().contains("99"));
        let (mut bytes, _) =
            Frame::Data(Tag { run: 0, sequence: 0, operation: Operation::Barrier }, vec![]).into_parts();
        bytes[1] = 200;
        assert!(Header::from_bytes(&bytes).frame(Vec::new()).unwrap_err().contains("200"));
        bytes[0] = 4;
        assert!(Header::from_bytes(&bytes).frame(b"{".to_vec()).is_err());
    }

    #[test]
    fn lengths_have_limits() {
        let announce = |frame: Frame, len: u64| {
            let header = Header::from_bytes(&frame.into_parts().0);
            Header { len, ..header }.check()
        };
        let tag = Tag { run: 0, sequence: 0, operation: Operation::Halo };
        let failure = Failure { rank: 0, cause: Cause::Error(String::new()) };
        for (frame, limit) in [
            (Frame::Data(tag, Vec::new()), LONGEST_MESSAGE),
            (Frame::Finished { run: 1 }, 0),
            (Frame::Goodbye, 0),
            (Frame::Ask, 0),
            (Frame::Abort(failure), LONGEST_NOTE),
            (Frame::Answer(None), LONGEST_NOTE),
        ] {
            assert!(announce(frame.clone(), limit).is_ok(), "{frame:?}");
            for len in [limit + 1, u64::MAX] {
                let refused = announce(frame.clone(), len).unwrap_err();
                assert!(refused.contains(&format!("{len} bytes")), "{refused}");
            }
        }
    }

    #[test]
    fn long_texts_are_shortened() {
        for letter in ["x", "\u{1}", "é"] {
            let failure = Failure { rank: 1, cause: Cause::Panic(letter.repeat(3 << 20)) };
            let (header, payload) = Frame::Abort(failure).into_parts();
            let frame = Header::from_bytes(&header).frame(payload).unwrap();
            let Frame::Abort(Failure { rank: 1, cause: Cause::Panic(text) }) = frame else { panic!() };
            assert!(text.ends_with('…') && text.len() > LONGEST_TEXT - 4);
        }
    }
}
