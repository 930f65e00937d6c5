//! The GPUs of this machine, and the backend on one of them.
#![expect(unsafe_code, reason = "the runtime fills in properties through a pointer")]

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use hip_api::{Code, DeviceProperties};
use kernels::DeviceError;

use crate::api::Api;
pub use crate::shared_library::MissingLibrary;

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    /// Its number among those that are visible.
    pub index: c_int,
    /// Its name: `AMD Instinct MI300X`.
    pub name: String,
    /// Its architecture without features: `gfx942`.
    pub arch: String,
}

/// Why no GPU can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoGpu {
    /// The runtime is not installed.
    #[error(transparent)]
    NoRuntime(#[from] MissingLibrary),
    /// The machine has no visible GPU.
    #[error("no AMD GPU: hipGetDeviceCount returned {code}; check the driver and HIP_VISIBLE_DEVICES")]
    None {
        /// What the runtime answered.
        code: i32,
    },
    /// No GPU matches the name or architecture that was asked for.
    #[error("no GPU matches '{wanted}'; this machine has {found}")]
    Other {
        /// Part of a name or architecture.
        wanted: String,
        /// The GPUs of this machine.
        found: String,
    },
    /// The runtime failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The GPUs of this machine.
pub fn visible() -> Result<Vec<Gpu>, NoGpu> {
    all(&Api::rocm()?)
}

/// The first GPU whose name or architecture contains `wanted`, ignoring case; without `wanted`, the first GPU.
pub(crate) fn pick(api: &Api, wanted: Option<&str>) -> Result<Gpu, NoGpu> {
    let all = all(api)?;
    let fits = |gpu: &&Gpu| {
        wanted.is_none_or(|wanted| {
            let wanted = wanted.to_lowercase();
            gpu.name.to_lowercase().contains(&wanted) || gpu.arch.contains(&wanted)
        })
    };
    match all.iter().find(fits) {
        Some(gpu) => {
            let index = gpu.index;
            // SAFETY: any number may be given.
            api.call("hipSetDevice", |hip| unsafe { (hip.set_device)(index) })?;
            Ok(gpu.clone())
        }
        None => Err(NoGpu::Other {
            wanted: wanted.unwrap_or_default().into(),
            found: all
                .iter()
                .map(|gpu| format!("{} ({})", gpu.name, gpu.arch))
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// All GPUs that are visible.
fn all(api: &Api) -> Result<Vec<Gpu>, NoGpu> {
    let mut count = 0;
    // SAFETY: `count` is a valid destination.
    match api.status(|hip| unsafe { (hip.get_device_count)(&raw mut count) }) {
        Code::SUCCESS if count > 0 => (0..count).map(|index| Ok(describe(api, index)?)).collect(),
        Code::SUCCESS => Err(NoGpu::None { code: Code::NO_DEVICE.0 }),
        code @ (Code::NO_DEVICE | Code::INVALID_DEVICE) => Err(NoGpu::None { code: code.0 }),
        code => Err(NoGpu::Device(api.error("hipGetDeviceCount", code))),
    }
}

fn describe(api: &Api, index: c_int) -> Result<Gpu, DeviceError> {
    // The unversioned symbol fills in the layout of HIP 5, which all later runtimes still export. Room for a longer one is
    // left, for a runtime that should not keep to that.
    let mut room = MaybeUninit::<[DeviceProperties; 4]>::zeroed();
    api.call("hipGetDeviceProperties", |hip| {
        // SAFETY: the destination has room for the properties.
        unsafe { (hip.get_device_properties)(room.as_mut_ptr().cast(), index) }
    })?;
    // SAFETY: the room was zeroed and then filled in; the properties are plain numbers, for which any bits are valid.
    let properties = unsafe { room.assume_init() }[0];
    let arch = text(&properties.gcn_arch_name);
    let arch = arch.split(':').next().unwrap_or_default().to_owned();
    Ok(Gpu { index, name: text(&properties.name), arch })
}

/// The text in a fixed field.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|&c| c.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}
