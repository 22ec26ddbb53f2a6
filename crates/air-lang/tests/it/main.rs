//! The language from outside: files in, rules, findings and layouts out.
#![expect(
    clippy::expect_used,
    clippy::format_collect,
    clippy::string_slice,
    reason = "sources are built for reading, and cut where the test knows them"
)]

mod convert;
mod errors;
mod export;
mod fix;
mod format;
mod lints;
mod load;
mod mutate;
mod parse;

/// Figures 2 to 7 of the paper, as printed.
pub(crate) const PAPER: &str = "\
rule @copy_sensitive_file
trigger python_repl
check
  a sensitive file has been copied
  into an unprotected directory.
remediate
  delete the copied sensitive file,
  then confirm that no other sensitive files
  remain exposed in the working directory.
end

rule @copy_sensitive_file_precheck
trigger python_repl
check
  plan suggests copying files from system
  directories into user-level folders.
block
end

rule @pour_liquid_hazard
trigger pour
check
  pour the liquid onto electrical appliance.
remediate
  turn off the electrical appliance,
  then clean the spilled liquid.
end

rule @phishing_email_access
trigger click
check
  the opened email originates
  from a untrusted sender.
remediate
  stop interacting with the email
  and close the tab,
  then delete the message from the inbox.
end
";

/// One rule of each kind with every clause.
pub(crate) const FULL: &str = "\
# Secrets stay where they are.
rule @copy.full-1            # an AIR rule
trigger python_repl, shell.*
severity high
tags owasp.ASI03, atlas.AML.T0085
when tool == \"shell.exec\" &&
  # the plan says it
  plan.contains(\"copy\")
evidence plan.contains(\"secret\")
check
  a sensitive file has been copied

    - into an unprotected directory # not a comment
  # a comment
  or printed.
verify plan == \"\"
respond
  kill
  contain call notify {\"text\": \"${plan} }\"}
  call fs.delete {
    \"path\": \"${f.path}\"
  } for f in effects.files
remediate
  block the sender
  end the call
end

rule @guard
trigger *
decide plan.contains(\"secret\")
check
  plan suggests it.
ask
instead
  use the copy in `public`.
from incident i-17
end
";

pub(crate) fn names(source: &str) -> Vec<String> {
    air_lang::parse(source).rules().iter().map(|rule| rule.name.to_string()).collect()
}
