//! Using up what there is.

use super::*;

/// Forks until the kernel refuses, at most 600 times, and notes how often it could.
const PROBE: &str = "import os, time
def probe():
    number = 0
    try:
        while number < 600:
            if os.fork() == 0:
                time.sleep(20)
                os._exit(0)
            number += 1
    except BlockingIOError:
        pass
    with open('forked', 'w') as file:
        file.write(str(number))
probe()";

/// Whether the kernel's limit of processes holds, found without harm.
fn is_limited(bench: &Bench) -> bool {
    if !bench.is_bound() {
        return false;
    }
    // Whatever counts the processes may end the probe before it has noted anything.
    for _ in 0..20 {
        bench.python(PROBE);
        bench.kill();
        let Ok(forked) = fs::read_to_string(bench.path("forked")) else { continue };
        // It may have been ended while it noted it.
        let Ok(forked) = forked.parse::<u32>() else { continue };
        // Other processes of the user may have ended meanwhile, and the kernel counts these too.
        let limited = (20..=PROCESSES + 40).contains(&forked);
        assert!(limited, "{}: {forked} processes got through: no bomb is run", bench.tier);
        return true;
    }
    panic!("{}: the limit of processes is not proven: no bomb is run", bench.tier);
}

#[test]
fn a_probe_is_refused_processes() {
    at_each_tier(|bench| {
        is_limited(bench);
    });
}

#[test]
fn a_fork_bomb_of_the_shell() {
    at_each_tier(|bench| {
        if is_limited(bench) {
            let begun = Instant::now();
            bench.bash(":(){ :|:& };: & sleep 3");
            assert!(begun.elapsed() < TIMEOUT + GRACE);
            bench.kill();
            assert_eq!(bench.kill(), "no process was running");
        }
    });
}

#[test]
fn a_fork_bomb_of_python() {
    at_each_tier(|bench| {
        if is_limited(bench) {
            let code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass";
            let seen = bench.python(code);
            assert!(seen.error.is_some(), "{seen:?}");
            bench.kill();
            assert_eq!(bench.kill(), "no process was running");
        }
    });
}

#[test]
fn a_chain_that_forks_faster_than_it_is_killed() {
    at_each_tier(|bench| {
        // It ends by itself, should nothing else end it.
        let code = "import os, time
beat = os.open('beat', os.O_CREAT | os.O_APPEND | os.O_WRONLY)
if os.fork() == 0:
    os.setsid()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        os.write(beat, b'x')
        # Refused while those that have ended are not yet taken leave of.
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
    os._exit(0)
'left'";
        assert_eq!(bench.python(code).error, None);
        let beats = || bench.path("beat").metadata().unwrap().len();
        let deadline = Instant::now() + GRACE;
        while beats() < 10 {
            assert!(Instant::now() < deadline, "it does not run");
            std::thread::sleep(Duration::from_millis(2));
        }
        // Where what it leaves has come to too many processes, all were ended before.
        bench.kill();
        let last = beats();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(beats(), last, "it still runs");
        assert_eq!(bench.kill(), "no process was running");
    });
}

#[test]
fn a_memory_bomb_of_one_process() {
    at_each_tier(|bench| {
        let seen = bench.python("x = bytearray(10 ** 10)");
        assert!(seen.error.unwrap().contains("MemoryError"));
        let seen = bench.bash("head -c 3G /dev/zero | tail");
        assert!(seen.error.is_some() || seen.content.contains("memory"), "{seen:?}");
    });
}

#[test]
fn a_memory_bomb_of_many_processes() {
    at_each_tier(|bench| {
        let code = "import os, time
for _ in range(20):
    if os.fork() == 0:
        x = bytearray(os.urandom(1 << 20)) * 100
        time.sleep(60)
        os._exit(0)
time.sleep(4)";
        let seen = bench.python(code);
        let used: u64 = bench.own_processes().into_iter().map(resident).sum();
        assert!(used < 900 * MIB, "{} MiB are used", used / MIB);
        // Whoever was first has ended some: the supervisor all, or the kernel one by one.
        let said = seen.error.unwrap_or_default();
        assert!(said.is_empty() && bench.has_group || said.contains("MiB of memory"), "{said}");
        bench.kill();
    });
}

/// Memory that no file stands behind.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[test]
fn a_file_that_fills_the_disk() {
    at_each_tier(|bench| {
        let seen = bench.bash("head -c 200000000 /dev/zero > large");
        assert!(seen.error.is_some(), "{seen:?}");
        assert!(bench.path("large").metadata().unwrap().len() <= 64 * MIB);
    });
}

#[test]
fn very_many_files() {
    at_each_tier(|bench| {
        let before = block_on(bench.workspace.checkpoint()).unwrap();
        let code = "for n in range(2000): open(f'f{n}', 'w').close()";
        assert_eq!(bench.python(code).error, None);
        let said = block_on(bench.workspace.rollback(&before)).unwrap();
        assert_eq!(said, "removed 2000 files");
    });
}

#[test]
fn shared_memory_is_bounded() {
    at_each_tier(|bench| {
        let seen = bench.bash("head -c 2000000000 /dev/zero > /dev/shm/x; echo x > /dev/x");
        assert!(seen.error.is_some(), "{seen:?}");
        assert!(!Path::new("/dev/shm/x").exists() && !Path::new("/dev/x").exists());
    });
}

#[test]
fn processor_time_ends() {
    at(&[Tier::T3, Tier::T2], |bench| {
        let mut config = config(bench.folder.path(), bench.tier);
        config.session_dir = config.state.join("sessions/s2");
        config.limits.cpu = Duration::from_secs(1);
        let workspace = LocalWorkspace::open(config).unwrap();
        let tools = Tools::new(workspace);
        let call = ToolCall {
            id: CallId::from("c"),
            tool: "bash".to_owned(),
            arguments: json!({ "command": "exec python3 -c 'while True: pass'" })
                .as_object()
                .cloned()
                .unwrap(),
            native: None,
        };
        let seen = block_on(tools.call(&call)).unwrap();
        assert!(seen.error.unwrap().starts_with("ended by signal"));
        assert!(seen.duration_ms < 8000, "{}", seen.duration_ms);
    });
}

#[test]
fn open_files_end() {
    at_each_tier(|bench| {
        let seen = bench.python("all = [open('/dev/null') for _ in range(2000)]");
        assert!(seen.error.unwrap().contains("Too many open files"));
        bench.python("del all");
    });
}
