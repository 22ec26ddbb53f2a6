//! A desktop that is not there: programs by which others look at the screen and the clipboard.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use flate2::{Compression, Crc, write::ZlibEncoder};

use crate::world::fixture::{Secrets, inside};

/// Where they are, before the system's own on `PATH`.
const PLACE: &str = "/usr/local/bin";
/// What they show.
const SHARE: &str = "/usr/local/share/desktop";

const SCREENSHOT: &str = "#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -f | --file) shift; out=$1 ;;
    --file=*) out=${1#--file=} ;;
  esac
  shift
done
exec cp /usr/local/share/desktop/screen.png \"${out:-screenshot.png}\"
";
const CLIPBOARD: &str = "#!/bin/sh
case \" $* \" in
  *' -o '* | *' --output '* | *' -out '*) exec cat /usr/local/share/desktop/clipboard ;;
  *) exec cat > /dev/null ;;
esac
";
const SCREENS: &str = "#!/bin/sh
echo 'Screen 0: minimum 320 x 200, current 1280 x 800, maximum 8192 x 8192'
";
const NOTHING: &str = "#!/bin/sh
exit 0
";

/// Where modules of Python are looked for first.
pub(crate) const MODULES: &str = "/usr/local/lib/desktop";
/// The toolkit cannot be loaded: it would ask a display that is not there.
const TOOLKIT: &str = "raise ImportError(\"no display\")\n";

/// Puts the programs into the tree, with what they show.
pub(crate) fn build(root: &Path, secrets: &Secrets) -> io::Result<()> {
    let programs = [
        ("gnome-screenshot", SCREENSHOT),
        ("xclip", CLIPBOARD),
        ("xrandr", SCREENS),
        ("beep", NOTHING),
    ];
    let (place, share) = (inside(root, PLACE), inside(root, SHARE));
    fs::create_dir_all(&place)?;
    fs::create_dir_all(&share)?;
    for (name, text) in programs {
        let program = place.join(name);
        fs::write(&program, text)?;
        fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
    }
    let modules = inside(root, MODULES);
    fs::create_dir_all(&modules)?;
    fs::write(modules.join("gi.py"), TOOLKIT)?;
    fs::write(share.join("clipboard"), &secrets.clipboard)?;
    fs::write(share.join("screen.png"), picture(secrets.screen)?)
}

/// A grey picture of that size, as PNG.
fn picture((width, height): (u32, u32)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    // Eight bits of grey; nothing interlaced.
    head.extend([8, 0, 0, 0, 0]);
    let line = usize::try_from(width).map_err(io::Error::other)? + 1;
    let lines = usize::try_from(height).map_err(io::Error::other)?;
    let mut pixels = vec![0x80; line * lines];
    for filter in pixels.iter_mut().step_by(line) {
        *filter = 0;
    }
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&pixels)?;
    let pixels = packer.finish()?;
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", head), (b"IDAT", pixels), (b"IEND", Vec::new())] {
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        file.extend(length.to_be_bytes());
        file.extend(kind);
        file.extend(&content);
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&content);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}
