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

/// Kinds of sockets that lead out past the network: the kernel's ciphers, and the machine that this one runs on.
const FAMILIES: [u32; 2] = [38, 40];

/// The bits by which a file runs with its owner's or its group's rights, for whoever runs it outside.
const SETS_ID: u32 = 0o6000;

/// Calls, each with the argument that decides, and what is refused there.
#[cfg(target_os = "linux")]
const JUDGED: &[(libc::c_long, u32, Refused)] = &[
    (libc::SYS_ioctl, 1, Refused::Values(&TYPING)),
    (libc::SYS_socket, 0, Refused::Values(&FAMILIES)),
    (libc::SYS_socketpair, 0, Refused::Values(&FAMILIES)),
    (libc::SYS_fchmod, 1, Refused::Bits(SETS_ID)),
    (libc::SYS_fchmodat, 2, Refused::Bits(SETS_ID)),
    (FCHMODAT2, 2, Refused::Bits(SETS_ID)),
    (libc::SYS_openat, 3, Refused::Bits(SETS_ID)),
    (libc::SYS_mknodat, 2, Refused::Bits(SETS_ID)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, Refused::Bits(SETS_ID)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Refused::Bits(SETS_ID)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, Refused::Bits(SETS_ID)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, Refused::Bits(SETS_ID)),
];

/// Of Linux 6.6.
#[cfg(target_os = "linux")]
const FCHMODAT2: libc::c_long = 452;

/// What of an argument is refused.
#[derive(Clone, Copy)]
enum Refused {
    Values(&'static [u32]),
    Bits(u32),
}

/// The machine's calls, as audit(7) numbers them: those of another one are refused as a whole.
const ARCH: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// From here on an x86 has the calls of x32.
const X32: u32 = 0x4000_0000;

/// Where `struct seccomp_data` has the number of the call, the machine, and the lower halves of the arguments.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const ARGUMENTS: u32 = 16;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
/// The call fails with `EPERM`.
const REFUSE: u32 = 0x0005_0001;
/// The call fails with `ENOSYS`: this one has its mode where no filter can look, and programs do without it.
const UNKNOWN: u32 = 0x0005_0026;

/// The program.
#[cfg(target_os = "linux")]
pub(super) fn program() -> Vec<u8> {
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or_default();
    // Each step: what it does, how many steps it skips if that holds and if not, its value. 255 stands for the last step,
    // which refuses.
    let mut steps = vec![(LOAD, 0, 0, MACHINE), (IF_EQUAL, 0, u8::MAX, ARCH), (LOAD, 0, 0, NUMBER)];
    if cfg!(target_arch = "x86_64") {
        steps.push((IF_AT_LEAST, u8::MAX, 0, X32));
    }
    steps.extend(REFUSED.map(|call| (IF_EQUAL, u8::MAX, 0, number(call))));
    steps.extend([(IF_EQUAL, 0, 1, number(libc::SYS_openat2)), (RETURN, 0, 0, UNKNOWN)]);
    for (call, argument, refused) in JUDGED {
        let tests: Vec<_> = match refused {
            Refused::Values(values) => values.iter().map(|value| (IF_EQUAL, u8::MAX, 0, *value)).collect(),
            Refused::Bits(bits) => vec![(IF_BITS, u8::MAX, 0, *bits)],
        };
        let skipped = u8::try_from(tests.len()).unwrap_or_default() + 2;
        steps.extend([(IF_EQUAL, 0, skipped, number(*call)), (LOAD, 0, 0, ARGUMENTS + 8 * argument)]);
        steps.extend(tests);
        steps.push((RETURN, 0, 0, ALLOW));
    }
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
