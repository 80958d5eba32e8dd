//! Messages as bytes: a header of fixed length, then the payload.

use super::Tag;
use crate::error::{Failure, Operation};

/// Bytes of a header.
pub(super) const HEADER: usize = 32;

/// What one process sends another.
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
}

/// A header, of which the payload's bytes are to follow.
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

    /// The frame of this header and its payload, or what is wrong.
    pub(super) fn frame(self, payload: Vec<u8>) -> Result<Frame, String> {
        match self.kind {
            1 => {
                let operation = Operation::from_number(self.operation)
                    .ok_or_else(|| format!("operation {} is unknown", self.operation))?;
                Ok(Frame::Data(Tag { run: self.run, sequence: self.sequence, operation }, payload))
            }
            2 => Ok(Frame::Finished { run: self.run }),
            3 => Ok(Frame::Goodbye),
            4 => serde_json::from_slice(&payload).map(Frame::Abort).map_err(|error| error.to_string()),
            kind => Err(format!("a frame of kind {kind}")),
        }
    }
}

impl Frame {
    /// The header and the payload.
    pub(super) fn into_parts(self) -> ([u8; HEADER], Vec<u8>) {
        let (header, payload) = match self {
            Self::Data(Tag { run, sequence, operation }, payload) => {
                (Header { operation: operation as u8, run, sequence, ..Header::new(1, &payload) }, payload)
            }
            Self::Finished { run } => (Header { run, ..Header::new(2, &[]) }, Vec::new()),
            Self::Goodbye => (Header::new(3, &[]), Vec::new()),
            Self::Abort(failure) => {
                // Strings and numbers have a text.
                let payload = serde_json::to_vec(&failure).unwrap_or_default();
                (Header::new(4, &payload), payload)
            }
        };
        (header.to_bytes(), payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    #[test]
    fn frames_survive_as_bytes() {
        let tag = Tag { run: 3, sequence: u64::MAX, operation: Operation::Halo };
        let failure = Failure { rank: 7, cause: Cause::Panic("“oh”\n".into()) };
        let frames = [
            Frame::Data(tag, vec![1, 2, 3]),
            Frame::Finished { run: 9 },
            Frame::Goodbye,
            Frame::Abort(failure),
        ];
        for frame in frames {
            let (header, payload) = frame.clone().into_parts();
            let header = Header::from_bytes(&header);
            assert_eq!(header.len, payload.len() as u64);
            assert_eq!(header.frame(payload), Ok(frame));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
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
}
