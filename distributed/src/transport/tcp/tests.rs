//! Starts and connections of ranks, with processes that are not ranks or do not follow the protocol.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::accept::accept_all;
use super::address::TcpOptions;
use super::dial::dial;
use super::hello::{CHALLENGE, HEAD, Hello, LONGEST_REFUSAL, PROOF, Secret, accept, challenge, refusal};
use super::start::connect;
use super::stream::{Writer, read_frame};
use crate::error::{Cause, Failure, Operation, Result};
use crate::transport::frame::{Frame, HEADER};
use crate::transport::interface::Transport;
use crate::transport::mailbox::AHEAD;
use crate::transport::message::{Missing, Report, Tag, Wait};

type Started = Result<Arc<dyn Transport>>;

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn options(index: usize, size: usize, root: &str) -> TcpOptions {
    TcpOptions { index, size, root: root.into(), bind: None, secret: Secret::default() }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Joins a cluster in a separate thread.
fn spawn(own: TcpOptions, limit: f64) -> thread::JoinHandle<Started> {
    thread::spawn(move || connect(&own, seconds(limit)))
}

fn text(started: Started) -> String {
    started.err().expect("it does not start").to_string()
}

/// Connects to a port where a rank will listen.
fn raw(address: &str) -> TcpStream {
    let begin = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(stream) if stream.local_addr().unwrap() != stream.peer_addr().unwrap() => return stream,
            _ => thread::sleep(Duration::from_millis(5)),
        }
        assert!(begin.elapsed() < seconds(10.0), "none listens at {address}");
    }
}

/// Rank 0 of two, and a connection that it takes for rank 1.
fn with_false_rank() -> (Arc<dyn Transport>, TcpStream) {
    let address = free_address();
    let root = spawn(options(0, 2, &address), 10.0);
    let somewhere = Some("127.0.0.1:1".parse().unwrap());
    let deadline = Instant::now() + seconds(10.0);
    let stream = dial(&address, 0, &options(1, 2, &address), deadline, |_| Ok(somewhere)).unwrap();
    let list = read_frame(&mut &stream, |_, _| ()).unwrap();
    assert!(matches!(list, Some(Frame::Data(..))));
    (root.join().unwrap().unwrap(), stream)
}

fn tag(sequence: u64) -> Tag {
    Tag { run: 0, sequence, operation: Operation::Halo }
}

fn soon() -> Instant {
    Instant::now() + seconds(10.0)
}

#[test]
fn strangers_do_not_delay_a_start() {
    let address = free_address();
    let root = spawn(options(0, 3, &address), 8.0);
    let silent: Vec<TcpStream> = (0..12).map(|_| raw(&address)).collect();
    for _ in 0..40 {
        let scan = socket2::Socket::from(raw(&address));
        scan.set_linger(Some(Duration::ZERO)).unwrap(); // a reset
    }
    let garbage: Vec<TcpStream> = (0..12)
        .map(|at| {
            let mut stream = raw(&address);
            stream.write_all(if at % 2 == 0 { b"GET / HTTP/1.1\r\n\r\n" } else { &[0xff; 4096] }).unwrap();
            stream
        })
        .collect();
    let mut dripping = raw(&address);
    let drip = thread::spawn(move || {
        let hello = Hello { size: 3, index: 1, nonce: [0; 32], address: None }.to_bytes();
        // Ends when the connection is dropped.
        hello.iter().try_for_each(|byte| {
            thread::sleep(Duration::from_millis(200));
            dripping.write_all(&[*byte])
        })
    });
    let others = [1, 2].map(|rank| spawn(options(rank, 3, &address), 8.0));
    let started = [root]
        .into_iter()
        .chain(others)
        .map(|rank| rank.join().unwrap().map(|_| ()).map_err(|e| e.to_string()));
    assert_eq!(started.collect::<Vec<_>>(), [const { Ok(()) }; 3]);
    drop((silent, garbage));
    let _ = drip.join().unwrap();
}

