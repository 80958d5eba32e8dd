//! Start of a connection: both ends announce their rank, and prove that they have the cluster's secret.
//!
//! | from the rank that | bytes |
//! |---|---|
//! | connects | head, size of the cluster, its rank, nonce, length of its address, address |
//! | listens | head, size of the cluster, its rank, nonce |
//! | connects | proof |
//! | listens | head, proof |
//!
//! A head is "evenpath", the version and the kind of message. The listening rank may refuse instead: head,
//! length, text. Head and refusal are the same in all versions. A proof is the HMAC-SHA-256 with the secret
//! of the role, the whole first message and the whole second: nonces are new for each connection, so a proof
//! is useless for another.

use std::fmt;
use std::net::SocketAddr;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const MAGIC: [u8; 8] = *b"evenpath";
/// Changes with this protocol and with the frames.
pub(super) const VERSION: u32 = 2;
/// Size of a head, in bytes.
pub(super) const HEAD: usize = 16;
/// Size of the part before the address, in bytes.
const FIXED: usize = HEAD + 44;
/// Size of a challenge after the head, in bytes.
pub(super) const CHALLENGE: usize = 40;
/// Size of a proof, in bytes.
pub(super) const PROOF: usize = 32;
/// Maximum size of an address, in bytes.
const LONGEST_ADDRESS: usize = 64;
/// Maximum size of a refusal's text, in bytes.
pub(super) const LONGEST_REFUSAL: usize = 1024;
/// Maximum size of a hello and a proof, in bytes.
pub(super) const LONGEST: usize = FIXED + LONGEST_ADDRESS + PROOF;

const HELLO_KIND: u32 = 0;
pub(super) const CHALLENGE_KIND: u32 = 1;
pub(super) const ACCEPT_KIND: u32 = 2;
pub(super) const REFUSE_KIND: u32 = 3;

/// A random number used for one connection.
pub(super) type Nonce = [u8; 32];

/// Shared secret of a cluster: its digest, which is the key of proofs. None by default.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Secret(Option<[u8; PROOF]>);

impl Secret {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(Some(Sha256::digest(bytes).into()))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Proof that one end of a connection has the secret.
    pub(super) fn proof(&self, role: Role, hello: &[u8], challenge: &[u8]) -> [u8; PROOF] {
        self.mac(role, hello, challenge).finalize().into_bytes().into()
    }

    /// Checks a proof, in constant time for all invalid ones.
    fn verify(&self, role: Role, hello: &[u8], challenge: &[u8], proof: &[u8]) -> bool {
        self.mac(role, hello, challenge).verify_slice(proof).is_ok()
    }

    fn mac(&self, role: Role, hello: &[u8], challenge: &[u8]) -> Hmac<Sha256> {
        // The key is padded with zeros to a block of the hash.
        let mut key = [0; 64];
        key[..PROOF].copy_from_slice(&self.0.unwrap_or_default());
        let mut mac = Hmac::<Sha256>::new(&key.into());
        mac.update(match role {
            Role::Connects => b"evenpath connects",
            Role::Listens => b"evenpath listens ",
        });
        mac.update(&(hello.len() as u64).to_le_bytes());
        mac.update(hello);
        mac.update(challenge);
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "no secret" } else { "a secret" })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Connects,
    Listens,
}

/// Draws a random number.
pub(super) fn nonce() -> Result<Nonce> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)
        .map_err(|error| Error::Start { reason: format!("cannot get random numbers: {error}") })?;
    Ok(nonce)
}

/// Announcement of the connecting rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    /// Number of ranks in its cluster.
    pub(super) size: u32,
    /// Its rank.
    pub(super) index: u32,
    pub(super) nonce: Nonce,
    /// Address at which it listens for higher ranks; `None` if the connection is between ranks other than 0.
    pub(super) address: Option<SocketAddr>,
}

/// Reason why bytes are not a hello.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// They are not of this protocol: no answer is sent.
    Stranger,
    /// They are from another process of evenpath, which is sent this text.
    Because(String),
}

