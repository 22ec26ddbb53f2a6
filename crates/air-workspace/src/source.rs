//! The content of a file as a tool would read it now: for reading the code that a call runs.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use air_checkpoint::{Root, beneath};
use rustix::fs::fgetxattr;

use crate::{
    layers::{Layers, WORKSPACE},
    origin::open,
    view::View,
};

/// The largest source, in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads the file that the agent calls `path`, which is absolute and without `.` and `..`. Links are
/// not followed below the roots.
///
/// # Errors
///
/// Why its content cannot be told.
pub(crate) fn read(layers: &Layers, path: &Path, view: &View) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let place = view.place(layers.roots(), path);
    let place = place.and_then(|(at, below)| Some((at, layers.roots().get(at)?, below)));
    let file = match (place, view.beside(path)) {
        (Some((at, root, below)), _) => {
            let lower = layers.workspace().filter(|_| at == WORKSPACE && layers.is_layered());
            layered(root, lower, &below)
        }
        (None, Some(host)) => open(&host),
        (None, None) => return Err(format!("{shown} is out of the sandbox's reach")),
    };
    let mut content = Vec::new();
    let read = file.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut content));
    match read {
        Err(error) => Err(format!("{shown}: {error}")),
        Ok(_) if content.len() as u64 > LARGEST => Err(format!("{shown} is too long to be read")),
        Ok(_) => Ok(content),
    }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Opens what an overlay shows at `path`: in the upper layer, or in the lower one where nothing hides it.
pub(crate) fn layered(upper: &Root, lower: Option<&Root>, path: &[u8]) -> io::Result<File> {
    let (parent, name) = beneath::split(path);
    let mut directory = beneath::root(&upper.host)?;
    let mut hidden = false;
    let mut steps = parent.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    let found = loop {
        let Some(step) = steps.next() else { break beneath::file(&directory, name) };
        match beneath::directory(&directory, step) {
            Ok(next) => {
                hidden |= is_opaque(&next);
                directory = next;
            }
            Err(error) => break Err(error),
        }
    };
    match (found, lower) {
        // A whiteout hides what is below it, and cannot be opened.
        (Ok(file), _) => regular(File::from(file)),
        (Err(error), Some(lower)) if error.kind() == io::ErrorKind::NotFound && !hidden => {
            let directory = beneath::directory(&beneath::root(&lower.host)?, parent)?;
            regular(File::from(beneath::file(&directory, name)?))
        }
        (Err(error), _) => Err(error),
    }
}

fn is_opaque(directory: &OwnedFd) -> bool {
    let mut value = [0; 1];
    fgetxattr(directory, "user.overlay.opaque", &mut value).is_ok_and(|_| value == *b"y")
}
