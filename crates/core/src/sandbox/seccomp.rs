//! The system calls that a sandbox has not: a program in BPF, as seccomp(2) takes it.

/// What an agent needs for nothing, and by which it would reach beyond its sandbox: keys of the session, io_uring, BPF,
/// performance counters, faults handled in user space, files by handle.
#[cfg(target_os = "linux")]
const REFUSED: [libc::c_long; 10] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
];

/// Requests of ioctl(2) by which a program types into its terminal.
const TYPING: [u32; 2] = [0x5412, 0x541c];

/// The machine's calls, as audit(7) numbers them: those of another one are refused as a whole.
const ARCH: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// From here on an x86 has the calls of x32.
const X32: u32 = 0x4000_0000;

/// Where `struct seccomp_data` has the number of the call, the machine, and the lower half of the second argument.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const SECOND: u32 = 24;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
/// The call fails with `EPERM`.
const REFUSE: u32 = 0x0005_0001;

/// The program.
#[cfg(target_os = "linux")]
pub(super) fn program() -> Vec<u8> {
    let numbers = REFUSED.iter().filter_map(|number| u32::try_from(*number).ok());
    let mut refused: Vec<(u16, u32)> = numbers.map(|number| (IF_EQUAL, number)).collect();
    if cfg!(target_arch = "x86_64") {
        refused.insert(0, (IF_AT_LEAST, X32));
    }
    let ioctl = u32::try_from(libc::SYS_ioctl).unwrap_or_default();
    // Each test goes on to the last instruction, which refuses, or to the next one.
    let mut steps = vec![(LOAD, 0, 0, MACHINE), (IF_EQUAL, 0, u8::MAX, ARCH), (LOAD, 0, 0, NUMBER)];
    steps.extend(refused.into_iter().map(|(test, value)| (test, u8::MAX, 0, value)));
    let typing = u8::try_from(TYPING.len()).unwrap_or_default() + 1;
    steps.extend([(IF_EQUAL, 0, typing, ioctl), (LOAD, 0, 0, SECOND)]);
    steps.extend(TYPING.map(|request| (IF_EQUAL, u8::MAX, 0, request)));
    steps.extend([(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]);
    let last = steps.len() - 1;
    let to_last = |at: usize, jump: u8| if jump == u8::MAX { u8::try_from(last - at - 1).unwrap_or(0) } else { jump };
    let bytes = |(at, (code, yes, no, value)): (usize, (u16, u8, u8, u32))| {
        let [a, b] = code.to_ne_bytes();
        let [w, x, y, z] = value.to_ne_bytes();
        [a, b, to_last(at, yes), to_last(at, no), w, x, y, z]
    };
    steps.into_iter().enumerate().flat_map(bytes).collect()
}
