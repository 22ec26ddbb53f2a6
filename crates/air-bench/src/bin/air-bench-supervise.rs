//! The supervisor as a program of its own, for the tests of this crate.

fn main() -> std::process::ExitCode {
    air_workspace::supervisor::main(std::env::args_os().skip(1))
}