#[test]
fn none_joins_without_the_secret() {
    let address = free_address();
    let with_secret = |rank, secret| TcpOptions { secret, ..options(rank, 2, &address) };
    let root = spawn(with_secret(0, Secret::new(b"s")), 10.0);
    for secret in [Secret::default(), Secret::new(b"t")] {
        let refused = text(connect(&with_secret(1, secret), seconds(5.0)));
        assert!(refused.contains("this rank is refused: it does not have this rank's secret"), "{refused}");
    }
    let rank = connect(&with_secret(1, Secret::new(b"s")), seconds(5.0));
    let root = root.join().unwrap().unwrap();
    root.send(1, tag(0), vec![7], soon()).unwrap();
    assert_eq!(rank.unwrap().receive(0, tag(0), soon()), Ok(vec![7]));
}

/// The listening side must prove that it has the secret, too.
#[test]
fn none_is_joined_without_the_secret() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = TcpOptions {
        secret: Secret::new(b"s"),
        ..options(1, 2, &listener.local_addr().unwrap().to_string())
    };
    let rank = spawn(own, 5.0);
    let (mut stream, _) = listener.accept().unwrap();
    let mut hello = [0; 60];
    stream.read_exact(&mut hello).unwrap();
    stream.write_all(&challenge(2, 0, &[1; 32])).unwrap();
    let mut proof = [0; PROOF];
    stream.read_exact(&mut proof).unwrap();
    stream.write_all(&accept(&proof)).unwrap();
    let refused = text(rank.join().unwrap());
    assert!(refused.contains("it does not have this rank's secret"), "{refused}");
}

#[test]
fn other_versions_are_refused_in_words() {
    let address = free_address();
    let root = spawn(options(0, 2, &address), 1.5);
    let mut other = raw(&address);
    let mut hello = Hello { size: 2, index: 1, nonce: [0; 32], address: None }.to_bytes();
    hello[8] = 1;
    other.write_all(&hello).unwrap();
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).unwrap();
    let words = "its protocol has version 1, but this one has 2";
    assert!(String::from_utf8_lossy(&answer).contains(words), "{answer:?}");
    let late = text(root.join().unwrap());
    assert!(late.starts_with("rank 1 failed: ") && late.contains(words), "{late}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let rank = spawn(options(1, 2, &listener.local_addr().unwrap().to_string()), 5.0);
    let (mut stream, _) = listener.accept().unwrap();
    let mut newer = refusal(&"use version 3, ".repeat(LONGEST_REFUSAL));
    newer[8] = 3;
    stream.write_all(&newer).unwrap();
    let refused = text(rank.join().unwrap());
    assert!(refused.contains("this rank is refused: use version 3, use"), "{refused}");
}

#[test]
fn ranks_of_other_clusters_are_refused_with_a_reason() {
    for (index, size, reason) in [
        (1, 3, "it is of a cluster of 3 ranks, but rank 0 is of one of 2 (EVENPATH_SIZE)"),
        (0, 2, "two processes are this rank (EVENPATH_RANK)"),
    ] {
        let address = free_address();
        let root = spawn(options(0, 2, &address), 5.0);
        let told = dial(&address, 0, &options(index, size, &address), soon(), |_| Ok(None)).unwrap_err();
        assert!(told.to_string().contains(reason), "{told}");
        let found = text(root.join().unwrap());
        assert_eq!(found, format!("rank {index} failed: {reason}"));
    }
}

/// The timeout covers the whole start, even if bytes keep arriving.
#[test]
fn a_slow_rank_0_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let rank = spawn(options(1, 2, &listener.local_addr().unwrap().to_string()), 1.0);
    let (mut stream, _) = listener.accept().unwrap();
    let begin = Instant::now();
    for byte in challenge(2, 0, &[0; 32]).iter().take(HEAD + CHALLENGE - 1) {
        if stream.write_all(&[*byte]).is_err() || rank.is_finished() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert!(begin.elapsed() < seconds(5.0), "the rank reads on");
    let late = text(rank.join().unwrap());
    assert!(
        late.starts_with("rank 0 failed: ")
            && late.contains("it did not answer")
            && late.contains("EVENPATH_ADDRESS"),
        "{late}"
    );
}

