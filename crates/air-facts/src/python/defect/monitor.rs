//! `system-monitoring`: the machine's load, network, screen, clipboard, keyboard or files are watched.

use super::{
    Flaw,
    tree::{Id, Tree},
};

/// What watches, by the first part of a dotted name; and what of it does not.
const WATCHES: [(&str, &str); 62] = [
    ("psutil.cpu_percent", "the load of the processor"),
    ("psutil.cpu_times", "the load of the processor"),
    ("psutil.cpu_stats", "the load of the processor"),
    ("psutil.cpu_freq", "the load of the processor"),
    ("psutil.getloadavg", "the load of the machine"),
    ("os.getloadavg", "the load of the machine"),
    ("psutil.virtual_memory", "the memory of the machine"),
    ("psutil.swap_memory", "the memory of the machine"),
    ("psutil.disk_io_counters", "what the disks do"),
    ("psutil.disk_usage", "what the disks hold"),
    ("psutil.net_io_counters", "what goes over the network"),
    ("psutil.net_connections", "what goes over the network"),
    ("psutil.net_if_stats", "what goes over the network"),
    ("psutil.sensors_", "the sensors of the machine"),
    ("psutil.users", "who is logged in"),
    ("watchdog.observers.", "changes of files"),
    ("watchdog.events.", "changes of files"),
    ("inotify.", "changes of files"),
    ("inotify_simple.", "changes of files"),
    ("pyinotify.", "changes of files"),
    ("watchfiles.", "changes of files"),
    ("asyncinotify.", "changes of files"),
    ("inotify_init", "changes of files"),
    ("win32file.ReadDirectoryChangesW", "changes of files"),
    ("pynput.", "the keyboard or the mouse"),
    ("keyboard.", "the keyboard"),
    ("mouse.", "the mouse"),
    ("pyHook.", "the keyboard or the mouse"),
    ("pyxhook.", "the keyboard or the mouse"),
    ("evdev.", "the keyboard or the mouse"),
    ("pyautogui.screenshot", "the screen"),
    ("pyautogui.position", "the mouse"),
    ("pyautogui.pixel", "the screen"),
    ("PIL.ImageGrab.", "the screen"),
    ("ImageGrab.", "the screen"),
    ("pyscreenshot.", "the screen"),
    ("mss.", "the screen"),
    ("dxcam.", "the screen"),
    ("pyscreeze.", "the screen"),
    ("d3dshot.", "the screen"),
    ("pyperclip.paste", "the clipboard"),
    ("pyperclip.waitFor", "the clipboard"),
    ("clipboard.paste", "the clipboard"),
    ("xerox.paste", "the clipboard"),
    ("klembord.get", "the clipboard"),
    ("jaraco.clipboard.paste", "the clipboard"),
    ("pandas.read_clipboard", "the clipboard"),
    ("win32clipboard.GetClipboardData", "the clipboard"),
    ("PIL.ImageGrab.grabclipboard", "the clipboard"),
    ("GPUtil.", "the graphics processors"),
    ("pynvml.nvmlDeviceGet", "the graphics processors"),
    ("gpustat.", "the graphics processors"),
    ("py3nvml.", "the graphics processors"),
    ("scapy.sniff", "what goes over the network"),
    ("scapy.all.sniff", "what goes over the network"),
    ("pcapy.open_live", "what goes over the network"),
    ("pyshark.LiveCapture", "what goes over the network"),
    ("sounddevice.rec", "the microphone"),
    ("pyaudio.PyAudio().open", "the microphone"),
    ("cv2.VideoCapture", "the camera"),
    ("pygetwindow.", "the windows on the screen"),
    ("wmi.WMI", "the hardware"),
];

/// Files in which the system counts.
const COUNTERS: [&str; 14] = [
    "/proc/stat",
    "/proc/loadavg",
    "/proc/net/dev",
    "/proc/diskstats",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/net/tcp",
    "/proc/net/udp",
    "/proc/interrupts",
    "/sys/class/net/",
    "/sys/class/thermal/",
    "/sys/class/power_supply/",
    "/dev/input/",
    "/sys/class/hwmon/",
];

