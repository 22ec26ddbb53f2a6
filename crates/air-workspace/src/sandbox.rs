//! The host's side of one running sandbox.

use std::{
    fs::File,
    io::{self, BufReader},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use crate::{
    cgroup::Groups,
    outside::{self, Answered, Outside},
    protocol::{self, Reply, Request},
};

/// How long a supervisor may take beyond the time of a call, and to end.
const GRACE: Duration = Duration::from_secs(15);

/// A supervisor that runs. Ended when dropped.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pid: Pid,
    ended: OwnedFd,
    requests: Option<Requests>,
    answered: Arc<Answered>,
    replies: BufReader<File>,
    /// Dropped last: it is removed once nothing runs in it.
    _groups: Groups,
    waiter: Option<std::thread::JoinHandle<io::Result<ExitStatus>>>,
}

/// Ends the supervisor's input when dropped, whoever else holds the socket.
#[derive(Debug)]
struct Requests(UnixStream);

impl Drop for Requests {
    fn drop(&mut self) {
        outside::close(&self.0);
    }
}

impl Sandbox {
    /// Starts `command`. What it says on standard error goes to `log`.
    /// Over a socket as its standard input it asks `outside`.
    pub(crate) fn start(
        mut command: Command,
        log: File,
        groups: Groups,
        outside: Option<Arc<dyn Outside>>,
    ) -> io::Result<Self> {
        let (requests, theirs) = UnixStream::pair()?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log))
            // A terminal's interrupt is AIR's to handle.
            .process_group(0);
        let (started, on_start) = mpsc::channel();
        // The kernel ends the sandbox with the thread that started it, so that one stays.
        let waiter =
            std::thread::Builder::new().name("air-sandbox".to_owned()).spawn(move || {
                let child = command.spawn();
                drop(command);
                match child {
                    Ok(mut child) => {
                        let replies = child.stdout.take();
                        let pid = Pid::from_child(&child);
                        let ended = pidfd_open(pid, PidfdFlags::empty());
                        // The receiver waits right below.
                        let _ = started.send(Ok((pid, ended, replies)));
                        child.wait()
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                        Err(io::Error::other("not started"))
                    }
                }
            })?;
        let (pid, ended, replies) =
            on_start.recv().map_err(|_| io::Error::other("not started"))??;
        let replies = replies.ok_or_else(|| io::Error::other("no pipe"))?;
        let answered = Arc::new(Answered::new());
        if let Some(outside) = outside {
            let (control, answered) = (OwnedFd::from(requests.try_clone()?), Arc::clone(&answered));
            let serve = move || outside::serve(&control, &outside, &answered);
            std::thread::Builder::new().name("air-outside".to_owned()).spawn(serve)?;
        }
        Ok(Self {
            pid,
            ended: ended?,
            requests: Some(Requests(requests)),
            answered,
            replies: BufReader::new(File::from(OwnedFd::from(replies))),
            _groups: groups,
            waiter: Some(waiter),
        })
    }

    /// Ends all that is answered outside, and has nothing answered any more.
    pub(crate) fn end_answers(&self) {
        self.answered.end();
    }

    pub(crate) fn is_running(&self) -> bool {
        !is_ready(self.ended.as_fd(), Duration::ZERO)
    }

    /// Sends a request that may take `within`, and waits for its reply. After an error all later
    /// calls fail: a reply that comes late would be taken for that of another request.
    pub(crate) fn call(&mut self, request: &Request, within: Duration) -> io::Result<Reply> {
        let reply = self.exchange(request, within);
        if reply.is_err() {
            self.requests = None;
        }
        reply
    }

    fn exchange(&mut self, request: &Request, within: Duration) -> io::Result<Reply> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        protocol::write(&mut requests.0, request)?;
        if !is_ready(self.replies.get_ref().as_fd(), within + GRACE) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the supervisor does not answer"));
        }
        protocol::read(&mut self.replies)?
            .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the sandbox has ended"))
    }

    /// Ends it with all its processes, and waits until they are gone.
    pub(crate) fn stop(&mut self) {
        // The supervisor ends with its input; as pid 1 it takes the namespace along.
        drop(self.requests.take());
        let deadline = Instant::now() + GRACE;
        while !is_ready(self.ended.as_fd(), Duration::from_millis(500)) {
            if Instant::now() + GRACE / 2 > deadline {
                for child in self.children() {
                    let _ = kill_process(child, Signal::KILL);
                }
            }
            if Instant::now() > deadline {
                let _ = kill_process(self.pid, Signal::KILL);
                break;
            }
        }
        if let Some(waiter) = self.waiter.take() {
            // How it ended says nothing more.
            let _ = waiter.join();
        }
    }

    /// Pid 1 of the sandbox, as the host calls it.
    pub(crate) fn first_process(&self) -> Option<u32> {
        let pid = self.children().first()?.as_raw_nonzero().get();
        u32::try_from(pid).ok()
    }

    /// Pid 1 of the sandbox, as a child of bwrap.
    fn children(&self) -> Vec<Pid> {
        let pid = self.pid.as_raw_nonzero();
        let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let list = list.unwrap_or_default();
        list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_ready(fd: std::os::fd::BorrowedFd<'_>, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    loop {
        let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        let pause = deadline.saturating_duration_since(Instant::now());
        let ready = poll(&mut polled, Timespec::try_from(pause).ok().as_ref());
        if matches!(ready, Ok(ready) if ready > 0) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_error_no_reply_is_taken_for_that_of_another_request() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo nonsense; echo '{\"thawed\":1}'; cat > /dev/null"]);
        let log = File::create("/dev/null").expect("opens");
        let mut sandbox = Sandbox::start(command, log, Groups::default(), None).expect("starts");
        assert!(sandbox.call(&Request::Kill {}, Duration::ZERO).is_err());
        let again = sandbox.call(&Request::Thaw {}, Duration::ZERO).map(|_| ());
        assert_eq!(again.map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
    }
}
