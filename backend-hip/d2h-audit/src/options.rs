//! What is logged, and where to.

use std::path::PathBuf;

/// What is logged about copies to the host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditOptions {
    /// A line before and a line after every copy.
    pub audit: bool,
    /// File for the lines; standard error without one.
    pub log: Option<PathBuf>,
    /// A synchronisation before and after each copy, and a line with its extents.
    pub debug: bool,
    /// Blocks before and after each copy, and on an error.
    pub trace: bool,
}

impl AuditOptions {
    /// As the environment asks, through `lookup`.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let on = |name: &str| lookup(name).is_some_and(|value| value == "1");
        AuditOptions {
            audit: on("GCORE_D2H_AUDIT"),
            log: lookup("GCORE_D2H_AUDIT_LOG").filter(|path| !path.is_empty()).map(PathBuf::from),
            debug: on("GRETA_D2H_DEBUG"),
            trace: on("GRETA_TRACE_MEMCPY"),
        }
    }

    /// Is anything logged?
    pub const fn any(&self) -> bool {
        self.audit || self.debug || self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_switches_each_part_on_its_own() {
        let with = |pairs: &'static [(&str, &str)]| {
            AuditOptions::from_env(move |name| {
                pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[]), AuditOptions::default());
        assert!(with(&[("GCORE_D2H_AUDIT", "1")]).audit);
        assert!(!with(&[("GCORE_D2H_AUDIT", "0")]).audit);
        assert!(with(&[("GRETA_D2H_DEBUG", "1")]).debug);
        assert!(with(&[("GRETA_TRACE_MEMCPY", "1")]).trace);
        assert_eq!(with(&[("GCORE_D2H_AUDIT_LOG", "f")]).log, Some("f".into()));
    }
}
