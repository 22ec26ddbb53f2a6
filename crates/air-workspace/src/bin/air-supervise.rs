//! The supervisor as a program of its own.

fn main() -> std::process::ExitCode {
    air_workspace::supervisor::main(std::env::args_os().skip(1))
}
