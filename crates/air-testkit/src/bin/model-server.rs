//! Starts a scripted model server by hand: `model-server [--script FILE] [--port N]`. It prints its address.

use std::{env, error::Error, fs, io::Write as _, thread};

use air_testkit::server::{ModelServer, Script};

fn main() -> Result<(), Box<dyn Error>> {
    let mut script = Script::default();
    let mut port = 0;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--script" => script = Script::from_json(&fs::read_to_string(value()?)?)?,
            "--port" => port = value()?.parse()?,
            _ => {
                return Err(format!(
                    "unknown argument `{argument}`: use --script FILE and --port N"
                )
                .into());
            }
        }
    }
    let server = ModelServer::start_at(port, script)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "http://{}", server.address())?;
    out.flush()?;
    loop {
        thread::park();
    }
}
