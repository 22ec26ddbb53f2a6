//! Mounts of one process tree: namespaces, and trees whose owners are mapped.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, WaitOptions, waitpid},
    thread::UnshareFlags,
};

/// One id as it is on disk, and as whoever uses the mount sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// On disk.
    pub disk: u32,
    /// Through the mount.
    pub seen: u32,
}

/// Gives this process mount namespaces of its own, and with `user` a user namespace that owns them.
///
/// # Errors
///
/// If the kernel refuses; with `user` also where the process has more than one thread.
pub fn unshare_mounts(user: bool) -> io::Result<()> {
    let mut flags = UnshareFlags::NEWNS;
    flags.set(UnshareFlags::NEWUSER, user);
    // SAFETY: only unsharing the table of descriptors can break what other code relies on, and that
    // flag is not among these.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    Ok(())
}

/// A user namespace that stands for one owner and one group on disk, for [`map_owners`].
///
/// # Errors
///
/// If the kernel refuses, such as without the capabilities to map.
pub fn owner_namespace(user: Mapped, group: Mapped) -> io::Result<OwnedFd> {
    let (wait, release) = pipe_with(PipeFlags::CLOEXEC)?;
    let child = clone_into_user_namespace(&wait, &release)?;
    drop(wait);
    let process = child.as_raw_nonzero();
    let map = |file: &str, ids: Mapped| {
        fs::write(format!("/proc/{process}/{file}"), format!("{} {} 1\n", ids.disk, ids.seen))
    };
    let namespace = map("uid_map", user)
        .and_then(|()| map("gid_map", group))
        .and_then(|()| fs::File::open(format!("/proc/{process}/ns/user")));
    drop(release);
    while matches!(waitpid(Some(child), WaitOptions::empty()), Err(Errno::INTR)) {}
    Ok(namespace?.into())
}

/// A child in a user namespace of its own, which ends when all of `release` is closed.
fn clone_into_user_namespace(wait: &OwnedFd, release: &OwnedFd) -> io::Result<Pid> {
    let (wait, release) = (wait.as_raw_fd(), release.as_raw_fd());
    let flags = libc::c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without CLONE_VM and with no stack this is `fork`: the child has memory of its own.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    if child == 0 {
        let mut byte = 0_u8;
        // SAFETY: this is the child, which owns its copies of the descriptors; a system call alone.
        unsafe { libc::close(release) };
        // SAFETY: the buffer is one byte and outlives the call.
        unsafe { libc::read(wait, (&raw mut byte).cast(), 1) };
        // SAFETY: ends the child at once and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    let child = i32::try_from(child).ok().filter(|child| *child > 0).and_then(Pid::from_raw);
    child.ok_or_else(io::Error::last_os_error)
}

/// Maps the owners of a detached tree of mounts as `namespace` says.
///
/// # Errors
///
/// If the kernel or a file system of the tree cannot.
pub fn map_owners(tree: impl AsFd, namespace: impl AsFd) -> io::Result<()> {
    let namespace = namespace.as_fd().as_raw_fd();
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: u64::try_from(namespace).map_err(io::Error::other)?,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is an empty C string, the attributes live across the call, and their size is
    // that of their type.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
