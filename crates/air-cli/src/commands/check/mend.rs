//! `airctl check --fix`.

use air_lang::lint::Settings;

use super::{Checked, Unreadable};
use crate::{context::Context, error::CliError, rewrite};

/// Writes to standard output, as a diff, what would change. How many findings would be mended.
pub(super) fn show(
    checked: &[Checked],
    settings: &Settings,
    context: &mut Context<'_>,
) -> Result<usize, CliError> {
    let mut mended = 0;
    for file in checked {
        let fixed = air_lang::fix(file.parsed.clone(), settings);
        let before = file.parsed.text();
        if fixed.text == before {
            continue;
        }
        mended += fixed.mended;
        // With another form of output the document is all that is written.
        if context.format == crate::args::Format::Human {
            let mut options = diffy::DiffOptions::new();
            options.set_original_filename(file.name.clone());
            options.set_modified_filename(file.name.clone());
            write!(context.streams.out, "{}", options.create_patch(&before, &fixed.text))?;
        }
    }
    Ok(mended)
}

/// Mends the files in place. How many findings were mended.
pub(super) fn write(
    checked: &mut [Checked],
    settings: &Settings,
    unreadable: &mut Vec<Unreadable>,
) -> usize {
    let mut mended = 0;
    for file in checked {
        let fixed = air_lang::fix(file.parsed.clone(), settings);
        if fixed.text == file.parsed.text() {
            continue;
        }
        // A link stays a link: what it leads to is rewritten.
        let place = file.place.canonicalize();
        match place.and_then(|place| rewrite::replace(&place, &fixed.text)) {
            Ok(()) => {
                file.parsed = air_lang::parse(&fixed.text);
                mended += fixed.mended;
            }
            Err(error) => {
                let message = CliError::file("write", &file.name)(error).to_string();
                unreadable.push(Unreadable { file: file.name.clone(), message });
            }
        }
    }
    mended
}
