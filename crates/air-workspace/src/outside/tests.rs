use std::{
    io::{Read, Write},
    os::fd::AsFd,
    sync::mpsc,
    time::Duration,
};

use super::*;

#[test]
fn the_network_answers_after_what_is_no_request() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let control = OwnedFd::from(ours);
    let (handed, _kept) = UnixStream::pair().unwrap();
    for host in ["a b", "", &"\u{ff}".repeat(300), "good.example"] {
        (&theirs).write_all(b"nothing").unwrap();
        assert!(next(&control, RecvFlags::empty()).unwrap().is_none());
        let to = Destination { host: host.to_owned(), port: 80, transport: Transport::Tcp };
        ask(theirs.as_fd(), &to, handed.as_fd()).unwrap();
        let (to, _) = next(&control, RecvFlags::empty()).unwrap().unwrap();
        assert_eq!(to.host, plain(host));
    }
    drop(theirs);
    assert!(next(&control, RecvFlags::empty()).is_err());
}

/// Reads each connection to its end, and says so.
#[derive(Debug)]
struct Patient(Mutex<mpsc::Sender<String>>);

impl Outside for Patient {
    fn local_ports(&self) -> Vec<(Transport, u16)> {
        Vec::new()
    }

    fn stream(&self, to: &Destination, mut stream: UnixStream) {
        let tell = self.0.lock().unwrap().clone();
        tell.send(format!("{} begins", to.host)).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        tell.send(format!("{} ends", to.host)).unwrap();
    }

    fn datagram(&self, _: &Destination, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

fn to(host: &str) -> Destination {
    Destination { host: host.to_owned(), port: 80, transport: Transport::Tcp }
}

#[test]
fn two_ends_of_one_connection_do_not_wait_for_each_other_for_ever() {
    for is_isolated in [true, false] {
        let (tell, told) = mpsc::channel();
        let outside: Arc<dyn Outside> = Arc::new(Patient(Mutex::new(tell)));
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answered = Arc::new(Answered::new());
        let serving = {
            let (control, answered) = (OwnedFd::from(ours), Arc::clone(&answered));
            std::thread::spawn(move || serve(&control, &outside, &answered))
        };
        let next = || told.recv_timeout(Duration::from_secs(20)).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        ask(theirs.as_fd(), &to("one"), one.as_fd()).unwrap();
        ask(theirs.as_fd(), &to("other"), other.as_fd()).unwrap();
        drop((one, other));
        let mut both = [next(), next()];
        both.sort();
        assert_eq!(both, ["one begins", "other begins"]);
        if is_isolated {
            answered.end();
            let (late, mut kept) = UnixStream::pair().unwrap();
            ask(theirs.as_fd(), &to("late"), late.as_fd()).unwrap();
            drop(late);
            assert_eq!(kept.read(&mut [0]).unwrap(), 0);
        } else {
            drop(theirs);
            serving.join().unwrap();
        }
        let mut both = [next(), next()];
        both.sort();
        assert_eq!(both, ["one ends", "other ends"]);
    }
}

#[test]
fn half_a_request_takes_no_later_one_along() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let control = OwnedFd::from(ours);
    let (handed, mut kept) = UnixStream::pair().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [handed.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let half = IoSlice::new(b"{\"host\":\"ex");
    sendmsg(&theirs, &[half], &mut ancillary, SendFlags::empty()).unwrap();
    drop(handed);
    let (other, _kept) = UnixStream::pair().unwrap();
    ask(theirs.as_fd(), &to("whole"), other.as_fd()).unwrap();
    assert!(next(&control, RecvFlags::empty()).unwrap().is_none());
    assert_eq!(kept.read(&mut [0]).unwrap(), 0);
    assert_eq!(next(&control, RecvFlags::empty()).unwrap().unwrap().0.host, "whole");
}

#[test]
fn nobody_waits_for_a_host_that_answers_no_more() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let control = OwnedFd::from(ours);
    let (waiting, mut kept) = UnixStream::pair().unwrap();
    ask(theirs.as_fd(), &to("early"), waiting.as_fd()).unwrap();
    drop(waiting);
    refuse(&control);
    assert_eq!(kept.read(&mut [0]).unwrap(), 0);
    let (late, _kept) = UnixStream::pair().unwrap();
    let error = ask(theirs.as_fd(), &to("late"), late.as_fd()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}
