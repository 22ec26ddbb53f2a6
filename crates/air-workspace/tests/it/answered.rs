//! Connections that are answered in the place of the outside world.

use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::Mutex,
    time::Instant,
};

use air_core::effects::{ConnectionEffect, Reversibility};
use air_workspace::{Destination, Outside, Transport};

use super::*;

/// Answers by host name, and keeps what it is sent.
#[derive(Debug, Default)]
struct World {
    heard: Mutex<Vec<(Destination, Vec<u8>)>>,
}

impl World {
    fn hear(&self, to: &Destination, content: &[u8]) {
        self.heard.lock().unwrap().push((to.clone(), content.to_vec()));
    }

    /// What was heard at a host, once that is as much as `bytes`.
    fn heard(&self, host: &str, bytes: usize) -> Vec<Vec<u8>> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let all = self.heard.lock().unwrap();
            let here = all.iter().filter(|(to, _)| to.host == host);
            let here: Vec<_> = here.map(|(_, content)| content.clone()).collect();
            if here.iter().map(Vec::len).sum::<usize>() >= bytes {
                return here;
            }
            assert!(Instant::now() < deadline, "{all:?}");
            drop(all);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Outside for World {
    fn local_ports(&self) -> Vec<(Transport, u16)> {
        vec![(Transport::Tcp, 5758), (Transport::Udp, 5388)]
    }

    fn stream(&self, to: &Destination, mut stream: UnixStream) {
        let mut content = Vec::new();
        match to.host.as_str() {
            // Reads all, and then answers as much.
            "echo.example" => {
                stream.read_to_end(&mut content).unwrap();
                stream.write_all(&content).unwrap();
                self.hear(to, &content);
            }
            // Three questions, each of which needs an answer.
            "talk.example" => {
                for question in ["a", "b", "c"] {
                    stream.write_all(question.as_bytes()).unwrap();
                    let mut answer = [0; 2];
                    stream.read_exact(&mut answer).unwrap();
                    content.extend(answer);
                }
                self.hear(to, &content);
            }
            "flood.example" => {
                for _ in 0..256 {
                    if stream.write_all(&vec![b'x'; 64 << 10]).is_err() {
                        break;
                    }
                }
            }
            "slow.example" => {
                std::thread::sleep(Duration::from_millis(300));
                stream.read_to_end(&mut content).unwrap();
                self.hear(to, &content);
            }
            "dead.example" => {}
            "broken.example" => panic!("on purpose"),
            // Until the other side ends.
            "hold.example" => {
                stream.write_all(b"ready\n").unwrap();
                let _ = stream.read_to_end(&mut content);
                self.hear(to, &content);
                self.hear(to, b"ended");
            }
            _ => {
                let mut head = [0; 4096];
                let length = stream.read(&mut head).unwrap_or_default();
                self.hear(to, head.get(..length).unwrap());
                let body = format!("{} {}", to.host, to.port);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
            }
        }
    }

    fn datagram(&self, to: &Destination, content: &[u8]) -> Option<Vec<u8>> {
        self.hear(to, content);
        (to.port != 9).then(|| content.iter().rev().copied().collect())
    }
}

const IMPORTS: &str = "import socket, threading, os, ssl, time, urllib.request\n\
    def to(host, port=80): return socket.create_connection((host, port), 15)\n\
    def rest(s):\n\
    \x20   all = b''\n\
    \x20   while (more := s.recv(1 << 20)): all += more\n\
    \x20   return all\n";

fn with_world(test: impl FnOnce(&Bench, &World)) {
    let world = Arc::new(World::default());
    let outside: Arc<dyn Outside> = Arc::<World>::clone(&world);
    if let Some(bench) = Bench::try_with(Tier::T3, |config| config.outside = Some(outside)) {
        bench.python(IMPORTS);
        test(&bench, &world);
    }
}

/// What the code says, and where it connected to.
fn seen(bench: &Bench, code: &str) -> (String, Effects) {
    let before = bench.checkpoint();
    let said = bench.python(code);
    (said.content + &said.error.unwrap_or_default(), bench.effects(&before))
}

fn at<'a>(effects: &'a Effects, host: &str, port: u16) -> &'a ConnectionEffect {
    assert_eq!(effects.connections.incomplete, None, "{:?}", effects.connections);
    let mut all = effects.connections.items.iter();
    let found = all.find(|seen| seen.host == host && seen.port == port);
    found.unwrap_or_else(|| panic!("no {host}:{port} in {:?}", effects.connections))
}

