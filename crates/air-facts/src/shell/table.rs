//! What each command does: one row a command.

use air_core::{
    code::Activity,
    place::{Held, Place, PlaceKind},
};

use super::{
    eval::Shell,
    filter,
    flow::Tool,
    network,
    options::Options,
    package, system,
    word::{Data, Word},
};
use crate::collect::Collector;

/// What a command does with its operands.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// Prints what is in its operands, or in its input; so many operands are no files.
    Show(usize),
    /// Reads its operands and prints something that does not carry what is in them.
    Measure,
    /// Lists directories.
    List,
    Remove,
    Touch,
    Directory,
    Duplicate,
    Move,
    Link,
    Permission,
    Owner,
    /// Changes what runs: the word for what is changed.
    System(&'static str),
    /// Changes the account that its last operand names.
    Account,
    /// Prints something of its own.
    Tell,
    /// Anything else.
    Other(fn(&mut Shell, &Tool, &mut Collector) -> Data),
}

/// Names, options with values, what it does.
type Row = (&'static str, &'static str, Does);

use Does::{
    Account, Directory, Duplicate, Link, List, Measure, Move, Other, Owner, Permission, Remove,
    Show, System, Tell, Touch,
};

const ROWS: &[Row] = &[
    ("cat tac nl rev less more most bat view zcat bzcat xzcat zless", "", Show(0)),
    ("head tail", "n c --lines --bytes", Other(head)),
    ("sort uniq shuf fold fmt pr expand unexpand column", "k t S T o w f s --key", Show(0)),
    ("cut paste join", "d f b c --delimiter --fields", Show(0)),
    ("od xxd hexdump hd strings base32 base64 uuencode", "A t N j w n l c s", Show(0)),
    (
        "grep egrep fgrep zgrep",
        "e f m A B C --include --exclude --exclude-dir --color",
        Other(grep),
    ),
    ("rg ag ack", "e f g t A B C m", Other(grep)),
    ("awk gawk mawk nawk", "F v f", Show(1)),
    ("sed", "e f l --expression --file", Other(sed)),
    ("perl", "", Tell),
    ("jq yq xmlstarlet", "f", Show(1)),
    ("tr", "", Other(stdin)),
    ("iconv", "f t o", Show(0)),
    ("diff cmp comm sdiff vimdiff", "U", Show(0)),
    ("wc sha1sum sha224sum sha256sum sha384sum sha512sum md5sum b2sum cksum sum file", "", Measure),
    ("stat test realpath readlink basename dirname", "c f", Tell),
    ("ls dir vdir tree exa eza", "I w L P --color", List),
    ("du", "d --max-depth", List),
    ("rm", "", Remove),
    ("rmdir unlink", "p", Remove),
    ("shred", "n s u", Remove),
    ("srm wipe", "", Remove),
    ("truncate", "s r --size", Other(truncate)),
    ("fallocate", "l o", Touch),
    ("touch", "d r t --date --reference", Touch),
    ("mknod", "m", Touch),
    ("mkfifo", "m", Other(fifo)),
    ("mktemp", "p", Tell),
    ("mkdir", "m --mode", Directory),
    ("cp install", "t m o g S --mode --owner --group --target-directory", Duplicate),
    ("rsync scp", "e i P o F p --exclude --include --rsh --port", Other(network::remote_copy)),
    ("mv", "t S --target-directory", Move),
    ("ln link symlink", "t S", Link),
    ("chmod", "--reference", Permission),
    ("chattr", "", Permission),
    ("setfacl", "m x M X", Other(acl)),
    ("chown chgrp", "--reference", Owner),
    ("tee", "", Other(tee)),
    ("dd", "", Other(dd)),
    ("split csplit", "b l n a", Other(split)),
    ("tar bsdtar", "f C X T --file --directory --exclude", Other(tar)),
    ("zip", "x i P", Other(pack)),
    ("7z 7za 7zr rar", "", Other(pack7)),
    ("unzip unrar", "d x P", Other(unpack)),
    (
        "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress",
        "S T o",
        Other(compress),
    ),
    ("cpio", "F I O D", Other(stdin)),
    ("openssl", "in out k K iv pass base64", Other(network::openssl)),
    ("gpg gpg2 age", "r u o i --output --recipient --passphrase --passphrase-file", Other(encrypt)),
    ("curl", network::CURL, Other(network::curl)),
    ("wget aria2c", network::WGET, Other(network::wget)),
    ("http https xh", "", Other(network::httpie)),
    (
        "nc ncat netcat nc.traditional nc.openbsd",
        "e c p w s i q X x -exec --exec --sh-exec --proxy --source-port",
        Other(network::netcat),
    ),
    ("socat", "", Other(network::socat)),
    ("telnet ftp tftp lftp", "e u p c", Other(network::dialogue)),
    ("ssh mosh autossh", "b c D E e F I i J L l m O o p Q R S W w", Other(network::ssh)),
    ("sftp", "b c F i J o P", Other(network::dialogue)),
    ("dig nslookup host drill", "t p c k", Other(network::resolve)),
    ("ping ping6 traceroute tracepath mtr nmap", "c i W s p t w", Other(network::probe)),
    ("mail mailx mutt sendmail ssmtp swaks", "s a r c b F f A", Other(network::mail)),
    ("aws gsutil gcloud az rclone s3cmd", "", Other(network::cloud)),
    ("kill", "s n", Other(system::kill)),
    ("killall pkill skill xkill killall5", "s u g t P G U --signal --user", Other(system::kill)),
    ("fuser", "", Other(system::fuser)),
    (
        "systemctl service rc-service initctl update-rc.d chkconfig sv",
        "t H M --type",
        Other(system::service),
    ),
    (
        "useradd adduser",
        "c d g G s u p k e f -home -shell -ingroup -uid -gid --home --shell --ingroup --gid --uid --groups",
        Account,
    ),
    ("userdel deluser", "", Account),
    ("usermod", "c d e f g G l p s u --shell --home --groups --gid", Account),
    ("passwd chage chfn chsh", "n x w i S s E I M m W f", Account),
    ("chpasswd newusers", "c", Other(system::passwords)),
    ("groupadd addgroup groupdel delgroup groupmod", "g n K", Account),
    ("gpasswd", "a d A M", Account),
    ("vipw vigr", "", Account),
    ("visudo", "f", Other(system::sudoers)),
    ("sysctl", "p", Other(system::sysctl)),
    (
        "iptables ip6tables iptables-restore nft ufw firewall-cmd ebtables",
        "",
        Other(system::firewall),
    ),
    ("mount", "t o L U", Other(system::mount)),
    (
        "umount swapoff swapon losetup cryptsetup mkfs mkswap fdisk parted wipefs mkfs.ext4 mkfs.xfs mkfs.vfat sfdisk",
        "t o",
        Other(system::disk),
    ),
    ("modprobe insmod rmmod kmod depmod", "", System("module")),
    ("hostnamectl hostname", "", Other(system::hostname)),
    ("timedatectl hwclock ntpdate", "", Other(system::clock)),
    ("date", "d f r s --set --date --reference", Other(system::date)),
    ("ip ifconfig route nmcli brctl tc", "", Other(system::route)),
    ("resolvectl systemd-resolve", "", System("dns")),
    ("setenforce setsebool apparmor_parser aa-disable aa-teardown", "", System("kernel")),
    ("reboot shutdown halt poweroff telinit init", "", System("power")),
    ("crontab", "u", Other(system::crontab)),
    ("printenv", "", Other(system::printenv)),
    ("setcap", "", Permission),
    ("history fc", "", Other(system::history)),
    (
        "who w last lastb users finger uname id whoami groups hostid tty uptime free df ps top htop pgrep pidof lsof ss netstat lsmod lscpu lsblk lspci dmesg nproc arch seq expr bc dc sleep true factor getent locale cal clear reset tput stty date-time which whereis type man info help make-help command-not-found",
        "",
        Tell,
    ),
    ("yes", "", Other(yes)),
    ("git", "C c --git-dir --work-tree", Other(package::git)),
    ("make gmake bmake", "C f j I o W --directory --file --makefile", Other(package::make)),
    ("npm yarn pnpm", "C --prefix", Other(package::node)),
    ("npx bunx pnpx", "p", Other(package::npx)),
    ("pip pip3 uv pipx poetry conda", "", Other(package::pip)),
    (
        "apt apt-get aptitude dpkg yum dnf apk pacman brew snap rpm zypper",
        "",
        Other(package::system),
    ),
    ("gem cargo go", "", Other(package::registry)),
    ("docker podman nerdctl", "", Other(package::container)),
    ("xclip xsel pbcopy wl-copy", "", Other(stdin)),
    ("logger wall write", "", Tell),
    ("busctl gsettings defaults", "", Tell),
    ("gcc g++ cc clang ld as cmake ninja", "o I L l D", Tell),
];

