//! Calls of the system for which no safe wrapper is published: what a sandbox does with signals and Landlock, and shared blocks.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The signals that the keys of a terminal send, and those that end a session.
const SIGNALS: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTTOU];

/// Makes a program ignore those signals from its start on.
#[expect(unsafe_code, reason = "the child calls signal(2) alone, which is safe between fork and exec")]
pub(crate) fn ignore_signals(command: &mut Command) {
    // SAFETY: see the reason above; nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(|| {
            for signal in SIGNALS {
                libc::signal(signal, libc::SIG_IGN);
            }
            Ok(())
        });
    }
}

/// Lets a program use at most so many bytes of memory. Only Linux takes such a limit below what is mapped anyway.
#[expect(unsafe_code, reason = "the child calls setrlimit(2) alone, which is safe between fork and exec")]
pub(crate) fn limit_memory(command: &mut Command, bytes: u64) {
    // SAFETY: see the reason above; the structure is alive, and the kernel only reads it.
    unsafe {
        command.pre_exec(move || {
            if !cfg!(target_os = "linux") {
                return Ok(());
            }
            let limit = libc::rlimit { rlim_cur: bytes as libc::rlim_t, rlim_max: bytes as libc::rlim_t };
            match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
}

/// Lets this process write to its terminal, and choose who has it, from the background.
#[expect(unsafe_code, reason = "signal(2) gets integers alone, and no handler of ours is replaced")]
pub(crate) fn ignore_background() {
    // SAFETY: see the reason above.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
}

/// Gives those signals their defaults again, in this process and what it executes.
#[expect(unsafe_code, reason = "signal(2) gets integers alone, and no handler of ours is replaced")]
pub(crate) fn default_signals() {
    for signal in SIGNALS {
        // SAFETY: see the reason above.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Lets us wait for our children where who started us ignores their ends, which a process inherits.
#[expect(unsafe_code, reason = "signal(2) gets integers alone, and no handler of ours is replaced")]
pub(crate) fn wait_for_children() {
    // SAFETY: see the reason above.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Lets what this process executes inherit its three standard streams and no other open file.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "close_range(2) gets integers alone, and only marks the files")]
pub(crate) fn close_files_at_exec() {
    // SAFETY: see the reason above. Where the kernel is older than 5.11 it fails, and the files stay open.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Other systems have no sandbox.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_files_at_exec() {}

/// What Landlock is asked to control, as `struct landlock_ruleset_attr` of Linux 6.12 has it.
#[cfg(target_os = "linux")]
#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET`
#[cfg(target_os = "linux")]
const SCOPE_ABSTRACT_SOCKETS: u64 = 1;

/// Closes the abstract sockets of all processes outside to this one and what it executes. The process must be one that
/// can gain no privileges. Fails where the kernel has no Landlock of version 6.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "libc has no wrappers of Landlock; the kernel reads one plain structure")]
pub(crate) fn close_abstract_sockets() -> io::Result<()> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let attr = RulesetAttr { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_ABSTRACT_SOCKETS };
    // SAFETY: `attr` is alive, of the size that is given, and the kernel only reads it.
    let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size_of_val(&attr), 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made it, and nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: it gets integers alone.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The version of the kernel's Landlock; 0 where it has none.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the call gets integers and no address")]
pub(crate) fn landlock_version() -> i64 {
    // SAFETY: see the reason above; 1 is `LANDLOCK_CREATE_RULESET_VERSION`.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<RulesetAttr>(), 0, 1) }.max(0)
}

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn landlock_version() -> i64 {
    0
}

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_abstract_sockets() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How many bytes of a file lie in blocks that other files have, too, as `fiemap` tells (linux/fiemap.h); 0 where it does not.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the kernel writes as many extents as the structure says that it has room for")]
pub(crate) fn shared_bytes(file: &std::fs::File) -> u64 {
    use std::os::fd::AsRawFd;
    const FIEMAP: libc::c_ulong = 0xC020_660B;
    const MOST: usize = 64;
    const SHARED: u32 = 0x2000;
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Extent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved: [u64; 2],
        flags: u32,
        more: [u32; 3],
    }
    #[repr(C)]
    struct Map {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
        extents: [Extent; MOST],
    }
    let (mut start, mut shared) = (0, 0);
    loop {
        let extents = [Extent::default(); MOST];
        let mut map = Map { start, length: u64::MAX - start, flags: 0, mapped: 0, count: 64, reserved: 0, extents };
        // SAFETY: the descriptor is open, and the structure is alive and has room for `count` extents.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut map) };
        let known = &map.extents[..MOST.min(map.mapped as usize)];
        shared += known.iter().filter(|extent| extent.flags & SHARED != 0).map(|extent| extent.length).sum::<u64>();
        match known.last() {
            Some(last) if answer == 0 && known.len() == MOST => start = last.logical + last.length,
            _ => return shared,
        }
    }
}

/// Only Linux has this call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn shared_bytes(_: &std::fs::File) -> u64 {
    0
}
