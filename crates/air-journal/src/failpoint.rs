//! Where crash tests may kill the process. Described in the crate's documentation; release builds
//! have none of it.

#[cfg(debug_assertions)]
pub(crate) use armed::Failpoints;
#[cfg(not(debug_assertions))]
pub(crate) use disarmed::Failpoints;

#[cfg(debug_assertions)]
mod armed {
    use std::{
        env,
        ffi::OsString,
        fs::OpenOptions,
        io::Write,
        sync::atomic::{AtomicU64, Ordering},
    };

    use serde_json::Value;

    // Over all journals of the process, as a test cannot tell them apart from outside.
    static REQUESTS: AtomicU64 = AtomicU64::new(0);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Moment {
        Before,
        After,
        Panic,
    }

    #[derive(Debug)]
    pub(crate) struct Failpoints {
        point: Option<(u64, Moment)>,
        trace: Option<OsString>,
    }

    impl Failpoints {
        pub(crate) fn from_env() -> Self {
            Self {
                point: env::var("AIR_FAILPOINT").ok().as_deref().and_then(parse),
                trace: env::var_os("AIR_FAILPOINT_TRACE"),
            }
        }

        /// Whether requests must be committed one by one.
        pub(crate) fn singly(&self) -> bool {
            self.point.is_some()
        }

        /// Counts and traces an append request.
        pub(crate) fn arrived<'a>(
            &self,
            stream: &str,
            bodies: impl Iterator<Item = &'a str>,
        ) -> u64 {
            let number = REQUESTS.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(path) = &self.trace {
                let kinds: Vec<String> = bodies.map(kind).collect();
                let kinds = if kinds.is_empty() { "-".to_owned() } else { kinds.join(",") };
                let line = format!("{number} {stream} {kinds}\n");
                // A test without its trace fails by itself; the journal goes on.
                let _ = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .and_then(|mut file| file.write_all(line.as_bytes()));
            }
            number
        }

        pub(crate) fn before_commit(&self, number: u64) {
            match self.point {
                Some((at, Moment::Before)) if at == number => die(),
                Some((at, Moment::Panic)) if at == number => {
                    std::panic::resume_unwind(Box::new("failpoint"));
                }
                _ => {}
            }
        }

        pub(crate) fn after_commit(&self, number: u64) {
            if self.point == Some((number, Moment::After)) {
                die();
            }
        }
    }

    // Points of other crates share the variable: what is not ours is not an error.
    fn parse(text: &str) -> Option<(u64, Moment)> {
        let (number, moment) = text.strip_prefix("journal.append:")?.split_once(':')?;
        let moment = match moment {
            "before" => Moment::Before,
            "after" => Moment::After,
            "panic" => Moment::Panic,
            _ => return None,
        };
        Some((number.parse().ok()?, moment))
    }

    // `{"about": "session", "event": E}`, where E is tagged in one of serde's ways.
    fn kind(body: &str) -> String {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let tag = match body.get("event") {
            Some(Value::String(tag)) => Some(tag.as_str()),
            Some(Value::Object(fields)) => ["kind", "type", "event", "phase"]
                .iter()
                .find_map(|tag| fields.get(*tag).and_then(Value::as_str))
                .or_else(|| fields.keys().next().map(String::as_str)),
            _ => None,
        };
        let about = body.get("about").and_then(Value::as_str).unwrap_or("unknown");
        format!("{about}.{}", tag.unwrap_or("unknown"))
    }

    fn die() {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

#[cfg(not(debug_assertions))]
mod disarmed {
    #[derive(Debug)]
    pub(crate) struct Failpoints;

    impl Failpoints {
        pub(crate) fn from_env() -> Self {
            Self
        }

        pub(crate) fn singly(&self) -> bool {
            false
        }

        pub(crate) fn arrived<'a>(&self, _: &str, _: impl Iterator<Item = &'a str>) -> u64 {
            0
        }

        pub(crate) fn before_commit(&self, _: u64) {}

        pub(crate) fn after_commit(&self, _: u64) {}
    }
}