/// Reads the command `name`, if it is known.
pub(super) fn apply(
    shell: &mut Shell,
    name: &str,
    args: &[Word],
    at: u32,
    out: &mut Collector,
) -> Option<Data> {
    let (_, valued, does) =
        ROWS.iter().find(|(names, ..)| names.split(' ').any(|known| known == name))?;
    let options = Options::read(args, valued);
    let tool = Tool { name, args, options: &options, at };
    Some(does.run(shell, &tool, out))
}

impl Does {
    fn run(self, shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
        let operands = &tool.options.operands;
        match self {
            Show(skip) => {
                let input = shell.inputs(tool, skip, out);
                if let Some(file) = tool.options.value(&["o"]).filter(|_| tool.name == "sort") {
                    shell.put_file(file, input, tool, out);
                    return Data::none();
                }
                known(tool, input)
            }
            Measure => {
                shell.inputs(tool, 0, out);
                Data::default()
            }
            List => {
                let here = [Word::literal(".")];
                let listed = if operands.is_empty() { &here[..] } else { operands };
                for path in listed {
                    let target = shell.state.path(path.as_written());
                    let recursive = tool.name == "tree" || tool.options.has(&["R", "--recursive"]);
                    shell.operation_below(
                        Activity::DirectoryList,
                        &target,
                        tool.name,
                        None,
                        recursive,
                        tool.at,
                        out,
                    );
                    out.path(path.as_written());
                }
                Data::default()
            }
            Remove => {
                for path in operands {
                    shell.delete(path, tool.recursive(), tool, out);
                }
                Data::none()
            }
            Touch | Directory => {
                for path in operands {
                    shell.on(Activity::FileWrite, path, tool, out);
                }
                Data::none()
            }
            Duplicate => {
                shell.transfer(
                    tool,
                    false,
                    tool.options.has(&["l", "s", "--link", "--symbolic-link"]),
                    out,
                );
                Data::none()
            }
            Move => {
                shell.transfer(tool, true, false, out);
                Data::none()
            }
            Link => {
                shell.transfer(tool, false, true, out);
                Data::none()
            }
            Permission | Owner => {
                let activity = if matches!(self, Owner) {
                    Activity::FileOwner
                } else {
                    Activity::FilePermission
                };
                change_mode(shell, activity, tool, out);
                Data::none()
            }
            System(what) => {
                shell.operation(
                    Activity::SystemChange,
                    what,
                    tool.name,
                    Some(&tool.line()),
                    tool.at,
                    out,
                );
                Data::none()
            }
            Account => {
                let target = operands.last().map_or("", Word::as_written);
                shell.operation(
                    Activity::AccountChange,
                    target,
                    tool.name,
                    Some(&tool.line()),
                    tool.at,
                    out,
                );
                Data::none()
            }
            Tell => Data::from([Place::new(PlaceKind::Command, tool.name)]),
            Other(apply) => apply(shell, tool, out),
        }
    }
}