#[test]
fn a_list_of_addresses_that_is_too_short_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let rank = spawn(options(2, 3, &address), 5.0);
    let mut accepted = None;
    let stop = std::sync::atomic::AtomicBool::new(false);
    accept_all(&listener, &options(0, 3, &address), 2..3, (soon(), &stop), |_, stream| {
        accepted = Some(stream);
    })
    .unwrap();
    let list = Frame::Data(tag(0), br#"[null,"127.0.0.1:1"]"#.to_vec());
    Writer::new(accepted.unwrap()).write(list, soon()).unwrap();
    let refused = text(rank.join().unwrap());
    assert!(refused.contains("the list of addresses has 2, but there are 3 ranks"), "{refused}");
}

/// Rank 0 listens at an address that the others do not use, and rank 1 at another than it connects from.
#[test]
fn ranks_may_listen_at_other_addresses() {
    let address = free_address();
    let port = address.rsplit_once(':').unwrap().1;
    let at = |bind: &str, own: TcpOptions| TcpOptions { bind: Some(bind.into()), ..own };
    let ranks = [
        spawn(at("127.0.0.1", options(0, 3, &format!("service.invalid:{port}"))), 8.0),
        spawn(at("127.0.0.2", options(1, 3, &address)), 8.0),
        spawn(options(2, 3, &address), 8.0),
    ];
    let ranks = ranks.map(|rank| rank.join().unwrap().unwrap());
    ranks[2].send(1, tag(0), vec![3], soon()).unwrap();
    assert_eq!(ranks[1].receive(2, tag(0), soon()), Ok(vec![3]));
}

#[test]
fn invalid_messages_are_named() {
    let header = |kind: u8, operation: u8, len: u64| {
        let mut bytes = vec![0; HEADER];
        (bytes[0], bytes[1]) = (kind, operation);
        bytes[24..].copy_from_slice(&len.to_le_bytes());
        bytes
    };
    let protocol = |reason: &str| Cause::Protocol(reason.into());
    let cut = Cause::Disconnected("it ended in the middle of a message".into());
    let most = 1_u64 << 36;
    for (bytes, cause) in [
        (header(77, 0, 0), protocol("a frame of kind 77")),
        (header(1, 200, 0), protocol("operation 200 is unknown")),
        (
            header(1, 0, most + 1),
            protocol(&format!("a frame of kind 1 with {} bytes, but the limit is {most}", most + 1)),
        ),
        (header(5, 0, 1), protocol("a frame of kind 5 with 1 bytes, but the limit is 0")),
        ([header(1, 0, 0), header(1, 0, 0)].concat(), protocol("a second message in one `barrier`")),
        ([header(1, 0, 100), vec![0; 10]].concat(), cut.clone()),
        (header(1, 0, 0)[..31].to_vec(), cut),
    ] {
        let (root, mut stream) = with_false_rank();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(root.receive(1, tag(9), soon()), Err(Missing::Failed(Failure { rank: 1, cause })));
    }
}

/// After a message that was sent in part, the connection carries neither the rest nor anything else.
#[test]
fn nothing_follows_a_partial_message() {
    let (root, mut stream) = with_false_rank();
    let ends = stream.try_clone().unwrap();
    let watch = thread::spawn(move || {
        thread::sleep(seconds(6.0));
        let _ = ends.shutdown(Shutdown::Both); // ends writes that have no deadline
    });
    let sent = root.send(1, tag(0), vec![0x5a; 64 << 20], Instant::now() + seconds(0.3));
    assert_eq!(sent, Err(Missing::Timeout));
    let next = root.send(1, tag(1), vec![1], soon());
    assert!(matches!(next, Err(Missing::Lost(reason)) if reason.contains("sent in part")));
    root.abort(Failure { rank: 1, cause: Cause::Error("slow".into()) });
    drop(root);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all.len() > HEADER && all.len() < 64 << 20, "{} bytes", all.len());
    assert!(all[HEADER..].iter().all(|&byte| byte == 0x5a), "another frame follows");
    drop(watch);
}