impl Hello {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let address = self.address.map(|address| address.to_string()).unwrap_or_default();
        let mut bytes = head(HELLO_KIND);
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(&self.index.to_le_bytes());
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&(address.len() as u32).to_le_bytes());
        bytes.extend_from_slice(address.as_bytes());
        bytes
    }

    /// Parses the hello at the start of `bytes`, and returns its length too; `None` if more bytes are needed.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refused> {
        let Some(kind) = parse_head(bytes)? else { return Ok(None) };
        if kind != HELLO_KIND {
            return Err(Refused::Stranger);
        }
        let Some(fixed) = bytes.get(HEAD..FIXED) else { return Ok(None) };
        let mut nonce = [0; 32];
        nonce.copy_from_slice(&fixed[8..40]);
        let (size, index, len) = (number(fixed, 0), number(fixed, 4), number(fixed, 40) as usize);
        if len > LONGEST_ADDRESS {
            let words = format!("its address has {len} bytes, but the limit is {LONGEST_ADDRESS}");
            return Err(Refused::Because(words));
        }
        let Some(address) = bytes.get(FIXED..FIXED + len) else { return Ok(None) };
        let address = match std::str::from_utf8(address) {
            Ok("") => None,
            Ok(text) => Some(text.parse().map_err(|_| {
                Refused::Because(format!("its address {text:?} is not an IP address with a port"))
            })?),
            Err(_) => return Err(Refused::Because("its address is not text".into())),
        };
        Ok(Some((Self { size, index, nonce, address }, FIXED + len)))
    }
}

/// Encodes the answer to a hello, before the proofs.
pub(super) fn challenge(size: u32, index: u32, nonce: &Nonce) -> Vec<u8> {
    let mut bytes = head(CHALLENGE_KIND);
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes.extend_from_slice(nonce);
    bytes
}

/// Encodes the answer to a rank that has proved that it has the secret.
pub(super) fn accept(proof: &[u8; PROOF]) -> Vec<u8> {
    let mut bytes = head(ACCEPT_KIND);
    bytes.extend_from_slice(proof);
    bytes
}

/// Encodes the answer to a process that is not accepted.
pub(super) fn refusal(words: &str) -> Vec<u8> {
    let words = &words[..words.floor_char_boundary(LONGEST_REFUSAL)];
    let mut bytes = head(REFUSE_KIND);
    bytes.extend_from_slice(&(words.len() as u32).to_le_bytes());
    bytes.extend_from_slice(words.as_bytes());
    bytes
}

fn head(kind: u32) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes
}

/// Returns the kind of message after a head; `None` if more bytes are needed. A refusal may be of any
/// version.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<u32>, Refused> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(Refused::Stranger);
    }
    if bytes.len() < HEAD {
        return Ok(None);
    }
    let (version, kind) = (number(bytes, 8), number(bytes, 12));
    if version != VERSION && kind != REFUSE_KIND {
        let words =
            format!("its protocol has version {version}, but this one has {VERSION}: use the same release");
        return Err(Refused::Because(words));
    }
    Ok(Some(kind))
}

/// Reads the number at a position within the bytes.
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

/// The listening side: takes bytes as they arrive, and returns the next step.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    received: Vec<u8>,
    /// The hello, its length, and the challenge that was sent.
    hello: Option<(Hello, usize, Vec<u8>)>,
}

/// Next step with a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelloStep {
    /// Wait for more.
    More,
    /// Send this, and wait for more.
    Send(Vec<u8>),
    /// It has the secret. Send `accept` if it is a missing rank.
    Known { hello: Hello, accept: Vec<u8> },
    /// Drop it.
    Refuse(Refused),
}

