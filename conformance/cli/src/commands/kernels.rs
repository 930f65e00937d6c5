//! The two flags that put kernels of other people in the place of ours.

use std::path::PathBuf;

use assay_cli::backends;
use assay_cli::foreign::ForeignFiles;
use backend_hip::foreign::Others;
use kernel_manifest::files;
use kernels::Stem;

use super::{Trouble, say};

const HEADING: &str = "Kernels of your own";

/// Kernels of other people.
#[derive(clap::Args, Clone, Default)]
pub struct KernelArgs {
    /// Code objects, bundles, programs or libraries with kernels; a folder of them; or a source for hipcc or clang. Ops that the manifest
    /// leaves out run on Assay's own kernels. Several files: the flag several times.
    #[arg(long, help_heading = HEADING, value_name = "FILE", requires = "manifest")]
    kernels: Vec<PathBuf>,
    /// How they are launched, and what they declare (assay manifest new writes a first one).
    #[arg(long, help_heading = HEADING, value_name = "FILE", requires = "kernels")]
    manifest: Option<PathBuf>,
}

/// Kernels whose sources are compiled. The objects go away with this.
pub struct Resolved {
    files: Option<ForeignFiles>,
    _objects: Option<tempfile::TempDir>,
}

impl Resolved {
    /// The files.
    pub fn files(&self) -> Option<ForeignFiles> {
        self.files.clone()
    }
}

impl KernelArgs {
    /// The files as they were given.
    pub fn files(&self) -> Option<ForeignFiles> {
        let manifest = self.manifest.clone()?;
        Some(ForeignFiles::new(self.kernels.clone(), manifest))
    }

    /// For a model: forms that the manifest does not take run on our own kernels.
    pub fn in_a_model(&self) -> Option<ForeignFiles> {
        self.files().map(|files| files.with_others(Others::OnOurs))
    }

    /// The files with sources compiled, once for all processes that follow.
    pub fn resolve(&self) -> Result<Resolved, Trouble> {
        let Some(mut foreign) = self.files() else { return Ok(Resolved { files: None, _objects: None }) };
        if !foreign.kernels.iter().any(|path| files::is_source(path)) {
            return Ok(Resolved { files: Some(foreign), _objects: None });
        }
        let folder = tempfile::tempdir().map_err(Trouble::input)?;
        for (at, path) in foreign.kernels.iter_mut().enumerate().filter(|(_, path)| files::is_source(path)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let object = folder.path().join(format!("{at}-{name}.hsaco"));
            files::compile_to(path, "gfx942", &object).map_err(Trouble::input)?;
            *path = object;
        }
        Ok(Resolved { files: Some(foreign), _objects: Some(folder) })
    }

    /// Foreign kernels on a backend without device code would never run.
    pub fn need_device_code<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<(), Trouble> {
        let unfit = names.into_iter().find(|name| !backends::runs_device_code(name.as_ref()));
        match (&self.manifest, unfit) {
            (Some(_), Some(name)) => Err(Trouble::Input(format!(
                "--kernels: the backend '{}' runs no device code; want soft, soft-deferred, soft-random or hip",
                name.as_ref()
            ))),
            _ => Ok(()),
        }
    }
}

/// Says on whose kernels the ops of a manifest ran. That none did is an error.
pub fn say_what_ran(files: Option<&ForeignFiles>) -> Result<(), Trouble> {
    let Some(files) = files else { return Ok(()) };
    let ran = files.ran();
    for (stem, ran) in &ran {
        let ours = match ran.ours {
            0 => String::new(),
            ours => format!(", {ours} on Assay's own, of forms that the manifest does not take"),
        };
        say(&format!(
            "{stem}: {} launches on the kernels of {}{ours}",
            ran.foreign,
            files.manifest.display()
        ));
    }
    if ran.values().any(|ran| ran.foreign > 0) {
        return Ok(());
    }
    let stems: Vec<&str> = ran.keys().copied().map(Stem::name).collect();
    Err(Trouble::Input(format!("{}: no kernel of it ran ({})", files.manifest.display(), stems.join(", "))))
}