/// What `tool` prints of its input.
fn known(tool: &Tool, input: Data) -> Data {
    let text = input.text.as_deref().and_then(|text| filter::filtered(tool, text));
    Data { text, ..input }
}

fn stdin(shell: &mut Shell, tool: &Tool, _: &mut Collector) -> Data {
    known(tool, shell.state.input())
}

fn yes(_: &mut Shell, _: &Tool, _: &mut Collector) -> Data {
    Data { endless: true, ..Data::default() }
}

fn head(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let input = shell.inputs(tool, 0, out);
    if input.endless && tool.name == "tail" {
        out.defect("memory-bomb", tool.at, "the end of something without end is waited for");
    }
    Data { endless: false, ..known(tool, input) }
}

fn grep(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let patterns = usize::from(!tool.options.has(&["e", "f", "--regexp", "--file", "--files"]));
    let below =
        tool.options.has(&["r", "R", "--recursive"]) || matches!(tool.name, "rg" | "ag" | "ack");
    let quiet = tool.options.has(&["q", "--quiet", "--silent", "c", "--count"]);
    if below && tool.options.operands.len() <= patterns {
        let data = shell.read_file(&Word::literal("."), tool.name, tool.at, out);
        return data.obscured();
    }
    let data = shell.inputs(tool, patterns, out).obscured();
    if quiet { Data::none() } else { data }
}

