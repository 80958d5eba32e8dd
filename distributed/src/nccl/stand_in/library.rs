//! The stand-in's implementation of NCCL's functions.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};

use super::state::{GROUP, GroupedTransfer, InjectedFault, Member, StandInState, misused, with};
use crate::nccl::functions::{
    BYTES, Config, Functions, Handle, IN_PROGRESS, INVALID_USAGE, SUCCESS, UniqueId,
};

const VERSION: c_int = 22_803;

unsafe extern "C" fn version(version: *mut c_int) -> c_int {
    // SAFETY: the caller passes valid memory.
    unsafe { *version = VERSION };
    SUCCESS
}

/// An identity in which every byte matters.
fn id(number: u64) -> [u8; 128] {
    std::array::from_fn(|at| if at < 8 { number.to_le_bytes()[at] } else { (at as u64 * 37 + number) as u8 })
}

unsafe extern "C" fn unique_id(result: *mut UniqueId) -> c_int {
    with(|state| {
        if let Some(code) = state.call(0, "ncclGetUniqueId") {
            return code;
        }
        state.ids += 1;
        // SAFETY: the caller passes valid memory.
        unsafe { (*result).0 = id(state.ids) };
        SUCCESS
    })
}

unsafe extern "C" fn init(
    result: *mut Handle,
    size: c_int,
    unique: UniqueId,
    rank: c_int,
    config: *mut Config,
) -> c_int {
    // SAFETY: the caller passes a configuration.
    let Config { size: bytes, magic, version, blocking, .. } = unsafe { config.read() };
    if !matches!((bytes, version), (24, 21_400) | (48, 21_800)) || (magic, blocking) != (0xcafe_beef, 0) {
        misused("a wrong configuration");
    }
    let (rank, size) = (rank as usize, size as usize);
    with(|state| {
        if unique.0 != id(state.ids) || rank >= size {
            misused("a wrong identity or rank");
        }
        if let Some(code) = state.call(rank, "ncclCommInitRankConfig") {
            return code;
        }
        state.handles += 1;
        let member = Member { id: state.ids, rank, size, ..Member::default() };
        state.communicators.insert(state.handles, member);
        *state.joined.entry(state.ids).or_default() += 1;
        // SAFETY: the caller passes valid memory.
        unsafe { *result = std::ptr::without_provenance_mut(state.handles) };
        IN_PROGRESS
    })
}

unsafe extern "C" fn split(
    handle: Handle,
    color: c_int,
    key: c_int,
    result: *mut Handle,
    config: *mut Config,
) -> c_int {
    // SAFETY: the caller passes a configuration.
    let Config { size: bytes, magic, version, blocking, .. } = unsafe { config.read() };
    if (bytes, magic, version, blocking) != (48, 0xcafe_beef, 21_800, 1) {
        misused("a wrong configuration");
    }
    with(|state| {
        state.call_with(handle, "ncclCommSplit", |state| {
            let member = state.member(handle);
            if color != 0 || key as usize != member.rank || member.is_quick || member.split.is_some() {
                misused("a wrong split");
            }
            member.split = Some(result.expose_provenance());
            let (id, rank) = (member.id, member.rank);
            if state.fault != Some((rank, InjectedFault::SplitHang)) {
                *state.splits.entry(id).or_default() += 1;
            }
            IN_PROGRESS
        })
    })
}

/// Splits a communicator once all ranks have started to. Returns true once the split has ended.
fn end_split(state: &mut StandInState, handle: Handle) -> bool {
    let Member { id, rank, size, split, .. } = *state.member(handle);
    let Some(result) = split else { return true };
    if state.splits.get(&id) != Some(&size) {
        return false;
    }
    state.member(handle).split = None;
    state.handles += 1;
    let quick = Member { id, rank, size, is_quick: true, ..Member::default() };
    state.communicators.insert(state.handles, quick);
    // SAFETY: the memory is valid until the communicator ends.
    unsafe {
        *std::ptr::with_exposed_provenance_mut::<Handle>(result) =
            std::ptr::without_provenance_mut(state.handles);
    }
    true
}

unsafe extern "C" fn group_start() -> c_int {
    GROUP.with_borrow_mut(|group| {
        if group.replace(Vec::new()).is_some() {
            misused("a group within a group");
        }
    });
    SUCCESS
}

fn add(operation: GroupedTransfer, name: &'static str, (kind, stream): (c_int, *mut c_void)) -> c_int {
    if kind != BYTES || !stream.is_null() {
        misused("another type than bytes, or a stream of a CPU");
    }
    let handle = std::ptr::without_provenance_mut(operation.handle);
    with(|state| {
        let size = state.member(handle).size;
        if operation.peer >= size || operation.peer == state.member(handle).rank || operation.bytes == 0 {
            misused("a wrong peer, or nothing to send");
        }
        state.call_with(handle, name, |_| {
            GROUP.with_borrow_mut(|group| match group {
                Some(operations) => operations.push(operation),
                None => misused("a send or receive outside of a group"),
            });
            SUCCESS
        })
    })
}

unsafe extern "C" fn send(
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    peer: c_int,
    handle: Handle,
    stream: *mut c_void,
) -> c_int {
    let (address, peer, handle) = (from.expose_provenance(), peer as usize, handle.addr());
    add(GroupedTransfer { is_send: true, address, bytes, peer, handle }, "ncclSend", (kind, stream))
}