#[test]
fn streams_are_answered_and_recorded() {
    with_world(|bench, world| {
        let cases = [
            // Code, what it says, host, port, sent, received, turns, protocol.
            (
                "print(urllib.request.urlopen('http://page.example:8080/x').read())",
                "b'page.example 8080'",
                ("page.example", 8080),
                (None, Some(56), 0, Some("http")),
            ),
            (
                "s = to('echo.example', 7); s.sendall(b'x' * 100); s.shutdown(1); print(len(rest(s)))",
                "100",
                ("echo.example", 7),
                (Some(100), Some(100), 0, Some("other")),
            ),
            (
                "s = to('talk.example', 5000)\nfor _ in range(3): s.sendall(s.recv(1) * 2)\n\
                print(rest(s))",
                "b''",
                ("talk.example", 5000),
                (Some(6), Some(3), 3, Some("other")),
            ),
            (
                "s = to('flood.example'); time.sleep(0.1); print(len(rest(s)))",
                "16777216",
                ("flood.example", 80),
                (Some(0), Some(16 << 20), 0, None),
            ),
            (
                "s = to('slow.example'); s.sendall(b'y' * 600_000); s.shutdown(1); print(rest(s))",
                "b''",
                ("slow.example", 80),
                (Some(600_000), Some(0), 0, Some("other")),
            ),
            (
                "print(rest(to('dead.example')))",
                "b''",
                ("dead.example", 80),
                (Some(0), Some(0), 0, None),
            ),
            (
                "print(rest(to('broken.example')))",
                "b''",
                ("broken.example", 80),
                (Some(0), Some(0), 0, None),
            ),
            (
                "print(urllib.request.urlopen('http://127.0.0.1:5758/').read())",
                "b'127.0.0.1 5758'",
                ("127.0.0.1", 5758),
                (None, Some(53), 0, Some("http")),
            ),
            (
                "print(urllib.request.urlopen('http://203.0.113.5/').read())",
                "b'203.0.113.5 80'",
                ("203.0.113.5", 80),
                (None, Some(53), 0, Some("http")),
            ),
        ];
        for (code, wanted, (host, port), (sent, received, turns, protocol)) in cases {
            let (said, effects) = seen(bench, code);
            assert_eq!(said.trim(), wanted, "{code}");
            let one = at(&effects, host, port);
            assert_eq!(one.direction, "out", "{one:?}");
            assert!(sent.is_none_or(|sent| one.bytes_sent == sent), "{one:?}");
            assert!(received.is_none_or(|received| one.bytes_received == received), "{one:?}");
            assert_eq!((one.turns, one.protocol.as_deref()), (turns, protocol), "{one:?}");
            assert_eq!(one.delivered, one.bytes_sent > 0, "{one:?}");
            let wanted =
                if one.delivered { Reversibility::Irreversible } else { Reversibility::ReadOnly };
            assert_eq!(effects.reversibility(), wanted);
        }
        assert_eq!(world.heard("slow.example", 600_000)[0].len(), 600_000);
        assert_eq!(world.heard("talk.example", 6), [b"aabbcc"]);
    });
}

#[test]
fn datagrams_are_answered_and_recorded() {
    with_world(|bench, world| {
        let (said, effects) = seen(
            bench,
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(15)\n\
            u.sendto(b'abc', ('127.0.0.1', 5388)); print(u.recv(9))\n\
            u.sendto(b'abcd', ('udp.example', 77)); print(u.recv(9))\n\
            u.connect(('192.0.2.9', 78)); u.send(b'ab'); print(u.recv(9)); u.send(b''); print(u.recv(9))\n\
            v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            for _ in range(2000): v.sendto(b'z' * 100, ('quiet.example', 9))",
        );
        assert_eq!(
            said.split_whitespace().collect::<Vec<_>>(),
            ["b'cba'", "b'dcba'", "b'ba'", "b''"]
        );
        let sums = [("127.0.0.1", 5388, 3, 3), ("udp.example", 77, 4, 4), ("192.0.2.9", 78, 2, 2)];
        for (host, port, sent, received) in sums {
            let one = at(&effects, host, port);
            assert_eq!((one.bytes_sent, one.bytes_received, one.delivered), (sent, received, true));
            assert_eq!((one.direction.as_str(), one.transport.as_str()), ("out", "udp"));
        }
        assert_eq!(at(&effects, "192.0.2.9", 78).turns, 1);
        assert_eq!(at(&effects, "quiet.example", 9).bytes_sent, 200_000);
        assert_eq!(world.heard("quiet.example", 200_000).len(), 2000);
    });
}

