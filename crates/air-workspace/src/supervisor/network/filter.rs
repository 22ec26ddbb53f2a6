//! Which system calls the network's thread is asked about.

use libc::{BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;

/// From here on numbers are those of x32; elsewhere there are none.
const OTHER_ABI: u32 = 0x4000_0000;

// Offsets in `seccomp_data`, little-endian.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ADDRESS: u32 = 16 + 4 * 8;

/// Asks about `listen`, `connect`, `sendmsg`, `sendmmsg`, and `sendto` with an address; allows the rest.
pub(super) fn program() -> Result<Vec<sock_filter>, std::num::TryFromIntError> {
    let call = |number: libc::c_long| u32::try_from(number);
    Ok(vec![
        load(ARCH)?,
        jump(BPF_JEQ, ARCHITECTURE, 0, 14)?,
        load(NUMBER)?,
        jump(BPF_JGE, OTHER_ABI, 11, 0)?,
        jump(BPF_JEQ, call(libc::SYS_listen)?, 8, 0)?,
        jump(BPF_JEQ, call(libc::SYS_connect)?, 7, 0)?,
        jump(BPF_JEQ, call(libc::SYS_sendmsg)?, 6, 0)?,
        jump(BPF_JEQ, call(libc::SYS_sendmmsg)?, 5, 0)?,
        jump(BPF_JEQ, call(libc::SYS_sendto)?, 0, 5)?,
        load(ADDRESS)?,
        jump(BPF_JEQ, 0, 0, 2)?,
        load(ADDRESS + 4)?,
        jump(BPF_JEQ, 0, 1, 0)?,
        verdict(libc::SECCOMP_RET_USER_NOTIF)?,
        verdict(libc::SECCOMP_RET_ALLOW)?,
        verdict(libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS)?)?,
        verdict(libc::SECCOMP_RET_KILL_PROCESS)?,
    ])
}

fn load(offset: u32) -> Result<sock_filter, std::num::TryFromIntError> {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

/// Skips as many instructions.
fn jump(
    how: u32,
    value: u32,
    then: u8,
    otherwise: u8,
) -> Result<sock_filter, std::num::TryFromIntError> {
    instruction(BPF_JMP | how | BPF_K, value, then, otherwise)
}

fn verdict(action: u32) -> Result<sock_filter, std::num::TryFromIntError> {
    instruction(BPF_RET | BPF_K, action, 0, 0)
}

fn instruction(
    code: u32,
    k: u32,
    jt: u8,
    jf: u8,
) -> Result<sock_filter, std::num::TryFromIntError> {
    Ok(sock_filter { code: u16::try_from(code)?, jt, jf, k })
}
