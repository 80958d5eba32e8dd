//! Entry points of fuzz targets: parsers of bytes from a connection.

use super::frame::{Frame, HEADER, Header};
use super::tcp::fuzzing::{Greeted, greet, read};

/// Reads frames from bytes until the end or an error. Each frame survives encoding, and none has more bytes
/// than the input.
///
/// # Panics
///
/// If an assertion fails.
pub fn frames(mut bytes: &[u8]) {
    loop {
        let before = bytes.len();
        let Ok(Some(frame)) = read(&mut bytes) else { return };
        assert!(bytes.len() + HEADER <= before);
        if let Frame::Data(_, payload) = &frame {
            assert_eq!(bytes.len() + HEADER + payload.len(), before);
        }
        let (header, payload) = frame.clone().into_parts();
        let header = Header::from_bytes(&header);
        assert_eq!(header.len, payload.len() as u64);
        // Texts that are too long are shortened once.
        let again = header.frame(payload).expect("a frame that was read");
        if !matches!(frame, Frame::Abort(_)) {
            assert_eq!(again, frame);
        }
    }
}

/// Greets a connection that sends these pieces: it is refused or asked for more, but not accepted as a rank,
/// since it has no proof.
///
/// # Panics
///
/// If an assertion fails.
pub fn greeting(pieces: &[&[u8]]) {
    assert_ne!(greet(pieces), Greeted::Known);
}