unsafe extern "C" fn receive(
    to: *mut c_void,
    bytes: usize,
    kind: c_int,
    peer: c_int,
    handle: Handle,
    stream: *mut c_void,
) -> c_int {
    let (address, peer, handle) = (to.expose_provenance(), peer as usize, handle.addr());
    add(GroupedTransfer { is_send: false, address, bytes, peer, handle }, "ncclRecv", (kind, stream))
}

unsafe extern "C" fn group_end() -> c_int {
    let Some(operations) = GROUP.with_borrow_mut(Option::take) else { misused("the end of no group") };
    let Some(first) = operations.first() else { return SUCCESS };
    let handle = std::ptr::without_provenance_mut(first.handle);
    with(|state| {
        state.call_with(handle, "ncclGroupEnd", |state| {
            let Member { id, rank, is_quick, .. } = *state.member(handle);
            state.member(handle).has_had_groups = true;
            for operation in operations {
                let (from, to) =
                    if operation.is_send { (rank, operation.peer) } else { (operation.peer, rank) };
                if is_quick && !state.connections.contains(&(id, from, to)) {
                    misused("a blocking group that makes a connection");
                }
                state.connections.insert((id, from, to));
                if operation.is_send {
                    // SAFETY: the caller guarantees the memory until the exchange is complete.
                    let bytes = unsafe {
                        std::slice::from_raw_parts(
                            std::ptr::with_exposed_provenance::<u8>(operation.address),
                            operation.bytes,
                        )
                    };
                    state.messages.entry((id, from, to)).or_default().push_back(bytes.to_vec());
                } else {
                    state.member(handle).receives.push(operation);
                }
            }
            if is_quick { SUCCESS } else { IN_PROGRESS }
        })
    })
}

unsafe extern "C" fn async_error(handle: Handle, result: *mut c_int) -> c_int {
    let answer = with(|state| {
        let fault = state.fault;
        let Member { id, rank, size, has_had_groups, is_quick, .. } = *state.member(handle);
        match fault {
            Some((faulty, InjectedFault::Call("ncclCommGetAsyncError", code)))
                if faulty == rank && has_had_groups =>
            {
                return code;
            }
            Some((faulty, InjectedFault::Quick("ncclCommGetAsyncError", code)))
                if faulty == rank && has_had_groups && is_quick =>
            {
                return code;
            }
            Some((faulty, InjectedFault::Hang)) if faulty == rank && has_had_groups => return IN_PROGRESS,
            Some((faulty, InjectedFault::QuickHang)) if faulty == rank && has_had_groups && is_quick => {
                return IN_PROGRESS;
            }
            _ => {}
        }
        let receives = std::mem::take(&mut state.member(handle).receives);
        for receive in receives {
            let message = state.messages.get_mut(&(id, receive.peer, rank)).and_then(VecDeque::pop_front);
            match message {
                None => state.member(handle).receives.push(receive),
                Some(message) if message.len() != receive.bytes => return INVALID_USAGE,
                Some(message) => {
                    let to = std::ptr::with_exposed_provenance_mut::<u8>(receive.address);
                    // SAFETY: the caller guarantees the memory until the exchange is complete.
                    unsafe { to.copy_from_nonoverlapping(message.as_ptr(), message.len()) };
                }
            }
        }
        let is_joined = state.joined.get(&id) == Some(&size) && end_split(state, handle);
        if is_joined && state.member(handle).receives.is_empty() { SUCCESS } else { IN_PROGRESS }
    });
    // SAFETY: the caller passes valid memory.
    unsafe { *result = answer };
    SUCCESS
}

unsafe extern "C" fn finalize(handle: Handle) -> c_int {
    with(|state| {
        state.call_with(handle, "ncclCommFinalize", |state| {
            if state.member(handle).is_quick {
                misused("a blocking call that waits for other ranks");
            }
            state.member(handle).is_finalized = true;
            IN_PROGRESS
        })
    })
}

unsafe extern "C" fn destroy(handle: Handle) -> c_int {
    with(|state| {
        state.call_with(handle, "ncclCommDestroy", |state| {
            if !state.member(handle).is_finalized {
                misused("destroyed, and not finalized");
            }
            if state.has_quick(handle) {
                misused("destroyed before what was split off");
            }
            state.communicators.remove(&handle.addr());
            SUCCESS
        })
    })
}

unsafe extern "C" fn abort(handle: Handle) -> c_int {
    if GROUP.with_borrow(Option::is_some) {
        misused("an abort within a group");
    }
    with(|state| {
        state.call_with(handle, "ncclCommAbort", |state| {
            state.communicators.remove(&handle.addr());
            SUCCESS
        })
    })
}

unsafe extern "C" fn error_string(_code: c_int) -> *const c_char {
    c"on request".as_ptr()
}

unsafe extern "C" fn last_error(_handle: Handle) -> *const c_char {
    c"no detail".as_ptr()
}

/// The stand-in's functions.
pub(crate) fn functions() -> Functions {
    Functions {
        ncclGetVersion: version,
        ncclGetUniqueId: unique_id,
        ncclCommInitRankConfig: init,
        ncclGroupStart: group_start,
        ncclGroupEnd: group_end,
        ncclSend: send,
        ncclRecv: receive,
        ncclCommGetAsyncError: async_error,
        ncclCommFinalize: finalize,
        ncclCommDestroy: destroy,
        ncclCommAbort: abort,
        ncclGetErrorString: error_string,
        ncclGetLastError: last_error,
        ncclCommSplit: Some(split),
    }
}