/// Commands that watch.
const COMMANDS: [&str; 34] = [
    "top",
    "htop",
    "vmstat",
    "mpstat",
    "iostat",
    "sar",
    "iotop",
    "iftop",
    "nethogs",
    "nload",
    "tcpdump",
    "tshark",
    "dumpcap",
    "inotifywait",
    "inotifywatch",
    "fswatch",
    "xclip",
    "xsel",
    "wl-paste",
    "pbpaste",
    "scrot",
    "gnome-screenshot",
    "import",
    "maim",
    "grim",
    "screencapture",
    "spectacle",
    "flameshot",
    "xinput",
    "logkeys",
    "nvidia-smi",
    "sensors",
    "ifstat",
    "dstat",
];

/// Functions that run a command.
const SHELLS: [&str; 11] = [
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_output",
    "subprocess.check_call",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "commands.getoutput",
    "asyncio.create_subprocess_exec",
];

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    polls(tree, flaws);
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        let library = WATCHES
            .iter()
            .find(|(name, _)| callee.strip_prefix(name).is_some_and(|rest| !rest.contains("()")));
        let what = match library {
            Some((_, what)) => Some((*what).to_owned()),
            None if callee.ends_with(".clipboard_get") || callee.ends_with(".clipboard().text") => {
                Some("the clipboard".to_owned())
            }
            None if callee.ends_with("inotify_init") || callee.ends_with("inotify_add_watch") => {
                Some("changes of files".to_owned())
            }
            None if callee == "psutil.process_iter" && measures(tree, *call) => {
                Some("what processes need".to_owned())
            }
            None if SHELLS.contains(&callee.as_str()) => command(tree, *call),
            None if matches!(callee.as_str(), "open" | "io.open" | "pathlib.Path") => {
                counters(tree, *call)
            }
            None => None,
        };
        if let Some(what) = what {
            let why = format!("`{callee}` watches {what}");
            flaws.push(Flaw::new("system-monitoring", tree.line(*call), why).shows(&what));
        }
    }
}

/// Whether processes are asked for what they need of the machine.
fn measures(tree: &Tree, call: Id) -> bool {
    tree.within(call).any(|at| {
        tree.kind(at) == "string_content"
            && matches!(
                tree.text(at),
                "cpu_percent" | "memory_percent" | "memory_info" | "io_counters"
            )
    })
}

/// `while True: sleep()`, and what files have for a time of change is compared with what they had.
fn polls(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let waits = tree.calls.get("sleep").map(Vec::as_slice).unwrap_or_default();
    for wait in waits.iter().take(16) {
        let around = tree.parents(*wait).find(|above| tree.kind(*above) == "while_statement");
        let Some(around) = around else { continue };
        let looks = tree.within(around).any(|at| match tree.kind(at) {
            "attribute" => matches!(
                tree.child(at, "attribute").map_or("", |name| tree.text(name)),
                "st_mtime" | "st_mtime_ns" | "getmtime"
            ),
            _ => false,
        });
        let compares = tree.within(around).any(|at| {
            tree.kind(at) == "comparison_operator"
                && tree.all_below(at).any(|part| {
                    tree.field(part) == "operators" && matches!(tree.text(part), "!=" | "==" | ">")
                })
        });
        if looks && compares {
            let why = "a loop watches when files change";
            let flaw = Flaw::new("system-monitoring", tree.line(around), why);
            flaws.push(flaw.shows("changes of files"));
        }
    }
}

/// What a file counts that is opened.
fn counters(tree: &Tree, call: Id) -> Option<String> {
    let path = tree.constant(tree.argument(call, 0, "file")?)?;
    let counts = COUNTERS
        .iter()
        .any(|known| path == *known || (known.ends_with('/') && path.starts_with(known)));
    counts.then(|| format!("the counters of the system in `{path}`"))
}

/// What a command watches.
fn command(tree: &Tree, call: Id) -> Option<String> {
    let first = tree.argument(call, 0, "args")?;
    let text = tree.constant(first).or_else(|| {
        let list =
            tree.reach(first).into_iter().find(|id| matches!(tree.kind(*id), "list" | "tuple"))?;
        tree.below(list).next().and_then(|first| tree.constant(first))
    })?;
    let mut parts = text.split(['|', ';', '&']).filter_map(|part| {
        part.split_whitespace().find(|word| !matches!(*word, "sudo" | "timeout" | "env"))
    });
    let name = parts.find(|word| {
        let last = word.rsplit('/').next().unwrap_or_default();
        COMMANDS.contains(&last)
    })?;
    Some(format!("the machine with the command `{name}`"))
}
