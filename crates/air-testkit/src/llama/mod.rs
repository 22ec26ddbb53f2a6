//! A real model server on loopback: llama.cpp with [random weights](weights). What it says is rubbish, in
//! the forms in which a real server says it.
//!
//! It runs in the Python interpreter that `AIR_SDK_PYTHON` names, where that has the package `xllamacpp`.

mod gguf;
pub mod weights;

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const SERVE: &str = include_str!("serve.py");
/// How the interpreter ends where it lacks the package.
const LACKS: i32 = 3;
/// Until it answers.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server, which ends when it is dropped, or with the process that started it.
#[derive(Debug)]
pub struct Llama {
    child: Child,
    address: SocketAddr,
}

impl Llama {
    /// Starts one on a free port, and waits until it answers. Its weights and its log are in `folder`.
    /// `None` where there is no interpreter with the package.
    ///
    /// # Errors
    ///
    /// It is there, and does not start.
    pub fn start(folder: &Path) -> io::Result<Option<Self>> {
        let Some(python) = std::env::var_os("AIR_SDK_PYTHON").filter(|name| !name.is_empty())
        else {
            return Ok(None);
        };
        let (model, log) = (folder.join("random.gguf"), folder.join("llama.log"));
        fs::write(&model, weights::file())?;
        let output = fs::File::create(&log)?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let child = Command::new(python)
            .args(["-c", SERVE])
            .arg(&model)
            .arg(address.port().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(output))
            .spawn()?;
        let mut server = Self { child, address };
        let deadline = Instant::now() + PATIENCE;
        while !server.is_healthy() {
            let said = || fs::read_to_string(&log).unwrap_or_default();
            match server.child.try_wait()? {
                Some(status) if status.code() == Some(LACKS) => return Ok(None),
                Some(status) => return Err(io::Error::other(format!("{status}: {}", said()))),
                None if Instant::now() > deadline => {
                    return Err(io::Error::other(format!("it does not answer: {}", said())));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(Some(server))
    }

    /// Where it is, without a version at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None)) && self.is_healthy()
    }

    fn is_healthy(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
            let mut line = [0; 12];
            stream.read_exact(&mut line)?;
            io::Result::Ok(line.ends_with(b" 200"))
        };
        ask().unwrap_or_default()
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
