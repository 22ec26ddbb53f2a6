//! What a process gives up before it runs a tool.

use std::{collections::BTreeMap, error::Error};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
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
    if sockets == Sockets::Refused {
        rules.insert(libc::SYS_socket, Vec::new());
        // Kernels whose Landlock does not scope signals would let it reach all that the user runs.
        let all = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 0xffff_ffff)?;
        rules.insert(libc::SYS_kill, vec![SeccompRule::new(vec![all])?]);
    }
    install(rules, libc::EPERM)?;
    // Its flags are in memory, where no filter sees them; without it the C library uses `clone`.
    install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
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
