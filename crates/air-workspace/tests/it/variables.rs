//! Variables of the settings: tools have them, and no program of AIR's own.

use super::*;

/// The loader's own record of each program that it starts with these variables, below `folder`.
fn traced(config: &mut SandboxConfig, folder: &Path) {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    config.environment = vec![
        variable("GREETING", "hello world"),
        variable("LD_DEBUG", "files"),
        variable("LD_DEBUG_OUTPUT", folder.join("loader").to_str().unwrap()),
    ];
}

fn records(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let records =
        entries.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b"loader."));
    records
        .map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
        .collect()
}

#[test]
fn no_program_of_airs_on_the_host_has_them() {
    for tier in [Tier::T2, Tier::T1] {
        let told = |config: &mut SandboxConfig| {
            config.unsandboxed = tier == Tier::T1;
            let folder = config.workspace.parent().unwrap().to_path_buf();
            traced(config, &folder);
        };
        let Some(bench) = Bench::try_with(tier, told) else { continue };
        let ran = bench.bash("env");
        assert!(ran.content.contains("GREETING=hello world\n"), "{}", ran.content);
        assert!(!ran.content.contains("air.tool"), "{}", ran.content);
        // A tool of T2 cannot write there.
        let records = records(bench.folder.path());
        assert!(tier == Tier::T1 || records.is_empty(), "{tier}: {records:?}");
        assert!(!records.iter().any(|record| record.contains("air-supervise")), "{tier}");
    }
}

#[test]
fn nor_has_the_supervisor_inside() {
    let told = |config: &mut SandboxConfig| {
        traced(config, Path::new("/workspace"));
        let argv = vec!["/usr/bin/sleep".to_owned(), "infinity".to_owned()];
        config.services = vec![Service { name: "clockd".to_owned(), argv }];
    };
    let Some(bench) = Bench::try_with(Tier::T3, told) else { return };
    let ran = bench.bash("tr '\\0' '\\n' < /proc/$(pgrep -x clockd)/environ | grep GREETING");
    assert_eq!(ran.content, "GREETING=hello world\n");
    let records = records(&bench.path(""));
    assert!(records.iter().any(|record| record.contains("bash")), "{records:?}");
    assert!(!records.iter().any(|record| record.contains("supervise")), "{records:?}");
}