/// The deadline covers the message, though each write ends in time.
#[test]
fn a_slow_reader_does_not_extend_a_deadline() {
    let (root, mut stream) = with_false_rank();
    let reader = thread::spawn(move || {
        let mut piece = vec![0; 1 << 18];
        // 25 s for the whole message.
        while matches!(stream.read(&mut piece), Ok(1..)) {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let sent = root.send(1, tag(0), vec![0; 64 << 20], Instant::now() + seconds(1.0));
    assert_eq!(sent, Err(Missing::Timeout));
    drop(root);
    reader.join().unwrap();
}

/// A rank that is far ahead waits, and loses nothing.
#[test]
fn messages_ahead_of_time_are_held_back() {
    let (root, stream) = with_false_rank();
    let (sent, messages) = (std::sync::atomic::AtomicU64::new(0), (2 * AHEAD) >> 24);
    thread::scope(|scope| {
        let ahead = scope.spawn(|| {
            let mut writer = Writer::new(stream);
            for sequence in 1..=messages {
                writer
                    .write(Frame::Data(tag(sequence), vec![sequence as u8; 1 << 24]), soon() + seconds(20.0))
                    .unwrap();
                sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            writer // dropped earlier, it would end the connection
        });
        let count = || sent.load(std::sync::atomic::Ordering::Relaxed);
        // Until there is no progress: the limit here, and the system's buffers of a connection, are full.
        let mut last = (count(), Instant::now());
        while last.1.elapsed() < seconds(1.0) || last.0 < (AHEAD >> 24) {
            assert!(count() < messages, "it was not held back");
            if count() != last.0 {
                last = (count(), Instant::now());
            }
            thread::sleep(Duration::from_millis(10));
        }
        for sequence in 1..=messages {
            let message = root.receive(1, tag(sequence), soon() + seconds(20.0)).unwrap();
            assert!(message.len() == 1 << 24 && message.iter().all(|&byte| byte == sequence as u8));
        }
        ahead.join().unwrap();
    });
}

/// A rank answers while it waits or computes. One that does not answer counts as not waiting.
#[test]
fn ranks_report_their_waits() {
    let address = free_address();
    let ranks =
        [0, 1].map(|rank| spawn(options(rank, 2, &address), 8.0)).map(|rank| rank.join().unwrap().unwrap());
    assert_eq!(ranks[0].ask(1, soon()), None);
    let report = Report { operation: Operation::Halo, missing: vec![0], present: Vec::new() };
    assert_eq!(ranks[1].receive(0, tag(4), Instant::now() + seconds(0.05)), Err(Missing::Timeout));
    assert_eq!(ranks[0].ask(1, soon()), Some(report), "the wait stays noted after its end");
    ranks[0].send(1, tag(4), Vec::new(), soon()).unwrap();
    assert_eq!(ranks[1].receive(0, tag(4), soon()), Ok(Vec::new()));
    let peers: Arc<[usize]> = Arc::new([0]);
    ranks[1].set_wait(Some(Wait::Begin { peers: Arc::clone(&peers), tag: tag(5) }));
    let report = |missing, present| Some(Report { operation: Operation::Halo, missing, present });
    assert_eq!(ranks[0].ask(1, soon()), report(vec![0], vec![]));
    ranks[0].send(1, tag(5), Vec::new(), soon()).unwrap();
    while ranks[1].has(0, tag(5)) == Ok(false) {
        thread::yield_now();
    }
    assert_eq!(ranks[0].ask(1, soon()), report(vec![], vec![0]));
    ranks[1].set_wait(Some(Wait::Gpu { peers, tag: tag(6) }));
    assert_eq!(ranks[0].ask(1, soon()), report(vec![], vec![0]));

    let (root, _stream) = with_false_rank();
    assert_eq!(root.ask(1, Instant::now() + seconds(0.1)), None);
}
