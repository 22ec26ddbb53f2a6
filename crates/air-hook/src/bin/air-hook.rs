//! `air-hook`: the hook that hosts of agents spawn. All of it is in the library of that name.

use std::process::ExitCode;

fn main() -> ExitCode {
    air_hook::main()
}
