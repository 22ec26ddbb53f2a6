//! Who knocks at the daemon's doors, and how.

use std::{
    fs,
    io::Write as _,
    net::{Shutdown, SocketAddr, TcpStream},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    time::Duration,
};

use super::{Stage, rest_of};

impl Stage {
    fn http(&self) -> TcpStream {
        let address = self.address();
        let url = address["url"].as_str().expect("HTTP is served");
        let at: SocketAddr = url.trim_start_matches("http://").parse().expect("an address");
        TcpStream::connect(at).expect("a connection")
    }

    fn token(&self) -> String {
        self.address()["token"].as_str().expect("a token").to_owned()
    }

    /// The status of a question over HTTP with these lines in its head.
    fn status(&self, path: &str, head: &str) -> String {
        let body = self.event("pre_tool_call", "http", "ls").to_string();
        let mut stream = self.http();
        let length = body.len();
        let question = format!(
            "POST {path} HTTP/1.1\r\ncontent-type: application/json\r\nconnection: close\r\n\
             content-length: {length}\r\n{head}\r\n{body}"
        );
        stream.write_all(question.as_bytes()).expect("it is heard");
        let answer = rest_of(&mut stream);
        answer.split_whitespace().nth(1).unwrap_or_default().to_owned()
    }
}

#[test]
fn only_a_program_of_this_machine_that_knows_the_token_is_heard_over_http() {
    let stage = Stage::started();
    let token = format!("authorization: Bearer {}\r\n", stage.token());
    let port = stage.address()["url"]
        .as_str()
        .and_then(|url| url.rsplit_once(':'))
        .map(|it| it.1.to_owned());
    let port = port.expect("a port");
    let heads: Vec<(String, &str)> = vec![
        (format!("host: 127.0.0.1:{port}\r\n{token}"), "200"),
        (format!("host: localhost\r\n{token}"), "200"),
        (format!("host: [::1]:{port}\r\n{token}"), "200"),
        // Without the token, or with another one.
        ("host: localhost\r\n".to_owned(), "401"),
        ("host: localhost\r\nauthorization: Bearer \r\n".to_owned(), "401"),
        (format!("host: localhost\r\nauthorization: Bearer {}\r\n", "0".repeat(64)), "401"),
        (format!("host: localhost\r\nauthorization: Basic {}\r\n", stage.token()), "401"),
        (format!("host: localhost\r\n{}", token.replace("Bearer ", "Bearer x")), "401"),
        // A page whose name leads here.
        (format!("host: evil.example:{port}\r\n{token}"), "403"),
        (format!("host: 127.0.0.1.evil.example\r\n{token}"), "403"),
        (format!("host: localhost.evil.example:{port}\r\n{token}"), "403"),
        (format!("host: 127.0.0.1@evil.example\r\n{token}"), "403"),
        (format!("host: evil.example:127.0.0.1\r\n{token}"), "403"),
        (format!("host: 0.0.0.0:{port}\r\n{token}"), "403"),
        (format!("host: 127.0.0.2:{port}\r\n{token}"), "403"),
        (format!("host: \r\n{token}"), "403"),
        (token.clone(), "403"),
        (format!("host: localhost\r\nhost: evil.example\r\n{token}"), "400"),
        // A page at all.
        (format!("host: localhost\r\norigin: http://localhost:{port}\r\n{token}"), "403"),
        (format!("host: localhost\r\norigin: null\r\n{token}"), "403"),
    ];
    for (head, status) in heads {
        let shown = head.replace(&stage.token(), "TOKEN");
        let got = stage.status("/v1/event", &head);
        assert!(got == status || status == "400" && got == "403", "{shown}: {got}");
    }
    // What a person decides is not asked for over HTTP.
    let head = format!("host: localhost\r\n{token}");
    for path in ["/v1/stop", "/v1/status", "/v1/approvals", "/v1/sessions"] {
        assert_eq!(stage.status(path, &head), "404", "{path}");
    }
    stage.is_well("afterwards");
}

#[test]
fn what_others_could_read_is_not_used_again() {
    let stage = Stage::started();
    let run = stage.path("state/hosts/run");
    let file = run.join("token");
    let mode = |name: &str| fs::metadata(run.join(name)).expect("a file").mode() & 0o777;
    let expected = [("", 0o700), ("token", 0o600), ("address.json", 0o600), ("air.sock", 0o600)];
    for (name, wanted) in expected {
        assert_eq!(mode(name), wanted, "{name}");
    }
    let restarted = || {
        stage.stop();
        stage.start();
        stage.token()
    };
    let first = stage.token();
    assert_eq!(restarted(), first, "hosts have it in their settings");
    for wrong in [0o644, 0o640, 0o601] {
        let before = stage.token();
        fs::set_permissions(&file, fs::Permissions::from_mode(wrong)).expect("a mode");
        assert_ne!(restarted(), before, "{wrong:o}");
        assert_eq!(mode("token"), 0o600);
    }
    let before = stage.token();
    fs::write(&file, "short").expect("written");
    assert_ne!(restarted(), before);
    fs::remove_file(&file).expect("removed");
    fs::write(stage.path("elsewhere"), &before).expect("written");
    std::os::unix::fs::symlink(stage.path("elsewhere"), &file).expect("a link");
    assert_ne!(restarted(), before, "a link is not followed");
}

#[test]
fn who_says_half_of_it_or_nothing_keeps_nobody_waiting() {
    let stage = Stage::started();
    let halves: [&[u8]; 6] = [
        b"",
        b"POST",
        b"POST /v1/event HTTP/1.1\r\nhost: localhost\r\ncontent-le",
        b"POST /v1/event HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{\"v\":",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xff\x00\x00{}[]\r\n\r\n\0\0",
    ];
    // They stay, as many as there are.
    let mut silent = Vec::new();
    for at in 0..100 {
        let half = halves[at % halves.len()];
        let mut socket = stage.socket();
        let mut http = stage.http();
        // One that is refused at once may not hear all of it.
        let _ = socket.write_all(half);
        let _ = http.write_all(half);
        silent.push((socket, http));
    }
    stage.is_well("beside them");
    for (socket, http) in silent {
        let _ = socket.shutdown(Shutdown::Write);
        let _ = http.shutdown(Shutdown::Both);
    }
    stage.is_well("after them");
    assert_eq!(stage.steps().0, 2, "half a question is none");
}

#[test]
fn what_is_too_long_is_not_read() {
    let stage = Stage::started();
    let token = stage.token();
    let head = format!(
        "POST /v1/event HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\ncontent-length: 999999999999\r\n\r\n"
    );
    let endless =
        format!("POST /v1/event HTTP/1.1\r\nhost: localhost\r\nx-long: {}", "x".repeat(1 << 20));
    for question in [head, endless] {
        let mut stream = stage.http();
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        // It may be refused before all of it is said.
        let _ = stream.write_all(question.as_bytes());
        let answer = rest_of(&mut stream);
        let status = answer.split_whitespace().nth(1).unwrap_or_default();
        assert!(["413", "431", "400", ""].contains(&status), "{answer}");
    }
    stage.is_well("afterwards");
}
