//! A scripted server that shares no code with AIR, in Python.

use std::{
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use air_wire::Dialect;

/// A running server, which ends when it is dropped.
#[derive(Debug)]
pub struct OtherServer {
    process: Child,
    /// Where it listens: `http://` and the address, without a path.
    pub url: String,
}

impl OtherServer {
    /// Starts the one that the variable `AIR_FAKE_LLM` names, or that lies beside the checkout, with a
    /// script in its own form. `None` where there is none.
    ///
    /// # Errors
    ///
    /// It is there, and does not start.
    pub fn start(script: Option<&Path>) -> io::Result<Option<Self>> {
        let beside =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/fake_llm.py");
        let named = std::env::var_os("AIR_FAKE_LLM").map(PathBuf::from);
        let Some(program) = named.or(Some(beside)).filter(|path| path.exists()) else {
            return Ok(None);
        };
        let mut command = Command::new("python3");
        command.arg(program).args(["--port", "0"]).stdout(Stdio::piped());
        if let Some(script) = script {
            command.arg("--script").arg(script);
        }
        let mut server = Self { process: command.spawn()?, url: String::new() };
        let output = server.process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port)?;
        let port: u16 = port.trim().parse().map_err(io::Error::other)?;
        server.url = format!("http://127.0.0.1:{port}");
        Ok(Some(server))
    }

    /// Its base URL as clients of a dialect want it.
    pub fn base_url(&self, dialect: Dialect) -> String {
        super::base_url(&self.url, dialect)
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