fn sed(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let in_place = tool.args.iter().any(|arg| {
        let written = arg.as_written();
        written.starts_with("-i")
            || written.starts_with("--in-place")
            || matches!(written, "-Ei" | "-ri" | "-ni")
    });
    let scripted = tool.options.has(&["e", "f", "--expression", "--file"]);
    let script = tool
        .options
        .value(&["e", "--expression"])
        .or_else(|| tool.operand(0).filter(|_| !scripted));
    if let Some(script) = script.and_then(Word::text).map(ToOwned::to_owned) {
        runs_in_sed(shell, &script, tool, out);
    }
    let skip = usize::from(!scripted);
    if in_place {
        for path in tool.options.operands.iter().skip(skip) {
            let place = shell.on(Activity::FileWrite, path, tool, out);
            // What it held before is still in it.
            let held = out.held(&place).unwrap_or_default();
            let sources = held.sources;
            out.leave(place, Held { text: None, names: Vec::new(), sources });
        }
        return Data::none();
    }
    let input = shell.inputs(tool, skip, out);
    known(tool, input)
}

/// `1e id` and `s/x/id/e` run commands; `w file` writes.
fn runs_in_sed(shell: &mut Shell, script: &str, tool: &Tool, out: &mut Collector) {
    let plain = script.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$' || c == ' ');
    if let Some(command) = plain.strip_prefix("e ") {
        shell.run_text(super::interpreter::Language::Shell, &command.to_owned(), tool.at, out);
        return;
    }
    let mut parts = plain.strip_prefix('s').and_then(|rest| {
        let separator = rest.chars().next()?;
        Some(rest.get(separator.len_utf8()..)?.split(separator))
    });
    if let Some(parts) = &mut parts {
        let (_, with, flags) =
            (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if flags.starts_with(|c: char| c.is_ascii_lowercase())
            && flags.chars().take_while(char::is_ascii_alphanumeric).any(|c| c == 'e')
        {
            shell.run_text(super::interpreter::Language::Shell, &with.to_owned(), tool.at, out);
        }
    }
}

fn truncate(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        shell.put_file(path, Data::default(), tool, out);
    }
    Data::none()
}

fn fifo(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        let place = shell.on(Activity::FileWrite, path, tool, out);
        shell.fifos.push(place.name);
    }
    Data::none()
}

