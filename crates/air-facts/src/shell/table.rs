//! What each command does: one row a command.

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    archive, database,
    eval::Shell,
    file, filter,
    flow::Tool,
    git, network,
    options::Options,
    package, service, system,
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
    Account, Duplicate, Link, List, Measure, Move, Other, Owner, Permission, Remove, Show, System,
    Tell, Touch,
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
        Other(file::grep),
    ),
    ("rg ag ack", "e f g t A B C m", Other(file::grep)),
    ("awk gawk mawk nawk", "F v f", Show(1)),
    ("sed", "e f l --expression --file", Other(file::sed)),
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
    ("rmdir", "", Other(file::remove_directory)),
    ("unlink", "", Remove),
    ("shred", "n s", Remove),
    ("srm wipe", "", Remove),
    ("truncate", "s r --size", Other(file::truncate)),
    ("fallocate", "l o", Touch),
    ("touch", "d r t --date --reference", Touch),
    ("mknod", "m", Touch),
    ("mkfifo", "m", Other(file::fifo)),
    ("mktemp", "p", Tell),
    ("mkdir", "m --mode", Other(file::make_directory)),
    ("cp install", "t m o g S --mode --owner --group --target-directory", Duplicate),
    ("rsync scp", "e i P o F p --exclude --include --rsh --port", Other(network::remote_copy)),
    ("mv", "t S --target-directory", Move),
    ("ln link symlink", "t S", Link),
    ("chmod", "--reference", Permission),
    ("chattr", "", Permission),
    ("setfacl", "m x M X", Other(file::acl)),
    ("chown chgrp", "--reference", Owner),
    ("tee", "", Other(file::tee)),
    ("dd", "", Other(file::dd)),
    ("split csplit", "b l n a", Other(archive::split)),
    ("tar bsdtar", "f C X T --file --directory --exclude", Other(archive::tar)),
    ("zip", "x i P", Other(archive::pack)),
    ("7z 7za 7zr rar", "", Other(archive::pack7)),
    ("unzip unrar", "d x P", Other(archive::unpack)),
    (
        "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress",
        "S T o",
        Other(archive::compress),
    ),
    ("cpio", "F I O D", Other(stdin)),
    ("openssl", "in out k K iv pass base64", Other(service::openssl)),
    (
        "gpg gpg2 age",
        "r u o i --output --recipient --passphrase --passphrase-file",
        Other(archive::encrypt),
    ),
    ("curl", network::CURL, Other(network::curl)),
    ("lynx w3m links links2 elinks", "T cols width", Other(network::browse)),
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
    ("mail mailx mutt sendmail ssmtp swaks", "s a r c b F f A", Other(service::mail)),
    ("aws gsutil gcloud az rclone s3cmd", "", Other(service::cloud)),
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
    ("git", "C c --git-dir --work-tree", Other(git::git)),
    (
        "psql mysql mariadb sqlite3 sqlite mongosh mongo redis-cli valkey-cli cockroach clickhouse-client duckdb",
        database::VALUED,
        Other(database::client),
    ),
    ("make gmake bmake", "C f j I o W --directory --file --makefile", Other(package::make)),
    ("npm yarn pnpm bun", "C --prefix --registry", Other(package::node)),
    ("npx bunx pnpx", "p --package --registry", Other(package::npx)),
    ("pip pip3 uv pipx poetry conda", package::PIP, Other(package::pip)),
    (
        "apt apt-get aptitude dpkg yum dnf apk pacman brew snap rpm zypper",
        "",
        Other(package::system),
    ),
    ("gem cargo go", "s --source --git --registry --index --features", Other(package::registry)),
    ("docker podman nerdctl", "", Other(package::container)),
    ("xclip xsel pbcopy wl-copy", "", Other(stdin)),
    ("logger wall write", "", Tell),
    ("busctl gsettings defaults", "", Tell),
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
                if let Some(file) = tool
                    .options
                    .value(&["o"])
                    .filter(|_| matches!(tool.name, "sort" | "iconv" | "shuf"))
                {
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
            Touch => {
                for path in operands {
                    shell.on(Activity::FileWrite, path, tool, out);
                }
                Data::none()
            }
            Duplicate => duplicate(shell, tool, out),
            Move | Link => {
                shell.transfer(tool, matches!(self, Move), matches!(self, Link), out);
                Data::none()
            }
            Permission | Owner => {
                let activity = if matches!(self, Owner) {
                    Activity::FileOwner
                } else {
                    Activity::FilePermission
                };
                file::change_mode(shell, activity, tool, out);
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

/// `cp`, `install` and their like.
fn duplicate(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let links = tool.options.has(&["l", "s", "--link", "--symbolic-link"]);
    shell.transfer(tool, false, links, out);
    let mode = tool.options.value(&["m", "--mode"]).filter(|_| tool.name == "install");
    if let (Some(mode), Some(path)) = (mode, tool.options.operands.last()) {
        let (target, activity) = (path.as_written(), Activity::FilePermission);
        shell.operation(activity, target, tool.name, Some(mode.as_written()), tool.at, out);
    }
    Data::none()
}

/// What `tool` prints of its input.
pub(super) fn known(tool: &Tool, input: Data) -> Data {
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
