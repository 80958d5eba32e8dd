//! Reads the messages that a process that is not a rank, or a faulty rank, may send: frames, and the start of
//! a connection.
#![no_main]

use evenpath_distributed::fuzzing::{frames, greeting};
use libfuzzer_sys::fuzz_target;

/// Start of connections: "evenpath", the version, and the kind of message.
const HEAD: &[u8] = b"evenpath\x02\0\0\0\0\0\0\0";

fuzz_target!(|bytes: &[u8]| {
    frames(bytes);
    greeting(&[bytes]);
    // The rest of a hello, at once and byte by byte, and then a proof.
    greeting(&[HEAD, bytes]);
    let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
    greeting(&[&[HEAD], &pieces[..]].concat());
});