fn change_mode(shell: &mut Shell, activity: Activity, tool: &Tool, out: &mut Collector) {
    // A mode may look like an option: `-w`, `-x`.
    let is_mode = |arg: &&Word| {
        let rest = arg.as_written().strip_prefix('-').unwrap_or_default();
        tool.name == "chmod" && !rest.is_empty() && rest.chars().all(|c| "rwxXst".contains(c))
            || tool.name == "chattr"
                && !rest.is_empty()
                && rest.chars().all(|c| "aAcCdDijsStTu".contains(c))
    };
    let mode = tool.args.iter().find(is_mode).cloned();
    let skip = usize::from(mode.is_none());
    let mode = mode.or_else(|| tool.operand(0).cloned()).unwrap_or_default();
    for path in tool.options.operands.iter().skip(skip) {
        let target = shell.state.path(path.as_written());
        let recursive = tool.options.has(&["R", "--recursive"]);
        shell.operation_below(
            activity,
            &target,
            tool.name,
            Some(mode.as_written()),
            recursive,
            tool.at,
            out,
        );
        out.path(path.as_written());
    }
}

fn acl(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mode = tool.options.value(&["m", "x"]).map(|mode| mode.as_written().to_owned());
    for path in &tool.options.operands {
        let target = shell.state.path(path.as_written());
        shell.operation_below(
            Activity::FilePermission,
            &target,
            tool.name,
            mode.as_deref(),
            tool.options.has(&["R"]),
            tool.at,
            out,
        );
    }
    Data::none()
}

fn tee(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let input = shell.state.input();
    for path in &tool.options.operands {
        if path.text().is_some_and(|path| shell.pipes.contains_key(path) || path == "/dev/null") {
            continue;
        }
        if path.as_written().starts_with("/dev/tcp/") {
            let channel = super::redirect::socket(path.as_written());
            if let Some(address) = channel {
                shell.operation(Activity::NetworkConnect, &address, "tee", None, tool.at, out);
                out.flow(&input.sources, &Place::new(PlaceKind::Network, address), tool.at);
            }
            continue;
        }
        if tool.options.has(&["a", "--append"]) {
            let place = shell.on(Activity::FileWrite, path, tool, out);
            out.flow(&input.sources, &place, tool.at);
            shell.fill(place, input.clone(), out);
        } else {
            shell.put_file(path, input.clone(), tool, out);
        }
    }
    known(tool, input)
}

fn dd(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let value = |name: &str| {
        tool.args.iter().find_map(|arg| Some(arg.part(arg.as_written().strip_prefix(name)?)))
    };
    let mut data = match value("if=") {
        Some(path) => shell.read_file(&path, tool.name, tool.at, out),
        None => shell.state.input(),
    };
    data.endless &= value("count=").is_none();
    match value("of=") {
        Some(path) => {
            shell.put_file(&path, data, tool, out);
            Data::none()
        }
        None => data,
    }
}

fn split(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(input) = tool.operand(0) else { return Data::none() };
    let data = shell.read_file(input, tool.name, tool.at, out).obscured();
    let prefix = tool.operand(1).map_or("x", Word::as_written);
    shell.put_file(&Word::literal(format!("{prefix}*")), data, tool, out);
    Data::none()
}

