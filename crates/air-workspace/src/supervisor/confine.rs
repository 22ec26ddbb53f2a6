//! What a process gives up before it runs a tool.

use std::{collections::BTreeMap, error::Error};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::protocol::Confinement;

/// Which calls a filter refuses beyond those that no tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// There is a network namespace of its own.
    Allowed,
    /// Landlock knows only TCP: nothing that could leave is created at all.
    Refused,
}

const NEVER_NEEDED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Operations on a ring are seen by no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that set a mode, and which argument that is.
const SETS_MODE: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that make a device, and which argument says what is made.
const NODES: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that may create a file, and which argument their flags are; the mode is the next.
const OPENS: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// Installs the filter for this thread and what it starts.
pub(super) fn filter(sockets: Sockets) -> Result<(), Box<dyn Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        NEVER_NEEDED.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = u64::try_from(libc::CLONE_NEWUSER)?;
    let masked = SeccompCmpOp::MaskedEq(namespaces);
    let clone = SeccompCondition::new(0, SeccompCmpArgLen::Qword, masked, namespaces)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![clone])?]);
    // TIOCSTI writes into the terminal of whoever started the session.
    let steal = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::TIOCSTI)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![steal])?]);
    // What is made here belongs on disk to whoever owns the workspace, and that may be root.
    for (call, at) in SETS_MODE {
        rules.insert(*call, privileged_modes(*at, None)?);
    }
    for (call, at) in NODES {
        // Anybody may make the device 0:0, which an overlay takes for «nothing is here any more».
        let device = SeccompCmpOp::MaskedEq(libc::S_IFMT.into());
        let made = SeccompCmpArgLen::Dword;
        let device = SeccompCondition::new(*at, made, device, libc::S_IFCHR.into())?;
        rules.entry(*call).or_default().push(SeccompRule::new(vec![device])?);
    }
    let whiteout = u64::from(libc::RENAME_WHITEOUT);
    let leaves = SeccompCmpOp::MaskedEq(whiteout);
    let leaves = SeccompCondition::new(4, SeccompCmpArgLen::Dword, leaves, whiteout)?;
    rules.insert(libc::SYS_renameat2, vec![SeccompRule::new(vec![leaves])?]);
    for (call, flags) in OPENS {
        rules.insert(*call, privileged_modes(*flags + 1, Some(*flags))?);
    }
    if sockets == Sockets::Refused {
        rules.insert(libc::SYS_socket, Vec::new());
        // Kernels whose Landlock does not scope signals would let it reach all that the user runs.
        let all = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 0xffff_ffff)?;
        rules.insert(libc::SYS_kill, vec![SeccompRule::new(vec![all])?]);
    }
    if sockets == Sockets::Allowed {
        refuse_strange_sockets()?;
    }
    install(rules, libc::EPERM)?;
    // Their flags are in memory, where no filter sees them, or they are too new to be known here;
    // without them the C library uses others.
    let unseen = [libc::SYS_clone3, libc::SYS_openat2, libc::SYS_fchmodat2];
    install(unseen.map(|call| (call, Vec::new())).into(), libc::ENOSYS)
}

/// That a mode sets the user or the group of whoever runs the file; with `flags`, where the call
/// creates it.
fn privileged_modes(at: u8, flags: Option<u8>) -> Result<Vec<SeccompRule>, Box<dyn Error>> {
    let has = |at, bit| {
        SeccompCondition::new(at, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit)
    };
    let mut rules = Vec::new();
    for bit in [libc::S_ISUID, libc::S_ISGID] {
        let mut conditions = vec![has(at, bit.into())?];
        if let Some(flags) = flags {
            conditions.push(has(flags, u64::try_from(libc::O_CREAT)?)?);
        }
        rules.push(SeccompRule::new(conditions)?);
    }
    Ok(rules)
}

/// Gives up what root may do beyond others, for good. Others have nothing to give up.
pub(super) fn drop_capabilities(kept: CapabilitySet) -> Result<(), Box<dyn Error>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for capability in CapabilitySet::all().difference(kept).iter() {
        // Fails for those that this kernel does not know.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let had = capabilities(None)?;
    let sets = CapabilitySets {
        effective: had.effective & kept,
        permitted: had.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// Leaves sockets that are of the network namespace and whose connections are seen: those of a
/// virtual machine (`AF_VSOCK`) lead to its host, and SCTP connects by an option.
fn refuse_strange_sockets() -> Result<(), Box<dyn Error>> {
    let is = |argument, how, value: i32| {
        let value = u64::from(value.unsigned_abs());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)
    };
    let other = |argument, known: &[i32]| {
        known
            .iter()
            .map(|value| is(argument, SeccompCmpOp::Ne, *value))
            .collect::<Result<Vec<_>, _>>()
    };
    let families = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6];
    let mut rules = vec![SeccompRule::new(other(0, &families)?)?];
    let protocols =
        [0, libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut conditions = other(2, &protocols)?;
        conditions.push(is(0, SeccompCmpOp::Eq, family)?);
        rules.push(SeccompRule::new(conditions)?);
    }
    install(BTreeMap::from([(libc::SYS_socket, rules)]), libc::EPROTONOSUPPORT)
}

fn install(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<(), Box<dyn Error>> {
    let refuse = SeccompAction::Errno(u32::try_from(errno)?);
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

/// Confines this thread and what it starts to `allowed`.
pub(super) fn landlock(allowed: &Confinement) -> Result<(), Box<dyn Error>> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rules(path_beneath_rules(&allowed.readable, AccessFs::from_read(ABI::V5)))?
        .add_rules(path_beneath_rules(&allowed.writable, AccessFs::from_all(ABI::V5)))?
        .restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("this kernel has no Landlock".into());
    }
    Ok(())
}
