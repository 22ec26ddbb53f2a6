//! Where a world lies: a directory, on a file system of its own in memory where one can be mounted.
//!
//! A case may fill what it is given. There it fills that file system and no more, and building and
//! removing a tree touches no disk. Who may not mount has the host's own file system in its place.

use std::{
    ffi::CString,
    fs, io,
    path::{Path, PathBuf},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// What one world may take, in MiB.
pub(crate) const WORLD: u32 = 256;
/// What AIR may keep of it, in MiB.
pub(crate) const STATE: u32 = 1024;
/// How many files there may be.
const FILES: &str = "20k";

/// One such place. Dropping it removes what was mounted, with all that is in it.
#[derive(Debug)]
pub(crate) struct Room {
    place: PathBuf,
    mounted: bool,
}

impl Room {
    /// Makes the directory `place`, for `mib` MiB at most. One that is to be `kept` is on disk.
    pub(crate) fn new(place: PathBuf, mib: u32, kept: bool) -> io::Result<Self> {
        fs::create_dir(&place)?;
        let mounted = !kept && mounts(&place, mib).is_ok();
        Ok(Self { place, mounted })
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.mounted {
            // What a process left behind still uses goes with that process.
            let _ = unmount(&self.place, UnmountFlags::DETACH);
        }
    }
}

/// Whether worlds have such a file system here.
pub(crate) fn probe() -> Result<String, String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    mounts(place.path(), WORLD).map_err(|error| error.to_string())?;
    unmount(place.path(), UnmountFlags::DETACH).map_err(|error| error.to_string())?;
    Ok(limits(WORLD))
}

fn limits(mib: u32) -> String {
    format!("size={mib}m,nr_inodes={FILES},mode=0755")
}

fn mounts(place: &Path, mib: u32) -> io::Result<()> {
    let limits = CString::new(limits(mib))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", place, "tmpfs", flags, limits.as_c_str())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_cannot_take_more_than_its_room() {
        if probe().is_err() {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().join("world");
        let room = Room::new(place.clone(), WORLD, false).unwrap();
        assert!(fs::write(room.place().join("large"), vec![0; 300 << 20]).is_err());
        fs::remove_file(room.place().join("large")).unwrap();
        let made = (0..30_000).take_while(|n| fs::write(place.join(n.to_string()), "").is_ok());
        assert!(made.count() < 20_500);
        drop(room);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn what_is_kept_is_on_disk() {
        let scratch = tempfile::tempdir().unwrap();
        let room = Room::new(scratch.path().join("world"), WORLD, true).unwrap();
        let file = room.place().join("file");
        fs::write(&file, "kept").unwrap();
        drop(room);
        assert_eq!(fs::read_to_string(file).unwrap(), "kept");
    }
}