fn tar(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    // Letters without a dash come first: `tar czf out.tgz dir`.
    let bundled = tool
        .args
        .first()
        .map(Word::as_written)
        .filter(|first| !first.starts_with('-'))
        .unwrap_or_default();
    let letter = |letter: &str| bundled.contains(letter) || tool.options.has(&[letter]);
    let mut operands: Vec<Word> = tool.options.operands.clone();
    let mut archive = tool.options.value(&["f", "--file"]).cloned();
    if !bundled.is_empty() && !operands.is_empty() {
        operands.remove(0);
        if bundled.contains('f') && !operands.is_empty() {
            archive = Some(operands.remove(0));
        }
    }
    let to = tool.options.value(&["C", "--directory"]).map_or(".", Word::as_written).to_owned();
    let archive = archive.filter(|archive| archive.text() != Some("-"));
    if letter("c") || letter("r") || letter("u") || tool.options.has(&["--create", "--append"]) {
        let mut data = Data::default();
        for path in &operands {
            let path = match tool.options.value(&["C", "--directory"]) {
                Some(from) => path.part(format!(
                    "{}/{}",
                    from.as_written().trim_end_matches('/'),
                    path.as_written()
                )),
                None => path.clone(),
            };
            data.append(shell.read_file(&path, tool.name, tool.at, out));
        }
        let data = data.obscured();
        return match archive {
            Some(archive) => {
                shell.put_file(&archive, data, tool, out);
                Data::none()
            }
            None => data,
        };
    }
    let data = match &archive {
        Some(archive) => shell.read_file(archive, tool.name, tool.at, out),
        None => shell.state.input(),
    };
    if letter("x") || tool.options.has(&["--extract", "--get"]) {
        if letter("O") || tool.options.has(&["--to-stdout"]) {
            return data.obscured();
        }
        if operands.is_empty() {
            shell.put_file(&Word::literal(to), data.obscured(), tool, out);
        } else {
            for path in &operands {
                shell.put_file(path, data.clone().obscured(), tool, out);
            }
        }
        return Data::none();
    }
    Data::default()
}

fn pack(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some((archive, files)) = tool.options.operands.split_first() else { return Data::none() };
    let mut data = Data::default();
    for file in files {
        data.append(shell.read_file(file, tool.name, tool.at, out));
    }
    if archive.text() == Some("-") {
        return data.obscured();
    }
    shell.put_file(archive, data.obscured(), tool, out);
    Data::none()
}

fn pack7(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let operands = tool.options.operands.get(1..).unwrap_or_default().to_vec();
    let options = Options::of(operands);
    let inner = Tool { options: &options, ..*tool };
    match tool.operand(0).and_then(Word::text) {
        Some("a" | "u") => pack(shell, &inner, out),
        Some("x" | "e") => unpack(shell, &inner, out),
        _ => Data::default(),
    }
}

fn unpack(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(archive) = tool.operand(0) else { return Data::none() };
    let data = shell.read_file(archive, tool.name, tool.at, out).obscured();
    if tool.options.has(&["p", "c", "l"]) {
        return data;
    }
    let to = tool.options.value(&["d"]).cloned().unwrap_or_else(|| Word::literal("."));
    shell.put_file(&to, data, tool, out);
    Data::none()
}

fn compress(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.operands.is_empty() {
        return shell.state.input().obscured();
    }
    let unpacks = tool.name.starts_with("un")
        || tool.name.contains("gun")
        || tool.name.contains("bun")
        || tool.options.has(&["d"]);
    let end = match tool.name {
        "gzip" | "gunzip" => ".gz",
        "bzip2" | "bunzip2" => ".bz2",
        "xz" | "unxz" => ".xz",
        "zstd" | "unzstd" => ".zst",
        "lz4" => ".lz4",
        _ => ".Z",
    };
    let mut printed = Data::none();
    for file in &tool.options.operands {
        let data = shell.read_file(file, tool.name, tool.at, out).obscured();
        if tool.options.has(&["c", "--stdout", "--to-stdout"]) {
            printed.append(data);
            continue;
        }
        let written = file.as_written();
        let to = if unpacks {
            written.strip_suffix(end).unwrap_or(written).to_owned()
        } else {
            format!("{written}{end}")
        };
        shell.put_file(&file.part(to), data, tool, out);
        if !tool.options.has(&["k", "--keep"]) && !tool.name.contains("zst") {
            shell.delete(file, false, tool, out);
        }
    }
    printed
}

fn encrypt(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let data = shell.inputs(tool, 0, out).obscured();
    if let Some(to) = tool.options.value(&["o", "--output"]) {
        shell.put_file(to, data, tool, out);
        return Data::none();
    }
    match tool.operand(0).filter(|_| tool.options.has(&["c", "e", "--encrypt", "--symmetric"])) {
        Some(file) => {
            shell.put_file(&file.part(format!("{}.gpg", file.as_written())), data, tool, out);
            Data::none()
        }
        None => data,
    }
}
