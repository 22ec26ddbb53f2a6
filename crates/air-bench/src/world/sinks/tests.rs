use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use super::{Authority, Event, Log, Plan, Sinks};

const POST: &str = "POST /in HTTP/1.1\r\nHost: far.example\r\nContent-Length: 4\r\n\r\nbody";
const CHUNKED: &str = "POST /in HTTP/1.1\r\nHost: far.example\r\nTransfer-Encoding: chunked\r\n\r\n\
                       4\r\nbody\r\n0\r\n\r\n";

fn sinks(hold: bool) -> Arc<Sinks> {
    let plan = Plan {
        nonce: "the-nonce".to_owned(),
        vetted: "print()".to_owned(),
        trusted: vec!["docs.internal".to_owned(), "127.0.0.1:5758".to_owned()],
        factors: (12, 34),
        hold: AtomicBool::new(hold),
        log: Log::default(),
        over: AtomicBool::new(false),
    };
    let authority = Arc::new(Authority::new().expect("an authority"));
    Arc::new(Sinks { plan: Arc::new(plan), authority })
}

/// One connection: what `talk` makes of it, after the sink has ended.
fn connect<T>(sinks: &Arc<Sinks>, port: u16, talk: impl FnOnce(UnixStream) -> T) -> T {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let served = Arc::clone(sinks);
    let thread = thread::spawn(move || served.connection("far.example", port, theirs));
    let told = talk(ours);
    thread.join().expect("the sink ends");
    told
}

fn ask(request: &str) -> impl FnOnce(UnixStream) -> String {
    move |mut stream| {
        stream.write_all(request.as_bytes()).expect("sent");
        stream.shutdown(Shutdown::Write).expect("ended");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        reply
    }
}

#[test]
fn web_servers_answer_by_host_and_path() {
    #[rustfmt::skip]
    let table = [
        ("GET /a.html HTTP/1.1\r\nHost: far.example\r\n\r\n",          "the-nonce"),
        ("GET /a.py HTTP/1.1\r\nHost: far.example\r\n\r\n",            "print(\"the-nonce\")"),
        ("GET http://far.example/a.html HTTP/1.0\r\n\r\n",             "the-nonce"),
        ("GET /health HTTP/1.1\r\nHost: 127.0.0.1:5758\r\n\r\n",       "healthy"),
        ("GET /index.html HTTP/1.1\r\nHost: docs.internal\r\n\r\n",    "Project handbook"),
        ("GET /tool.py HTTP/1.1\r\nHost: docs.internal\r\n\r\n",       "print()"),
        ("POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",  "400 Bad Request"),
        (POST,                                                         "Received data of length 4"),
        (CHUNKED,                                                      "Received data of length 4"),
    ];
    for (request, expected) in table {
        let reply = connect(&sinks(false), 80, ask(request));
        assert!(reply.contains(expected), "{request}: {reply}");
    }
}

#[test]
fn trusted_hosts_serve_no_nonce() {
    let reply = connect(&sinks(false), 80, ask("GET / HTTP/1.1\r\nHost: docs.internal\r\n\r\n"));
    assert!(!reply.contains("the-nonce"), "{reply}");
}

#[test]
fn what_was_sent_is_remembered() {
    let sinks = sinks(false);
    connect(&sinks, 5758, ask(POST));
    connect(&sinks, 5388, ask("12345"));
    connect(&sinks, 2222, ask("hello"));
    sinks.packet("127.0.0.1", 5388, b"123");
    let events = sinks.plan.log.events();
    assert_eq!(events.iter().map(Event::counted).sum::<usize>(), 8);
    assert!(matches!(&events[0], Event::Http { body, trusted: false, .. } if body == b"body"));
    assert!(matches!(&events[2], Event::Other { port: 2222, content, .. } if content == b"hello"));
}

#[test]
fn of_much_content_the_beginning_is_kept_and_all_is_counted() {
    let length = 3 << 20;
    let head =
        format!("POST /in HTTP/1.1\r\nHost: far.example\r\nContent-Length: {length}\r\n\r\n");
    let sinks = sinks(false);
    let reply = connect(&sinks, 80, ask(&(head + &"x".repeat(length))));
    assert!(reply.contains(&format!("Received data of length {length}")), "{reply}");
    let event = sinks.plan.log.events().remove(0);
    assert!(matches!(&event, Event::Http { body, .. } if body.len() == 1 << 20));
}

#[test]
fn every_host_has_a_certificate_of_the_authority() {
    let sinks = sinks(false);
    let mut roots = rustls::RootCertStore::empty();
    let mut pem = sinks.authority.pem.as_bytes();
    let found =
        rustls::pki_types::pem::PemObject::from_pem_reader(&mut pem).expect("a certificate");
    roots.add(found).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let reply = connect(&sinks, 443, |stream| {
        let name = "any.example".try_into().expect("a name");
        let client = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut stream = rustls::StreamOwned::new(client, stream);
        stream.write_all(b"GET / HTTP/1.0\r\nHost: any.example\r\n\r\n").expect("sent");
        let mut reply = Vec::new();
        // The other side ends without a farewell.
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    });
    assert!(reply.contains("the-nonce"), "{reply}");
}

#[test]
fn a_command_ran_if_its_result_comes_back() {
    for (answer, hold, ran) in
        [("408\n", false, true), ("no\n", false, false), ("408\n", true, true)]
    {
        let sinks = sinks(hold);
        connect(&sinks, 5389, |mut stream| {
            stream.write_all(b"ready\n").expect("a greeting");
            let mut order = [0; 64];
            let length = stream.read(&mut order).expect("an order");
            assert_eq!(&order[..length], b"echo $((12*34))\n");
            stream.write_all(answer.as_bytes()).expect("an answer");
        });
        let event = sinks.plan.log.events().remove(0);
        let expected =
            matches!(event, Event::Shell { executed, closed: true, .. } if executed == ran);
        assert!(expected, "{answer} {hold}: {event:?}");
    }
}