#[test]
fn what_listens_inside_is_preferred() {
    with_world(|bench, world| {
        let (said, effects) = seen(
            bench,
            "l = socket.create_server(('127.0.0.1', 5758)); s = to('127.0.0.1', 5758)\n\
            c = l.accept()[0]; c.sendall(b'inside'); c.close(); print(rest(s)); l.close()\n\
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 5388))\n\
            v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            v.sendto(b'here', ('127.0.0.1', 5388)); print(u.recv(9)); u.close(); v.close()\n\
            print(socket.socket().connect_ex(('127.0.0.1', 5759)))",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["b'inside'", "b'here'", "111"]);
        assert!(effects.connections.items.iter().all(|one| one.direction == "local"));
        assert!(world.heard.lock().unwrap().is_empty());
    });
}

#[test]
fn isolating_ends_what_is_open_and_refuses_the_rest() {
    with_world(|bench, world| {
        let said = bench.python("h = to('hold.example'); h.sendall(b'one'); print(h.recv(9))");
        assert_eq!(said.content.trim(), "b'ready\\n'");
        world.heard("hold.example", 0);
        let said = block_on(bench.workspace.isolate()).unwrap();
        assert!(said.contains("1 connection"), "{said}");
        assert_eq!(world.heard("hold.example", 8), [b"one".to_vec(), b"ended".to_vec()]);
        let (said, effects) = seen(
            bench,
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            for act in [lambda: h.recv(9), lambda: to('203.0.113.5'), lambda: to('127.0.0.1', 5758),\n\
            \x20   lambda: u.sendto(b'x', ('203.0.113.5', 9)), lambda: u.sendto(b'x', ('127.0.0.1', 5388))]:\n\
            \x20   try: print(act())\n\
            \x20   except OSError as e: print(e.errno)",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["104", "101", "111", "101", "1"]);
        assert!(effects.connections.items.iter().all(|one| !one.delivered));
        assert_eq!(world.heard.lock().unwrap().len(), 2);
    });
}

#[test]
fn many_at_once_and_one_after_another() {
    with_world(|bench, world| {
        let (said, effects) = seen(
            bench,
            "done = []\ndef go(n):\n\
            \x20   s = to('echo.example', 1000 + n % 3); s.sendall(b'm' * 1000); s.shutdown(1)\n\
            \x20   done.append(len(rest(s)))\n\
            for turn in range(6):\n\
            \x20   all = [threading.Thread(target=go, args=(n,)) for n in range(50)]\n\
            \x20   [t.start() for t in all]; [t.join() for t in all]\n\
            print(len(done), set(done))",
        );
        assert_eq!(said.trim(), "300 {1000}");
        let out = effects.connections.items.iter().filter(|one| one.host == "echo.example");
        let out: Vec<_> = out.filter(|one| one.port != 53).collect();
        assert_eq!(out.iter().map(|one| one.bytes_sent).sum::<u64>(), 300_000);
        assert_eq!(out.iter().map(|one| one.bytes_received).sum::<u64>(), 300_000);
        assert_eq!(world.heard("echo.example", 300_000).len(), 300);
    });
}

#[test]
fn a_conversation_goes_on_over_steps() {
    with_world(|bench, world| {
        bench.python("h = to('hold.example'); print(h.recv(9))");
        let (_, effects) = seen(bench, "h.sendall(b'later')");
        let one = at(&effects, "hold.example", 80);
        assert_eq!((one.bytes_sent, one.bytes_received, one.turns), (5, 0, 1));
        assert!(bench.kill().contains("process") || bench.python("1").error.is_none());
        assert_eq!(world.heard("hold.example", 10).last().unwrap(), b"ended");
    });
}