impl Greeting {
    /// Takes bytes, as listening rank `index` of `size`.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        (size, index): (u32, u32),
        secret: &Secret,
        nonce: &Nonce,
    ) -> HelloStep {
        self.received.extend_from_slice(bytes);
        if self.received.len() > LONGEST {
            return HelloStep::Refuse(Refused::Stranger);
        }
        let Some((hello, len, challenged)) = &self.hello else {
            return match Hello::parse(&self.received) {
                Ok(None) => HelloStep::More,
                Ok(Some((hello, len))) => {
                    let challenge = challenge(size, index, nonce);
                    self.hello = Some((hello, len, challenge.clone()));
                    HelloStep::Send(challenge)
                }
                Err(refused) => HelloStep::Refuse(refused),
            };
        };
        let (said, proof) = self.received.split_at(*len);
        if proof.len() < PROOF {
            return HelloStep::More;
        }
        if !secret.verify(Role::Connects, said, challenged, proof) {
            let words = "it does not have this rank's secret: EVENPATH_SECRET or EVENPATH_SECRET_FILE must be the same on all ranks";
            return HelloStep::Refuse(Refused::Because(words.into()));
        }
        let accept = accept(&secret.proof(Role::Listens, said, challenged));
        HelloStep::Known { hello: hello.clone(), accept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let address = Some("10.0.0.1:7000".parse().unwrap());
        Hello { size: 3, index: 1, nonce: [7; 32], address }
    }

    /// Steps of rank 0 of three, with a secret, for bytes that arrive in pieces of `piece` bytes.
    fn steps(bytes: &[u8], piece: usize) -> Vec<HelloStep> {
        let mut greeting = Greeting::default();
        let steps =
            bytes.chunks(piece).map(|part| greeting.receive(part, (3, 0), &Secret::new(b"s"), &[9; 32]));
        steps.filter(|step| *step != HelloStep::More).collect()
    }

    fn with_proof(secret: &Secret) -> Vec<u8> {
        let said = hello().to_bytes();
        let proof = secret.proof(Role::Connects, &said, &challenge(3, 0, &[9; 32]));
        [&said[..], &proof].concat()
    }

    #[test]
    fn a_rank_is_known_by_the_secret() {
        let secret = Secret::new(b"s");
        let challenge = challenge(3, 0, &[9; 32]);
        let accept = accept(&secret.proof(Role::Listens, &hello().to_bytes(), &challenge));
        for piece in [1, 7] {
            let known = HelloStep::Known { hello: hello(), accept: accept.clone() };
            assert_eq!(steps(&with_proof(&secret), piece), [HelloStep::Send(challenge.clone()), known]);
        }
        for other in [Secret::new(b"t"), Secret::new(b""), Secret::default()] {
            let steps = steps(&with_proof(&other), 1);
            assert!(
                matches!(&steps[1], HelloStep::Refuse(Refused::Because(words)) if words.contains("secret"))
            );
        }
    }

    #[test]
    fn a_proof_is_for_one_connection_and_one_side() {
        let secret = Secret::new(b"s");
        let said = hello().to_bytes();
        let proof = secret.proof(Role::Connects, &said, &challenge(3, 0, &[9; 32]));
        for (role, nonce, index) in
            [(Role::Listens, [9; 32], 0), (Role::Connects, [8; 32], 0), (Role::Connects, [9; 32], 2)]
        {
            assert!(!secret.verify(role, &said, &challenge(3, index, &nonce), &proof), "{role:?}");
        }
        let other = Hello { index: 2, ..hello() }.to_bytes();
        assert!(!secret.verify(Role::Connects, &other, &challenge(3, 0, &[9; 32]), &proof));
        assert_eq!(format!("{secret:?}"), "a secret");
    }

    /// The expected value is from Python's `hmac` and `hashlib`.
    #[test]
    fn proofs_are_hmacs() {
        let proof = Secret::new(b"Jefe").proof(Role::Connects, b"what do ya", b" want for nothing?");
        let text = proof.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(text, "abd1b65630384387da632aa18dc7e35f74c952e933fa2b2a2724ddd22ff7ebb8");
    }

    #[test]
    fn other_versions_are_refused() {
        let mut bytes = hello().to_bytes();
        bytes[8] = 1;
        let words = "its protocol has version 1, but this one has 2: use the same release";
        assert_eq!(Hello::parse(&bytes), Err(Refused::Because(words.into())));
        // A refusal can be read in all versions.
        let mut refused = refusal("no");
        refused[8] = 1;
        assert_eq!(parse_head(&refused), Ok(Some(REFUSE_KIND)));
    }

    #[test]
    fn addresses_are_checked() {
        let with_address = |address: &[u8]| {
            let mut bytes = Hello { address: None, ..hello() }.to_bytes();
            bytes[FIXED - 4..].copy_from_slice(&(address.len() as u32).to_le_bytes());
            [&bytes, address].concat()
        };
        for good in ["127.0.0.1:1", "[::1]:65535"] {
            let (hello, len) = Hello::parse(&with_address(good.as_bytes())).unwrap().unwrap();
            assert_eq!((hello.address.unwrap().to_string(), len), (good.to_owned(), FIXED + good.len()));
        }
        let long = [b'1'; LONGEST_ADDRESS + 1];
        for bad in
            [&b"127.0.0.1:1\n127.0.0.1:2"[..], b"127.0.0.1", b"host:1", b"127.0.0.1:99999", b"\xff:1", &long]
        {
            assert!(matches!(Hello::parse(&with_address(bad)), Err(Refused::Because(_))), "{bad:?}");
        }
        // Refused by the announced length.
        assert!(matches!(Hello::parse(&with_address(&long)[..FIXED]), Err(Refused::Because(_))));
    }

    #[test]
    fn strangers_are_noticed_by_their_first_bytes() {
        for bytes in [&b"GET / HTTP/1.1"[..], b"evenpatH", b"\0", &refusal("no"), &challenge(3, 0, &[0; 32])]
        {
            assert_eq!(steps(bytes, bytes.len()), [HelloStep::Refuse(Refused::Stranger)], "{bytes:?}");
        }
        let endless = [hello().to_bytes(), vec![0; 200]].concat();
        assert_eq!(steps(&endless, endless.len() - 1).last(), Some(&HelloStep::Refuse(Refused::Stranger)));
    }
}
