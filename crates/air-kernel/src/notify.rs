//! Seccomp user notification: a supervisor answers system calls of those that it supervises.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use rustix::{io::Errno, thread::set_no_new_privs};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`
const SYNCHRONOUS: libc::c_ulong = 1;

/// Where notifications of one filter arrive. While it is closed, the calls fail with `ENOSYS`.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A system call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Notification {
    /// What the answer has to name.
    pub id: u64,
    /// The thread that called, in the reader's pid namespace; 0 if it is not in there.
    pub tid: u32,
    /// The number of the system call.
    pub call: i32,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// How a system call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// As if nobody had asked. What its pointers lead to may have changed since.
    Continue,
    /// It returns this without being run.
    Value(i64),
    /// It fails without being run.
    Failure(Errno),
}

/// Installs `filter` for this thread and what it starts from now on.
///
/// # Errors
///
/// If the kernel has no notifications, or a filter of this thread has a listener already.
pub fn install(filter: &[libc::sock_filter]) -> io::Result<Listener> {
    set_no_new_privs(true)?;
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // A signal in the middle of an answered call would have it made twice.
    let killable = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    match load(&program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | killable) {
        // Linux before 5.19.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            load(&program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)
        }
        loaded => loaded,
    }
}

fn load(program: &libc::sock_fprog, flags: libc::c_ulong) -> io::Result<Listener> {
    // SAFETY: the program points to `len` instructions that live through the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::from_ref(program),
        )
    };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, for us.
    let listener = unsafe { OwnedFd::from_raw_fd(fd) };
    // Asked and answered on one processor, which is quicker; Linux before 6.6 does not know it.
    // SAFETY: the call takes a number and no pointer.
    let _ = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNCHRONOUS)
    };
    Ok(Listener(listener))
}

impl Listener {
    /// The next call that waits; `None` if it has been given up meanwhile. Readable before: else
    /// this blocks.
    ///
    /// # Errors
    ///
    /// If the descriptor is of no use any more.
    pub fn receive(&self) -> io::Result<Option<Notification>> {
        let mut raw = libc::seccomp_notif {
            id: 0,
            pid: 0,
            flags: 0,
            data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
        };
        let to = std::ptr::from_mut(&mut raw);
        // SAFETY: the kernel writes one `seccomp_notif` to the pointer, which is one.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, to) };
        if result < 0 {
            let error = io::Error::last_os_error();
            let gone = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR));
            return if gone { Ok(None) } else { Err(error) };
        }
        let (id, tid, call) = (raw.id, raw.pid, raw.data.nr);
        Ok(Some(Notification { id, tid, call, arguments: raw.data.args }))
    }

    /// Whether the call still waits. What was looked up by its thread id before is then of that
    /// thread.
    #[must_use]
    pub fn is_waiting(&self, id: u64) -> bool {
        let from = std::ptr::from_ref(&id);
        // SAFETY: the kernel reads one `u64` from the pointer, which is one.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, from) };
        result == 0
    }

    /// Answers a call. One that waits no more needs no answer.
    pub fn answer(&self, id: u64, answer: Answer) {
        let (val, error, flags) = match answer {
            Answer::Continue => (0, 0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE)),
            Answer::Value(value) => (value, 0, Ok(0)),
            Answer::Failure(errno) => (0, -errno.raw_os_error(), Ok(0)),
        };
        let mut raw = libc::seccomp_notif_resp { id, val, error, flags: flags.unwrap_or_default() };
        let to = std::ptr::from_mut(&mut raw);
        // SAFETY: the kernel reads one `seccomp_notif_resp` from the pointer, which is one.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, to) };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
